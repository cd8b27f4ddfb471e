"""What a client sends as its key: `hl-ID-SECRET`. The ID finds the entry, the secret is held against its hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

import attrs

PREFIX: Final = b"hl-"
ID_BYTES: Final = 5
"""Random bytes of an id, which is no secret: it is ten hexadecimal digits."""
SECRET_BYTES: Final = 32
"""Random bytes of a secret: 256 bits, 43 characters."""
LONGEST: Final = 128
"""Bytes of the longest token that is looked at; ours have 57."""
NOBODY: Final = "0" * 64
"""The hash that the token of an unknown id is held against, so that it takes the same time. No secret is known to
have it."""


@attrs.frozen
class Token:
    """A token in its two parts; one that has not the form of a key has the id ""."""

    id: str = ""
    secret: bytes = attrs.field(default=b"", repr=False)

    @classmethod
    def of(cls, data: bytes) -> Token:
        """Read what a client sent; never fails."""
        if len(data) > LONGEST or not data.startswith(PREFIX):
            return cls()
        name, dash, secret = data[len(PREFIX) :].partition(b"-")
        return cls(name.decode("latin-1"), secret) if name and dash and secret else cls()

    def matches(self, sha256: str) -> bool:
        """Whether it is the secret of that hash; takes the same time whatever the two have in common."""
        return hmac.compare_digest(hash_of(self.secret), sha256)

    @property
    def text(self) -> str:
        """What the client sends."""
        return (PREFIX + self.id.encode("latin-1") + b"-" + self.secret).decode("latin-1")


def new_token() -> Token:
    """A key that nobody has."""
    return Token(secrets.token_hex(ID_BYTES), secrets.token_urlsafe(SECRET_BYTES).encode())


def hash_of(secret: bytes) -> str:
    """The SHA-256 of a secret, in hexadecimal.

    A slow hash is for passwords, which can be guessed. Of 2^256 random secrets none can, however fast the hash; a slow
    one would let whoever sends wrong keys keep the processor busy.
    """
    return hashlib.sha256(secret).hexdigest()
