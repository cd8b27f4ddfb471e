"""`Report`: what the rules found."""

from __future__ import annotations

from collections.abc import Mapping

import attrs


@attrs.frozen
class Failure:
    """One rule that does not hold, and why in one sentence."""

    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


@attrs.frozen
class Report:
    """The rules that hold, those that do not, those that could not be run because a rule before them hung, and those
    that were to be left out, with the reason."""

    passed: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    not_run: tuple[str, ...] = ()
    skipped: Mapping[str, str] = attrs.field(factory=dict)

    def assert_ok(self) -> None:
        """Raise AssertionError, with a line for each failure, unless all rules hold."""
        __tracebackhide__ = True
        if self.failures:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        head = f"{len(self.passed)} rules hold, {len(self.failures)} do not"
        left = f", {len(self.skipped)} are left out" if self.skipped else ""
        rest = f", {len(self.not_run)} were not run: a rule before them hung" if self.not_run else ""
        out = [f"- {name} is left out: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([head + left + rest, *(f"- {failure}" for failure in self.failures), *out])
