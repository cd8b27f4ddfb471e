"""`BackendConformance`: the rules as separate tests of pytest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from core.testing.assemble import Options, Plugin
from core.testing.kit.bench import Bench
from core.testing.kit.choice import chosen
from core.testing.kit.facts import EngineFacts
from core.testing.kit.report import Failure
from core.testing.kit.rule import Rule
from core.testing.kit.run import outcome, unfit


class BackendConformance:
    """Every rule against one backend, each a test of its own: subclass it, under a name that begins with `Test`.

    `backend` is a plugin's class, an instance, its entry point's name or `module:Class`; `engine` says how the engine
    writes; `wrappers` stand behind the backend; `options` are tables by plugin. `rules` are the names of the only rules
    to run, `skip` those of rules to leave out, each with its reason, which pytest shows (`-rs`).
    """

    backend: ClassVar[Plugin]
    engine: ClassVar[EngineFacts] = EngineFacts()
    wrappers: ClassVar[Sequence[Plugin]] = ()
    options: ClassVar[Options] = {}
    rules: ClassVar[Sequence[str]] = ()
    skip: ClassVar[Mapping[str, str]] = {}
    run: ClassVar[Run]
    """Made by the first rule and used by all."""

    @classmethod
    def pytest_generate_tests(cls, metafunc: Any) -> None:
        """pytest's: a test for each rule that is for this engine."""
        if "hookline_rule" in metafunc.fixturenames:
            mine = metafunc.cls
            rules = chosen(mine.engine, mine.rules, mine.skip).all()
            metafunc.parametrize("hookline_rule", [_parameter(rule, rule, reason) for rule, reason in rules])

    def test_rule(self, hookline_rule: Rule) -> None:
        """One rule."""
        __tracebackhide__ = True
        cls = type(self)
        if "run" not in vars(cls):
            cls.run = Run(Bench((cls.backend, *cls.wrappers), cls.engine, cls.options))
        cls.run.check(hookline_rule)


def _parameter(value: object, rule: Rule, reason: str) -> Any:
    """A value for the test of one rule, which is skipped where there is a reason."""
    import pytest  # noqa: PLC0415  whoever runs the kit as a call needs no pytest

    marks = [pytest.mark.skip(reason=reason)] if reason else []
    return pytest.param(value, id=rule.name, marks=marks)


@attrs.define(eq=False)
class Run:
    """The rules of one backend, run one by one; loading its plugins takes longer than most rules, so it is shared."""

    bench: Bench
    hung: str = ""
    _unfit: list[Failure | None] = attrs.field(factory=list, init=False)

    def check(self, rule: Rule) -> None:
        """Raise AssertionError, which says what the rule wants and what there is, unless it holds."""
        __tracebackhide__ = True
        if self.hung:
            raise AssertionError(f"not run, because {self.hung} hung")
        if not self._unfit:
            self._unfit.append(unfit(self.bench))
        if self._unfit[0] is not None:
            raise AssertionError(self._unfit[0].sentence)
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
    backend: Plugin,
    *wrappers: Plugin,
    engine: EngineFacts | None = None,
    options: Options | None = None,
    rules: Sequence[str] = (),
    skip: Mapping[str, str] | None = None,
) -> list[Any]:
    """The rules that are for this engine as parameters of pytest, whose one value is a BoundRule, to be called."""
    facts = engine or EngineFacts()
    run = Run(Bench((backend, *wrappers), facts, options or {}))
    return [_parameter(BoundRule(rule, run), rule, reason) for rule, reason in chosen(facts, rules, skip).all()]
