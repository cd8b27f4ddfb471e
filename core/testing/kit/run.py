"""`conformance`: all rules against one backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from structlog.testing import capture_logs

from core.errors import ConfigError
from core.testing.assemble import Options, Plugin
from core.testing.kit.bench import Bench
from core.testing.kit.choice import Choice, chosen
from core.testing.kit.facts import EngineFacts
from core.testing.kit.limit import TooLongError, time_limit
from core.testing.kit.report import Failure, Report
from core.testing.kit.rewriting import FactError
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
    skip: Mapping[str, str] | None = None,
    **facts: Any,
) -> Report:
    """Run every rule that is for this engine, and report.

    `backend` is a plugin's class, an instance, its entry point's name or `module:Class`; `wrappers` stand behind it.
    `engine` says how the engine writes; single facts can be given by name instead (`reasoning_field="thoughts"`).
    `options` are tables by plugin; `first` ends the run with the first failure, `rules` are the names of the only ones
    to run, `skip` those of rules to leave out, with the reasons. A rule that takes more than `limit` seconds fails, and
    none is run after it. A plugin that hookline would refuse at its start fails the one rule `loads`, a function among
    the facts that does not do its part the one rule `facts`. For use outside an event loop. Raises ValueError for a
    name that is no rule, or none for this engine.
    """
    described = engine if engine is not None else EngineFacts(**facts)
    choice = chosen(described, rules, skip)
    bench = Bench((backend, *wrappers), described, options or {})
    if refused := unfit(bench):
        return Report((), (refused,))
    return _run(bench, choice, limit, first=first)


def unfit(bench: Bench) -> Failure | None:
    """Why no rule can be run: the plugins do not load, or the facts cannot be played."""
    try:
        bench.assembly()
        bench.engine.check()
    except ConfigError as error:
        return Failure("loads", str(error))
    except FactError as error:
        return Failure("facts", str(error))
    return None


def _run(bench: Bench, choice: Choice, limit: float, *, first: bool) -> Report:
    passed, failures, rules = [], [], choice.rules
    for number, rule in enumerate(rules):
        hung, sentence = outcome(rule, bench, limit)
        if sentence:
            failures.append(Failure(rule.name, sentence))
        else:
            passed.append(rule.name)
        if hung or (first and failures):
            later = tuple(each.name for each in rules[number + 1 :])
            return Report(tuple(passed), tuple(failures), later, choice.skipped)
    return Report(tuple(passed), tuple(failures), (), choice.skipped)


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
        if isinstance(error, FactError):
            return False, str(error)
        return False, "; ".join(filter(None, (sentence_of(error), rule.hint(bench.facts))))
    return False, ""
