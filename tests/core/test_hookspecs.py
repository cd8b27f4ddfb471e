from __future__ import annotations

import inspect

import pytest

from core.hookspecs import PROJECT, Hooks, hookimpl
from tests.core.fakes import Front, Upstream, gateway, manager

SIX = ["parse", "route", "serialize", "call_upstream", "translate_content", "translate_stop"]
BESIDE = ["exchange", "observe", "page", "list_models", "check", "lifespan"]


def test_the_hooks_are_these() -> None:
    names = [name for name, value in vars(Hooks).items() if inspect.isfunction(value)]
    assert names == SIX + BESIDE


@pytest.mark.parametrize("hook", SIX)
def test_the_six_are_answered_by_one_plugin(hook: str) -> None:
    assert getattr(Hooks, hook).hookline_spec["firstresult"]


@pytest.mark.parametrize("hook", SIX + BESIDE)
def test_hooks_are_plain_functions_with_a_manual(hook: str) -> None:
    function = getattr(Hooks, hook)
    assert not inspect.iscoroutinefunction(function)
    assert len(inspect.getdoc(function) or "") > 20


def test_the_marker_is_the_projects() -> None:
    assert hookimpl.project_name == PROJECT


def test_what_is_listed_later_is_asked_first() -> None:
    class Second:
        @hookimpl
        def parse(self) -> None:
            return None

    names = [impl.plugin_name for impl in manager(Front(), Second()).hook.parse.get_hookimpls()]
    assert names[-1] == "Second"


def test_the_fakes_follow_the_specifications() -> None:
    served, upstream = gateway(lambda: None)  # type: ignore[arg-type, return-value]
    assert isinstance(upstream, Upstream)
    for loaded in served.loaded.managers:
        loaded.check_pending()
