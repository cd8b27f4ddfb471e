"""`Report`: what the rules found."""

from __future__ import annotations

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
    """The rules that hold, those that do not, and those that could not be run because a rule before them hung."""

    passed: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    not_run: tuple[str, ...] = ()

    def assert_ok(self) -> None:
        """Raise AssertionError, with a line for each failure, unless all rules hold."""
        __tracebackhide__ = True
        if self.failures:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        head = f"{len(self.passed)} rules hold, {len(self.failures)} do not"
        rest = f", {len(self.not_run)} were not run: a rule before them hung" if self.not_run else ""
        return "\n".join([head + rest, *(f"- {failure}" for failure in self.failures)])
