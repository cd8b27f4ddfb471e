"""The signature of a thinking block."""

from __future__ import annotations

from base64 import b64encode
from hashlib import blake2b


def sign(thinking: str) -> str:
    """An opaque, never empty string that is always the same for the same thinking.

    Clients keep it and send it back with the block; it proves nothing and carries nothing yet.
    """
    digest = blake2b(thinking.encode("utf-8", "surrogatepass"), digest_size=48).digest()
    return f"hl1.{b64encode(digest).decode()}"
