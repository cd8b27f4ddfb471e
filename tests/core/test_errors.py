from __future__ import annotations

import pytest

from core.errors import STATUS, ConfigError, GatewayError, Kind, RequestError, UpstreamError


@pytest.mark.parametrize(("kind", "status"), STATUS.items())
def test_a_kind_has_its_status(kind: Kind, status: int) -> None:
    assert GatewayError("x", kind=kind).status == status


@pytest.mark.parametrize(
    ("made", "kind", "status"),
    [(RequestError, "invalid_request", 400), (UpstreamError, "api", 500), (GatewayError, "api", 500)],
)
def test_defaults(made: type[GatewayError], kind: str, status: int) -> None:
    error = made("words")
    assert (error.kind, error.status, str(error)) == (kind, status, "words")


def test_a_status_of_its_own_wins() -> None:
    error = UpstreamError("x", status=502, retry_after=1.5, should_retry=False)
    assert (error.status, error.retry_after, error.should_retry) == (502, 1.5, False)


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ({}, "no"),
        ({"file": "p.toml"}, "p.toml: no"),
        ({"file": "p.toml", "table": "models", "key": "a b", "hint": "yes?"}, "p.toml: [models] key 'a b': no; yes?"),
        ({"table": "x\ny"}, "[x y]: no"),
    ],
)
def test_a_config_error_is_one_line_that_names_the_place(named: dict[str, str], text: str) -> None:
    assert str(ConfigError("no", **named)) == text
