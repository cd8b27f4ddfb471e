"""Is this class a sound plugin? pluggy would pass over most faults in silence; here each is a sentence at start."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import attrs

from core.config.faults import TableError, did_you_mean
from core.hookspecs import PROJECT, Hooks

FRONT: Final = ("parse", "route", "serialize")
BACK: Final = ("call_upstream", "translate_content", "translate_stop")
_ONLY_FRONT: Final = (*FRONT, "list_models", "exchange", "observe", "page")


def hook_names() -> Mapping[str, tuple[str, ...]]:
    """Every hook with the names of its arguments, in the order of the specification."""
    specs = {name: spec for name, spec in vars(Hooks).items() if hasattr(spec, f"{PROJECT}_spec")}
    return {name: tuple(inspect.signature(spec).parameters)[1:] for name, spec in specs.items()}


@attrs.frozen
class Implementation:
    """One method of a plugin's class that is marked as a hook: its own name, the hook's, and pluggy's options."""

    method: str
    hook: str
    function: Callable[..., Any]
    parameters: tuple[inspect.Parameter, ...]
    wrapper: bool
    optional: bool


def check_class(name: str, cls: type, *, in_backend: bool) -> None:
    """Refuse a class that pluggy would not call as its author expects.

    Raises TableError, naming plugin, method and remedy.
    """
    hooks = hook_names()
    _check_marks(name, cls, hooks)
    implementations = list(implementations_of(cls))
    if not implementations:
        raise TableError(f"plugin {name!r} implements no hook", hint="mark its methods with core.hookimpl")
    for implementation in implementations:
        where = f"plugin {name!r}: {implementation.method}"
        if implementation.hook not in hooks:
            if implementation.optional:
                continue
            hint = did_you_mean(implementation.hook, hooks, "hooks")
            raise TableError(f"{where} is for no hook of hookline: {implementation.hook!r}", hint=hint)
        _check_function(where, implementation)
        _check_parameters(where, implementation, hooks[implementation.hook])
        if in_backend and implementation.hook in _ONLY_FRONT:
            raise TableError(
                f"{where} would never be called in a backend", hint="list the plugin under [pipelines.NAME]"
            )


def wraps_of(name: str, cls: type) -> dict[str, dict[str, Any]]:
    """The wrappers that a plugin's class brings along, in order, each with the options that it gives it.

    Raises TableError for what is no tuple of names, or of names with options.
    """
    wraps: object = getattr(cls, "wraps", ())
    found: dict[str, dict[str, Any]] = {}
    for each in wraps if isinstance(wraps, tuple) else (None,):
        wrapper, options = each if isinstance(each, tuple) and len(each) == 2 else (each, {})
        if not isinstance(wrapper, str) or not isinstance(options, Mapping):
            hint = 'write wraps = ("stop_scan",), or (("stop_scan", {"upstream": "never"}),)'
            raise TableError(f"plugin {name!r}: wraps is not a tuple of names, or of names with options", hint=hint)
        found[wrapper] = {**found.get(wrapper, {}), **{str(key): _as_toml(value) for key, value in options.items()}}
    return found


def _as_toml(value: object) -> object:
    """A value as a table would hold it: a list for a tuple."""
    if isinstance(value, Mapping):
        return {str(key): _as_toml(inner) for key, inner in value.items()}
    return [_as_toml(inner) for inner in value] if isinstance(value, tuple | list) else value


def implementations_of(cls: type) -> Iterator[Implementation]:
    """The class's methods that carry our marker, inherited ones too."""
    for method in dir(cls):
        static, function = _function(cls, method)
        options = _marks(static).get(PROJECT)
        if function is None or options is None:
            continue
        parameters = tuple(inspect.signature(function).parameters.values())
        yield Implementation(
            method,
            options.get("specname") or method,
            function,
            parameters if isinstance(static, staticmethod) else parameters[1:],
            bool(options.get("wrapper") or options.get("hookwrapper")),
            bool(options.get("optionalhook")),
        )


def _function(cls: type, method: str) -> tuple[object, Callable[..., Any] | None]:
    """The class's attribute as it is stored, and the function in it, if there is one."""
    static = inspect.getattr_static(cls, method, None)
    function = getattr(static, "__func__", static)
    return static, function if inspect.isfunction(function) else None


def _marks(static: object) -> dict[str, dict[str, Any]]:
    """pluggy's markers on a method, by the project that each is for."""
    found: dict[str, dict[str, Any]] = {}
    for holder in (getattr(static, "__func__", None), static):
        for key, value in getattr(holder, "__dict__", {}).items():
            if key.endswith("_impl") and isinstance(value, dict) and "specname" in value:
                found[key.removesuffix("_impl")] = value
    return found


def _check_marks(name: str, cls: type, hooks: Mapping[str, tuple[str, ...]]) -> None:
    """A method that is named like a hook must carry our marker: without it, it is never called."""
    for hook in hooks:
        static, function = _function(cls, hook)
        marks = _marks(static)
        if PROJECT in marks or (function is None and not callable(static)):
            continue
        where = f"plugin {name!r}: {hook}"
        if marks:
            raise TableError(f"{where} is marked for {next(iter(marks))!r}", hint="mark it with core.hookimpl")
        raise TableError(f"{where} is not marked and would never be called", hint="put @core.hookimpl above it")


def _check_function(where: str, implementation: Implementation) -> None:
    function = implementation.function
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise TableError(
            f"{where} is `async def`, but hooks are plain functions",
            hint="return at once an object that does the waiting",
        )
    if inspect.isgeneratorfunction(function) != implementation.wrapper:
        if implementation.wrapper:
            raise TableError(f"{where} is a wrapper without `yield`", hint="yield once: the value is what it wraps")
        raise TableError(f"{where} yields, but is no wrapper", hint="mark it hookimpl(wrapper=True), or return a value")


def _check_parameters(where: str, implementation: Implementation, allowed: tuple[str, ...]) -> None:
    valid = f"allowed: {', '.join(allowed)}" if allowed else "it takes none"
    for parameter in implementation.parameters:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            raise TableError(f"{where} takes {parameter.name!r}, which is never filled as it stands", hint=valid)
        if parameter.name not in allowed:
            raise TableError(f"{where} has an unknown parameter {parameter.name!r}", hint=valid)
        if parameter.default is not parameter.empty:
            raise TableError(
                f"{where} has a default for {parameter.name!r}, so that it is never filled", hint="drop it"
            )
