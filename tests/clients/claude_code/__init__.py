"""Claude Code itself, offline, against the gateway: every run has its own HOME, directory and model."""
