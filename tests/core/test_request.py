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
