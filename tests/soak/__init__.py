"""The soak: a crowd of clients, an upstream full of faults, reloads and a killed worker, for as long as wanted."""
