"""Seeded faults: backends that are each wrong in one way, for measuring what a test kit catches."""

from __future__ import annotations

from types import ModuleType
from typing import Final

from tests.mutants import arguments, body, call, reasoning, refusals, state, stops, subtle, text, tools, usage, wire

MODULES: Final = (reasoning, text, stops, usage, tools, arguments, wire, call, refusals, body, state, subtle)


def mutants_in(module: ModuleType) -> dict[str, type]:
    """The mutants of one module by name: its public classes that answer a hook."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, type)}
    return {
        name: cls
        for name, cls in found.items()
        if cls.__module__ == module.__name__ and not name.startswith("_") and hasattr(cls, "call_upstream")
    }


MUTANTS: Final[dict[str, type]] = {name: cls for module in MODULES for name, cls in mutants_in(module).items()}
"""Every mutant by its name; its docstring tells the fault."""
