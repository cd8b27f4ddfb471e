from __future__ import annotations

import httpx
import pytest

from core.testing import Framing, UpstreamAnswer
from tests.mutants import mutants_in, wire
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

WIDE = UpstreamAnswer(text="😀 עצור")
CRLF = UpstreamAnswer(framing=Framing(eol="\r\n"))
UNSPACED = UpstreamAnswer(framing=Framing(space=False))
COMMENTED = UpstreamAnswer(framing=Framing(comment="PROCESSING"))
WITHOUT_DONE = UpstreamAnswer(framing=Framing(done=False))
WITHOUT_REASON = UpstreamAnswer(finish_reason=None)
ERROR = UpstreamAnswer(error={"message": "out of memory", "code": 500})
UNENDED = UpstreamAnswer(usage_at="finish", framing=Framing(done=False)).sse().rstrip()
CUT = UpstreamAnswer(text="One two three four.").sse()[:-400]

WITNESSES: dict[str, Witness] = {
    "UTF8CutBreaks": witness("message", Scene(WIDE, cut=1)),
    "CRLFBreaks": witness("error", Scene(CRLF)),
    "ReadsTakenForEvents": witness("message", Scene(cut=150)),
    "LastEventLost": witness("error", Scene(UNENDED)),
    "OneChunkOfARead": witness("message", Scene(cut=600)),
    "DoneRequired": witness("error", Scene(WITHOUT_DONE)),
    "DoneMisread": witness("error", Scene()),
    "DoneNotHeard": witness("ended", Scene(end="open", limit=2.0)),
    "DoneAloneIsNoEnd": witness("error", Scene(WITHOUT_REASON)),
    "CommentsBreak": witness("error", Scene(COMMENTED)),
    "SpaceRequired": witness("message", Scene(UNSPACED)),
    "ErrorChunkIsAnEnd": witness("error", Scene(ERROR)),
    "ErrorBodyIsAnAnswer": witness("error", Scene(ERROR, stream=False)),
    "LostConnectionIsAnEnd": witness("error", Scene(CUT, fails=httpx.ReadError("reset"))),
}


@pytest.mark.parametrize("name", mutants_in(wire))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(wire)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(wire).keys()
