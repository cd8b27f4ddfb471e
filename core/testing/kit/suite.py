"""`BackendConformance`: the rules as separate tests of pytest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from core.testing.assemble import Options, Plugin
from core.testing.kit.bench import Bench
from core.testing.kit.catalogue import rules_for
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule
from core.testing.kit.run import outcome


class BackendConformance:
    """Every rule against one backend, each a test of its own: subclass it, under a name that begins with `Test`.

    `backend` is a plugin's class, an instance, its entry point's name or `module:Class`; `engine` says how the engine
    writes; `wrappers` stand behind the backend; `options` are tables by plugin.
    """

    backend: ClassVar[Plugin]
    engine: ClassVar[EngineFacts] = EngineFacts()
    wrappers: ClassVar[Sequence[Plugin]] = ()
    options: ClassVar[Options] = {}
    run: ClassVar[Run]
    """Made by the first rule and used by all."""

    @classmethod
    def pytest_generate_tests(cls, metafunc: Any) -> None:
        """pytest's: a test for each rule that is for this engine."""
        if "hookline_rule" in metafunc.fixturenames:
            metafunc.parametrize("hookline_rule", rules_for(metafunc.cls.engine), ids=str)

    def test_rule(self, hookline_rule: Rule) -> None:
        """One rule."""
        __tracebackhide__ = True
        cls = type(self)
        if "run" not in vars(cls):
            cls.run = Run(Bench((cls.backend, *cls.wrappers), cls.engine, cls.options))
        cls.run.check(hookline_rule)


@attrs.define(eq=False)
class Run:
    """The rules of one backend, run one by one; loading its plugins takes longer than most rules, so it is shared."""

    bench: Bench
    hung: str = ""

    def check(self, rule: Rule) -> None:
        """Raise AssertionError, which says what the rule wants and what there is, unless it holds."""
        __tracebackhide__ = True
        if self.hung:
            raise AssertionError(f"not run, because {self.hung} hung")
        hangs, sentence = outcome(rule, self.bench)
        if hangs:
            self.hung = rule.name
        if sentence:
            raise AssertionError(f"{rule.says}\nBut {sentence}")


@attrs.frozen
class BoundRule:
    """One rule of one backend: call it."""

    rule: Rule
    run: Run

    def __call__(self) -> None:
        """Check the rule."""
        __tracebackhide__ = True
        self.run.check(self.rule)

    def __str__(self) -> str:
        return self.rule.name


def bound_rules(
    backend: Plugin, *wrappers: Plugin, engine: EngineFacts | None = None, options: Options | None = None
) -> tuple[BoundRule, ...]:
    """The rules that are for this engine, each to be called."""
    facts = engine or EngineFacts()
    run = Run(Bench((backend, *wrappers), facts, options or {}))
    return tuple(BoundRule(rule, run) for rule in rules_for(facts))
