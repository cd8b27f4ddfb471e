"""`conformance`: all rules against one backend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from structlog.testing import capture_logs

from core.errors import ConfigError
from core.testing.assemble import Options, Plugin
from core.testing.kit.bench import Bench
from core.testing.kit.catalogue import rules_for
from core.testing.kit.facts import EngineFacts
from core.testing.kit.limit import TooLongError, time_limit
from core.testing.kit.report import Failure, Report
from core.testing.kit.rule import Rule, leaves, sentence_of

LIMIT: Final = 10.0
"""Seconds for one rule; most take a few hundredths of one."""

HANGS: Final = "the plugin blocks: the rule did not end within {:g} seconds"


def conformance(
    backend: Plugin,
    *wrappers: Plugin,
    engine: EngineFacts | None = None,
    options: Options | None = None,
    limit: float = LIMIT,
    first: bool = False,
    rules: Sequence[str] = (),
    **facts: Any,
) -> Report:
    """Run every rule that is for this engine, and report.

    `backend` is a plugin's class, an instance, its entry point's name or `module:Class`; `wrappers` stand behind it.
    `engine` says how the engine writes; single facts can be given by name instead (`reasoning_field="thoughts"`).
    `options` are tables by plugin; `first` ends the run with the first failure, `rules` are the names of the only ones
    to run. A rule that takes more than `limit` seconds fails, and none is run after it. A plugin that hookline would
    refuse at its start fails the one rule `loads`. For use outside an event loop.
    """
    described = engine if engine is not None else EngineFacts(**facts)
    bench = Bench((backend, *wrappers), described, options or {})
    try:
        bench.assembly()
    except ConfigError as error:
        return Report((), (Failure("loads", str(error)),))
    return _run(bench, _chosen(rules_for(described), rules), limit, first=first)


def _chosen(all_rules: Sequence[Rule], names: Sequence[str]) -> Sequence[Rule]:
    unknown = sorted(set(names) - {rule.name for rule in all_rules})
    if unknown:
        raise ValueError(f"no rule {unknown[0]!r} for this engine; docs/conformance.md lists them")
    return [rule for rule in all_rules if not names or rule.name in names]


def _run(bench: Bench, rules: Sequence[Rule], limit: float, *, first: bool) -> Report:
    passed, failures = [], []
    for number, rule in enumerate(rules):
        hung, sentence = outcome(rule, bench, limit)
        if sentence:
            failures.append(Failure(rule.name, sentence))
        else:
            passed.append(rule.name)
        if hung or (first and failures):
            return Report(tuple(passed), tuple(failures), tuple(later.name for later in rules[number + 1 :]))
    return Report(tuple(passed), tuple(failures))


def outcome(rule: Rule, bench: Bench, limit: float = LIMIT) -> tuple[bool, str]:
    """Whether the rule hung, and what it has to say ("": it holds)."""
    try:
        with time_limit(limit), capture_logs():
            rule.check(bench)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001  a plugin may raise anything, and the limit comes in a group, too
        if any(isinstance(leaf, TooLongError) for leaf in leaves(error)):
            return True, HANGS.format(limit)
        return False, sentence_of(error)
    return False, ""
