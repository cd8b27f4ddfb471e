from __future__ import annotations

import pytest

from tests.mutants.reasoning import ReasoningDropped
from tests.mutants.reference import Correct
from tests.mutants.scenes import Scene
from tests.mutants.text import FirstTextDropped
from tests.mutants.witness import assert_mutant, witness


def test_a_correct_backend_is_no_mutant() -> None:
    with pytest.raises(AssertionError):
        assert_mutant(Correct, witness("message", Scene()))


def test_a_scene_without_the_fault_proves_nothing() -> None:
    with pytest.raises(AssertionError):
        assert_mutant(ReasoningDropped, witness("message", Scene()))


def test_the_difference_must_be_where_it_is_said_to_be() -> None:
    with pytest.raises(AssertionError):
        assert_mutant(FirstTextDropped, witness("closed", Scene()))
