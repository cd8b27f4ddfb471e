from __future__ import annotations

import pytest

from core.request import HTTPRequest, Request, ToolChoice
from core.route import Candidate, Route


@pytest.mark.parametrize(("name", "value"), [("X-Api-Key", "k"), ("x-api-key", "k"), ("absent", "")])
def test_header_names_have_no_case(name: str, value: str) -> None:
    http = HTTPRequest("GET", "/", headers=[(b"x-api-key", b"k"), (b"x-api-key", b"second")])
    assert http.header(name) == value


def test_a_routes_own_names_are_those_of_its_first_candidate() -> None:
    route = Route((Candidate("a", "m"), Candidate("b", "n")))
    assert (route.backend, route.model) == ("a", "m")


def test_what_was_not_given_is_none() -> None:
    request = Request("message")
    assert (request.max_tokens, request.temperature, request.tool_choice, request.thinking) == (None, None, None, None)
    assert ToolChoice().parallel


def test_an_owner_is_a_mark_of_the_credential_and_else_of_the_address() -> None:
    key, token, other = (b"x-api-key", b"k"), (b"authorization", b"k"), (b"x-api-key", b"other")
    asked = [
        HTTPRequest("POST", "/", headers=[each], client=f"1.2.3.4:{port}") for port, each in enumerate((key, token))
    ]
    assert asked[0].owner == asked[1].owner != HTTPRequest("POST", "/", headers=[other]).owner
    near = [HTTPRequest("POST", "/", client=client).owner for client in ("1.2.3.4:5", "1.2.3.4:6", "1.2.3.5:5", "")]
    assert near[0] == near[1]
    assert len({*near, asked[0].owner}) == 4
    assert near[3] == ""
    assert all(len(owner) == 16 for owner in near[:3])
    assert Request("message", owner=near[0]) == Request("message")
    assert near[0] not in repr(Request("message", owner=near[0]))
