"""Signatures of thinking blocks: what has to come back with the block, sealed so that it comes back as it left.

A client keeps a signature unread and sends it back with its block. Ours carries what an engine wants back with the turn
and, where the client asked for thinking without its text, that text. The seal is for integrity, not for secrecy: it is
the client's own conversation, but what comes back is put into the upstream's body, and only what came from there may
be. So it is compressed and authenticated, not encrypted: `hl1.` and, in base64url, 16 bytes of HMAC-SHA256 over the tag
and the rest, then the rest, which is JSON in zlib. The same content gives the same signature: prefix caches live on it.
"""

from __future__ import annotations

import hmac
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from hashlib import blake2b, sha256
from typing import Any, Final

import attrs
import orjson

from core import State
from plugins.anthropic.jsontext import dumps

TAG: Final = "hl1."
MAC_BYTES: Final = 16
MOST_BYTES: Final = 64 * 2**20
"""No signature of ours unpacks to more; one that says so is not read."""


@attrs.frozen
class Sealed:
    """What a signature carried: the thinking's text ("": none) and the engine's state (None: none)."""

    text: str = ""
    state: State | None = None


@attrs.frozen(eq=False)
class Seal:
    """Seals and opens signatures with one key; all workers need the same, and so does the process after a restart."""

    key: bytes = attrs.field(repr=False)

    def close(self, thinking: str, state: State | None = None, *, keep_text: bool = False) -> str:
        """The signature of a block with that thinking, never empty; `keep_text` puts the text in, too."""
        packed = zlib.compress(_payload(thinking, state, keep_text=keep_text))
        return TAG + _text(self._mac(packed) + packed)

    def open(self, signature: str) -> Sealed | None:
        """What it carries; None when it is not ours or not intact."""
        if not signature.startswith(TAG):
            return None
        text = signature[len(TAG) :]
        try:
            data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except (Base64Error, ValueError):
            return None
        mac, packed = data[:MAC_BYTES], data[MAC_BYTES:]
        if _text(data) != text or not hmac.compare_digest(mac, self._mac(packed)):
            return None
        return _unpacked(packed)

    def _mac(self, packed: bytes) -> bytes:
        return hmac.digest(self.key, TAG.encode() + packed, sha256)[:MAC_BYTES]


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _payload(thinking: str, state: State | None, *, keep_text: bool) -> bytes:
    # The digest is there so that each thought has a signature of its own, as clients know it; nothing is checked by it.
    value: dict[str, Any] = {"text": thinking} if keep_text else {"of": _digest(thinking)}
    if state is None:
        return dumps(value)
    whole = {**value, "message": dict(state.message), "calls": {key: dict(call) for key, call in state.calls.items()}}
    try:
        return dumps(whole)
    except (TypeError, RecursionError):
        # Nested deeper than JSON can be written: the answer matters more than what its engine wants back.
        return dumps(value)


def _digest(thinking: str) -> str:
    return blake2b(thinking.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _unpacked(packed: bytes) -> Sealed | None:
    try:
        unpacker = zlib.decompressobj()
        value = orjson.loads(unpacker.decompress(packed, MOST_BYTES))
    except (zlib.error, orjson.JSONDecodeError):
        return None
    if not isinstance(value, dict):
        return None
    state = State(value["message"], value["calls"]) if "message" in value and "calls" in value else None
    return Sealed(value.get("text", ""), state)
