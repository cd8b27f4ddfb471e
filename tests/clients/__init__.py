"""Real clients in front of a real gateway: the official SDKs, and Claude Code itself."""
