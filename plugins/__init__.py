"""The built-in plugins: one file or package each, found by entry point like anyone's."""
