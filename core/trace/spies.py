"""Plugins that stand between plugins and tell what passes: one around all that answer, one around each wrapper."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, ClassVar

import attrs
import pluggy

from core.hookspecs import hookimpl
from core.loader.assemble import join
from core.loader.checks import answerers, wrappers
from core.loader.classes import BACK, FRONT
from core.raised import in_words
from core.trace.objects import Around, TracedAnswer, TracedContent, TracedStop
from core.trace.words import Step, Tell, call_in_words, value_in_words

_Gave = Generator[None, Any, Any]


def spied(manager: pluggy.PluginManager, tell: Tell) -> pluggy.PluginManager:
    """A manager with the same plugins in the same order, but for onlookers, and with spies on the six hooks."""
    inside: dict[str, Any] = {}
    manager = without_onlookers(manager)
    plugins: dict[str, object] = {"(answers)": Spy(_answers(manager), tell, inside, innermost=True)}
    for name, plugin in manager.list_name_plugin():
        plugins[name] = plugin
        hooks = [hook for hook in (*FRONT, *BACK) if any(w.plugin_name == name for w in wrappers(manager, hook))]
        if hooks:
            plugins[f"{name} (wraps)"] = Spy(dict.fromkeys(hooks, name), tell, inside)
    return join(plugins)


def without_onlookers(manager: pluggy.PluginManager) -> pluggy.PluginManager:
    """The plugins whose class does not call itself an `onlooker`: those write elsewhere what a trace shows itself.

    Those that ask clients for keys (`guards`) stay outside, too: whoever traces has no client's key.
    """
    outside = ("onlooker", "guards")
    plugins = manager.list_name_plugin()
    return join({name: each for name, each in plugins if not any(getattr(each, word, False) for word in outside)})


def _answers(manager: pluggy.PluginManager) -> dict[str, str]:
    found = {hook: answerers(manager, hook) for hook in (*FRONT, *BACK)}
    return {hook: " or ".join(each.plugin_name for each in those) for hook, those in found.items() if those}


@attrs.frozen(eq=False)
class Spy:
    """Wraps those hooks that are in `names`, each under the name of the plugin that it stands around.

    `inside` holds by hook what the next spy inwards saw last; one trace runs one request.
    """

    names: Mapping[str, str]
    tell: Tell
    inside: dict[str, Any]
    innermost: bool = False
    innocent: ClassVar[bool] = True
    """No fault is a spy's."""

    @hookimpl(wrapper=True)
    def parse(self) -> _Gave:
        """Tell the request."""
        return (yield from self._told("parse", value_in_words))

    @hookimpl(wrapper=True)
    def route(self) -> _Gave:
        """Tell the route."""
        return (yield from self._told("route", value_in_words))

    @hookimpl(wrapper=True)
    def serialize(self) -> _Gave:
        """Tell the writer, and what it writes."""
        answer = yield from self._told("serialize", _class_name)
        return self._around(TracedAnswer, "serialize", answer, inside=self._before("serialize"))

    @hookimpl(wrapper=True)
    def call_upstream(self) -> _Gave:
        """Tell the call, or what a wrapper changed in it."""
        call = yield from self._told("call_upstream", lambda call: call_in_words(call, self._before("call_upstream")))
        if "call_upstream" in self.names:
            self.inside["call_upstream"] = call
        return call

    @hookimpl(wrapper=True)
    def translate_content(self) -> _Gave:
        """Tell the translator, and what it makes of each chunk."""
        hook = "translate_content"
        found = yield from self._told(hook, _class_name)
        return self._around(TracedContent, hook, found, inside=self._before(hook))

    @hookimpl(wrapper=True)
    def translate_stop(self) -> _Gave:
        """Tell the translator, and what it makes of each chunk's deltas."""
        return self._around(TracedStop, "translate_stop", (yield from self._told("translate_stop", _class_name)))

    def _told(self, hook: str, words: Callable[[Any], str]) -> _Gave:
        who = self.names.get(hook)
        if who is None:
            return (yield)
        try:
            found = yield
        except BaseException as error:
            self.tell(Step(hook, who, f"!! raised {in_words(error)}"))
            raise
        self.tell(Step(hook, who, "None: not mine" if found is None else words(found)))
        return found

    def _before(self, hook: str) -> Any:
        return None if self.innermost else self.inside.get(hook)

    def _around(self, cls: type[Any], hook: str, found: Any, **more: Any) -> Any:
        """The traced object; what lacks a method stays as it is, so that the gateway's own check meets it."""
        who = self.names.get(hook)
        if who is None or not all(hasattr(found, method) for method in cls.methods):
            return found
        self.inside[hook] = made = cls(inner=found, hook=hook, who=who, tell=self.tell, **more)
        return made


def _class_name(value: object) -> str:
    """The class; what a plugin gives back just as it got it is a spy's."""
    return "as given" if isinstance(value, Around) else type(value).__name__
