"""The official Python SDK: the current one in this process, one of the 0.x line in a process of its own."""
