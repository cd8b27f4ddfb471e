"""The `hookline` command."""

from core.lean import import_structlog


def main() -> None:
    """Run the command."""
    import_structlog()
    # A worker imports the command's module, too, as multiprocessing has it, and never runs it.
    from core.cli.command import main as run  # noqa: PLC0415

    run()
