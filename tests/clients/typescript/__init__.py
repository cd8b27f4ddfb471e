"""The official TypeScript SDK on node: `client.mjs` plays every scene once, the tests read its report."""
