from __future__ import annotations

from typing import Any

import httpx
import pytest

from core import Secret
from core.testing import UpstreamAnswer, error_bodies
from tests.mutants import mutants_in, refusals
from tests.mutants.scenes import Scene
from tests.mutants.witness import Witness, assert_mutant, witness

SLOW = error_bodies("slow down", 429)[0][0]
KEY = {"key": Secret("secretword0001")}
ECHO = error_bodies("the key secretword0001 is spent", 400)[0][0]
BROKEN = UpstreamAnswer(text="One two three four.").sse()[:-400]


def refused(status: int, body: bytes = SLOW, **fields: Any) -> Scene:
    return Scene(body, status=status, headers={"retry-after": "7"}, **fields)


WITNESSES: dict[str, Witness] = {
    "RefusalIs500": witness("status", refused(429)),
    "RetryAfterLost": witness("headers", refused(429)),
    "RefusalWithoutWords": witness("error", refused(400)),
    "SpentQuotaIsRetried": witness("headers", refused(402)),
    "KeyRefusedIs401": witness("status", refused(401)),
    "AddressInError": witness("error", refused(503)),
    "KeyInError": witness("error", refused(500, backend=KEY)),
    "RefusalIsAnAnswer": witness("status", refused(429)),
    "UpstreamWordsUnchecked": witness("error", refused(400, ECHO, backend=KEY)),
    "NetworkErrorEscapes": witness("fault", Scene(BROKEN, fails=httpx.ReadError("reset"))),
    "UnreachableIsTheClientsFault": witness("status", Scene(unreachable=True)),
}


@pytest.mark.parametrize("name", mutants_in(refusals))
def test_the_mutant_differs(name: str) -> None:
    assert_mutant(mutants_in(refusals)[name], WITNESSES[name])


def test_no_witness_is_left_over() -> None:
    assert WITNESSES.keys() == mutants_in(refusals).keys()
