"""The benchmark: `make bench`. How it is made and what its figures mean is in docs/performance.md."""
