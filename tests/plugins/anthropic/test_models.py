from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core import HTTPRequest, Model, Request, RequestError, Text
from plugins.anthropic.models import ModelsAnswer, model_value

MODELS = [Model("a/b", "A B", 1_700_000_000), Model("c"), Model("d")]


def test_limits_that_are_known_are_told() -> None:
    value = model_value(Model("m", context=8192, max_output_tokens=2048))
    assert (value["max_input_tokens"], value["max_tokens"]) == (8192, 2048)


def answer(query: str = "", model: str = "", models: list[Model] = MODELS) -> Any:
    writer = ModelsAnswer(HTTPRequest("GET", "/models", query=query.encode()), Request("models", model=model))
    assert writer.feed([*models, Text("ignored")]) == b""
    return orjson.loads(writer.finish())


def ids(page: Any) -> list[str]:
    return [model["id"] for model in page["data"]]


def test_the_list() -> None:
    page = answer()
    assert ids(page) == ["a/b", "c", "d"]
    assert (page["has_more"], page["first_id"], page["last_id"]) == (False, "a/b", "d")


def test_one_model() -> None:
    assert answer(model="a/b") == {
        "type": "model",
        "id": "a/b",
        "display_name": "A B",
        "created_at": "2023-11-14T22:13:20Z",
        "lifecycle": "active",
        "line": None,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": None,
        "max_tokens": None,
        "capabilities": None,
    }


def test_what_is_not_known_of_a_model() -> None:
    value = model_value(Model("c"))
    assert (value["display_name"], value["created_at"]) == ("c", "1970-01-01T00:00:00Z")


@pytest.mark.parametrize(("created", "year"), [(10**15, "9999"), (-5, "1970")])
def test_a_time_beyond_the_calendar(created: int, year: str) -> None:
    assert model_value(Model("c", created=created))["created_at"].startswith(year)


def test_an_unknown_model() -> None:
    with pytest.raises(RequestError) as caught:
        answer(model="x")
    assert (caught.value.status, caught.value.message) == (404, "model: x")


def test_no_models() -> None:
    assert answer(models=[]) == {"data": [], "has_more": False, "first_id": None, "last_id": None}


def test_a_name_is_listed_once() -> None:
    page = answer(models=[Model("a", "first"), Model("a", "second")])
    assert [model["display_name"] for model in page["data"]] == ["first"]


@pytest.mark.parametrize(
    ("query", "names", "more"),
    [
        ("limit=2", ["a/b", "c"], True),
        ("limit=2&after_id=c", ["d"], False),
        ("after_id=d", [], False),
        ("after_id=a%2Fb&limit=1", ["c"], True),
        ("before_id=d&limit=1", ["c"], True),
        ("before_id=c", ["a/b"], False),
        ("limit=1000&lifecycle%5B%5D=active&beta=true", ["a/b", "c", "d"], False),
        ("limit=", ["a/b", "c", "d"], False),
    ],
)
def test_pages(query: str, names: list[str], more: bool) -> None:
    page = answer(query)
    assert ids(page) == names
    assert page["has_more"] is more


def test_twenty_is_the_default() -> None:
    assert len(ids(answer(models=[Model(str(number)) for number in range(30)]))) == 20


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "x", "1.5", "9" * 5000, "²"])
def test_bad_limits(limit: str) -> None:
    with pytest.raises(RequestError, match=r"^limit: Input should be"):
        answer(f"limit={limit}")


@pytest.mark.parametrize("field", ["after_id", "before_id"])
def test_an_unknown_place_is_refused_lest_a_client_turns_in_circles(field: str) -> None:
    with pytest.raises(RequestError, match=f"^{field}: no model has the id 'x'"):
        answer(f"{field}=x")


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 12), st.integers(1, 5))
def test_turning_the_pages_gives_every_model_once(count: int, limit: int) -> None:
    models = [Model(f"m{number}") for number in range(count)]
    found, query = [], f"limit={limit}"
    while True:
        page = answer(query, models=models)
        found += ids(page)
        if not page["has_more"]:
            break
        query = f"limit={limit}&after_id={page['last_id']}"
    assert found == [model.id for model in models]
