from __future__ import annotations

import pytest

from tests.mutants import MUTANTS


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= 100


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_tells_its_fault_in_one_sentence(name: str) -> None:
    told = MUTANTS[name].__doc__ or ""
    assert (told[-1:], "\n" in told) == (".", False)
    assert MUTANTS[name].__name__ == name
