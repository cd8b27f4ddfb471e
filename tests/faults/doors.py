"""Faults of an upstream that does not read its request."""

from __future__ import annotations

from typing import Final

from tests.faults.fault import Fault

AT_THE_DOOR: Final = (
    Fault("has no address", (), 529, "cannot be reached", backend="nowhere", statuses=(504,)),
    Fault("speaks no TLS", (), 502, backend="plain", statuses=(529,)),
    Fault("hangs in the handshake of TLS", (), 504, backend="mute"),
    Fault("refuses the connection", (), 529, "cannot be reached", backend="refuses"),
    Fault("accepts no connection", (), 504, "did not accept a connection in time", backend="full"),
    Fault("accepts and hangs", (), 504, "did not begin", backend="hangs"),
    Fault("accepts and closes", (), 502, backend="closes"),
    Fault("accepts and resets", (), 502, backend="resets", statuses=(529,)),
    Fault("answers before it reads", (), 529, "busy", backend="greets", statuses=(502,)),
    Fault("hangs on a large request", (), 504, backend="hangs", size=8_000_000),
    Fault("closes on a large request", (), 502, backend="closes", size=8_000_000),
    Fault("resets on a large request", (), 502, backend="resets", statuses=(529,), size=8_000_000),
    Fault("answers before it reads a large request", (), 529, backend="greets", size=8_000_000, statuses=(502,)),
)
