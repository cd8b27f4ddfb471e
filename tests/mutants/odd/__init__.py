"""Mutants of the backend of an odd engine: each is wrong in one way, and the kit must find it."""

from __future__ import annotations

from typing import Final

from tests.mutants.odd import asking, problems, reading
from tests.mutants.odd.quokka import Quokka

MUTANTS: Final[dict[str, type]] = {
    name: cls
    for module in (reading, problems, asking)
    for name, cls in vars(module).items()
    if isinstance(cls, type) and cls.__module__ == module.__name__ and issubclass(cls, Quokka) and name[0] != "_"
}
"""Every mutant by its name; its docstring tells the fault."""
