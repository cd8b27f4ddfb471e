"""Several backends behind one name: their order, their health, their places, and how often a request is tried again.

Everything here is of one worker process, and nothing waits for the network.
"""
