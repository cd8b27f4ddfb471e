"""`hookline serve`: a master that owns the sockets, and workers that serve HTTP with Hypercorn's protocols."""
