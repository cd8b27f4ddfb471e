"""The `hookline` command."""

from core.cli.command import main

__all__ = ["main"]
