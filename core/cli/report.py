"""The resolved configuration in words: what `hookline check` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pluggy

from core.about import routes_of
from core.chat.address import chat_url
from core.config import BackendConfig
from core.loader import Loaded
from core.loader.checks import answerers, chat_path, wrappers
from core.loader.classes import BACK, hook_names, wraps_of
from core.route import Candidate

_MASK = "***"
_AT_START = ("check", "lifespan")

Asked = Sequence[tuple[str, pluggy.PluginManager]]
"""Hooks, each with the manager that it is called on."""


def report(loaded: Loaded) -> str:
    """Every pipeline with its paths, and every pair with its plugins in order, hook by hook; secrets are masked."""
    return "\n".join(_lines(loaded))


def _lines(loaded: Loaded) -> Iterator[str]:
    alone = dict(zip(loaded.config.backends, loaded.managers[len(loaded.pipelines) :], strict=True))
    for pipeline in loaded.pipelines:
        yield f"pipeline {pipeline.name} at {', '.join(path or '/' for path in pipeline.paths)}"
        yield f"  plugins  {_names(pipeline.manager)}"
        hooks = [hook for hook in hook_names() if hook not in BACK]
        yield from _hooks([(hook, pipeline.manager) for hook in hooks], "  ")
        routes = routes_of(loaded.config, pipeline)
        for back in pipeline.backs.values():
            backend = loaded.config.backends[back.name]
            yield ""
            yield f"  {pipeline.name} with backend {back.name}"
            yield f"    plugins  {_names(back.manager)}"
            for key, value in _settings(backend, chat_path(alone[back.name])):
                yield f"    {key:<7}  {value}"
            yield from (f"    given    {line}" for line in _given(back.manager, backend))
            yield f"    models   {_models(routes, back.name)}"
            at_start = [(hook, alone[back.name]) for hook in _AT_START]
            yield from _hooks([*((hook, back.manager) for hook in BACK), *at_start], "    ")
        yield ""


def _names(manager: pluggy.PluginManager) -> str:
    return ", ".join(name for name, _ in manager.list_name_plugin())


def _settings(backend: BackendConfig, path: str) -> Iterator[tuple[str, str]]:
    yield "url", _masked(backend.url) if backend.url else "none"
    if backend.url:
        yield "calls", _masked(str(chat_url(backend.url, backend.query, path)))
    if backend.key is not None:
        yield "key", _MASK
    for group in ("headers", "query"):
        if names := getattr(backend, group):
            yield group, ", ".join(f"{name} = {_MASK}" for name in names)
    if backend.proxy is not None:
        yield "proxy", _MASK
    if backend.dialect:
        yield "dialect", ", ".join(f"{key} = {value!r}" for key, value in sorted(backend.dialect.items()))
    yield "stream", backend.stream
    if backend.max_concurrent:
        waits = f"{backend.max_queue} may wait {backend.queue_timeout:g} s" if backend.max_queue else "nobody may wait"
        yield "limit", f"{backend.max_concurrent} at once in a worker, {waits}"


def _given(manager: pluggy.PluginManager, backend: BackendConfig) -> Iterator[str]:
    """The options that a backend's plugins give its wrappers, which its table may override."""
    for giver in backend.plugins:
        for wrapper, options in wraps_of(giver, type(manager.get_plugin(giver))).items():
            if options and manager.has_plugin(wrapper):
                told = ", ".join(f"{key} = {value!r}" for key, value in options.items())
                yield f"{wrapper} by {giver}: {told}"


def _masked(url: str) -> str:
    """The URL with its query masked: some providers want the key there."""
    address, _, query = url.partition("#")[0].partition("?")
    return f"{address}?{_MASK}" if query else address


def _models(routes: dict[str, tuple[Candidate, ...]], backend: str) -> str:
    names = []
    for name, candidates in routes.items():
        for candidate in candidates:
            if candidate.backend == backend:
                told = ", ".join(_particulars(name, candidate, alone=len(candidates) == 1))
                names.append(f"{name} ({told})" if told else name)
    return ", ".join(names) or "none"


def _particulars(name: str, candidate: Candidate, *, alone: bool) -> Iterator[str]:
    """What is to be told of a candidate: its model's name there, and its part where it is one of several."""
    if candidate.model != name:
        yield candidate.model
    if not alone:
        yield f"priority {candidate.priority}"
        yield f"weight {candidate.weight:g}"


def _hooks(asked: Asked, indent: str) -> Iterator[str]:
    """A table: which plugin answers each hook, the one asked first leading, and which wrap it, outermost first."""
    rows = [("hook", "answered by", "wrapped by, outermost first")]
    for hook, manager in asked:
        answers = ", ".join(each.plugin_name for each in answerers(manager, hook))
        wraps = ", ".join(each.plugin_name for each in wrappers(manager, hook))
        if answers or wraps:
            rows.append((hook, answers, wraps or "-"))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for row in rows:
        yield f"{indent}{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}"
