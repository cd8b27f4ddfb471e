"""Scripts for the tests in which time or the client is at fault, by the model that asks for them."""

from __future__ import annotations

from typing import Final

from tests.faults.fault import CHUNKED, DONE, FINISH, FIRST, SSE, chunk, completion, framed, reply
from tests.faults.script import Script, close, for_ever, hang, much, pause, wait

LARGE: Final = "word " * 1_200_000
_PIECE: Final = chunk(content="word " * 200)
_GOOD: Final = framed(FIRST + FINISH + DONE) + b"0\r\n\r\n"

SCENES: Final[dict[str, Script]] = {
    "patient.late head": (wait, CHUNKED + _GOOD),
    "patient.late refusal": (wait, *reply(503, {"error": "loading"})),
    "patient.late token": (CHUNKED, wait, _GOOD),
    "patient.late end": (CHUNKED, framed(FIRST), wait, framed(FINISH + DONE) + b"0\r\n\r\n"),
    "quick.steady": (SSE, *(FIRST, pause(0.6)) * 4, FINISH, DONE, close),
    "capped.endless": (SSE, for_ever(FIRST, 0.1)),
    "up.unbegun": (hang,),
    "up.begun": (SSE, FIRST, hang),
    "up.flood": (SSE, for_ever(_PIECE * 50)),
    "up.stalled flood": (SSE, for_ever(_PIECE * 50)),
    "up.large": reply(200, completion(LARGE)),
    "up.long": (SSE, much(_PIECE * 20, 300), FINISH, DONE, close),
    "up.good": (CHUNKED + _GOOD,),
    "closer.closes idle": (CHUNKED + _GOOD, pause(0.002), close),
    "up.babbles": (SSE, for_ever(chunk(content="word " * 12_000))),
    "twin.answers twice": (CHUNKED + _GOOD + reply(200, completion("POISON"))[0], hang),  # type: ignore[operator]
    "lone.answers unasked": (CHUNKED + _GOOD, pause(0.002), reply(200, completion("POISON"))[0], hang),
    "up.held": (wait, CHUNKED + _GOOD),
}
