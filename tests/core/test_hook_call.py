from __future__ import annotations

from typing import Any

import pytest

from core import HTTPRequest, Page, hookimpl
from core.hook_call import call_hook
from tests.core.fakes import Front, manager

PAGE = HTTPRequest("GET", "/page")


class Shows:
    @hookimpl
    def page(self, http: HTTPRequest) -> Page | None:
        return Page(http.path.encode()) if http.path == "/page" else None


class Waves:
    @hookimpl
    def page(self) -> Page:
        return Page(b"hello")


class Louder:
    @hookimpl(wrapper=True)
    def page(self) -> Any:
        found: Page = yield
        return Page(found.body.upper())


class Old:
    """A wrapper in pluggy's old style."""

    @hookimpl(hookwrapper=True)
    def page(self) -> Any:
        found = yield
        found.force_result(Page(found.get_result().body * 2))


@pytest.mark.parametrize(
    ("plugins", "body"),
    [
        ([Shows()], b"/page"),
        ([Waves()], b"hello"),
        ([Waves(), Shows()], b"/page"),
        ([Shows(), Waves()], b"hello"),
        ([Shows(), Louder()], b"/PAGE"),
        ([Shows(), Old()], b"/page/page"),
    ],
)
def test_one_plugin_or_several_answer_as_pluggy_has_it(plugins: list[object], body: bytes) -> None:
    made = manager(*plugins)
    assert call_hook(made, "page", "test", {"http": PAGE}).body == made.hook.page(http=PAGE).body == body


def test_none_of_the_one_plugin_is_none() -> None:
    assert call_hook(manager(Shows()), "page", "test", {"http": HTTPRequest("GET", "/")}) is None
    assert call_hook(manager(), "page", "test", {"http": PAGE}) is None


def test_of_a_hook_that_all_answer_one_answer_is_a_list() -> None:
    class Knows:
        @hookimpl
        def list_models(self) -> list[str]:
            return ["m"]

    arguments: dict[str, Any] = {"http": PAGE, "request": None, "clients": {}}
    assert call_hook(manager(Knows()), "list_models", "test", arguments) == [["m"]]


def test_a_fault_outside_of_any_plugin_says_so() -> None:
    with pytest.raises(Exception, match="http") as caught:
        call_hook(manager(Front()), "parse", "pipeline 'main'", {})
    assert "an unknown plugin" in caught.value.__notes__[0]


@pytest.mark.parametrize("plugins", [[Front()], [Front(), Shows()]])
def test_a_fault_names_its_plugin(plugins: list[object]) -> None:
    with pytest.raises(ValueError, match="secret") as caught:
        call_hook(manager(*plugins), "parse", "pipeline 'main'", {"http": HTTPRequest("GET", "/crash")})
    assert caught.value.__notes__ == ["in parse of plugin 'Front', pipeline 'main'"]
