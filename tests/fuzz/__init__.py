"""Fuzzing: what clients, networks and upstreams may send, and what must hold whatever it is."""
