"""The proof that a mutant is one: a scene in which it is seen to differ from the correct backend."""

from __future__ import annotations

import attrs

from tests.mutants.observe import differences, observe
from tests.mutants.reference import Correct
from tests.mutants.scenes import Scene


@attrs.frozen
class Witness:
    """The scenes that show a fault, and the name of what must differ in them (a field of `Seen`)."""

    shows: str
    scenes: tuple[Scene, ...]


def witness(shows: str, *scenes: Scene) -> Witness:
    """A witness of these scenes, played in a row on one gateway."""
    return Witness(shows, scenes)


def assert_mutant(mutant: type, told: Witness) -> None:
    """Assert that the correct backend behaves in the scenes, the same each time, and that the mutant differs."""
    # Only a mutant shall ever meet a limit, however busy the machine is.
    patient = [attrs.evolve(scene, limit=20 * scene.limit) for scene in told.scenes]
    seen = observe(Correct, [*patient, *patient])
    right, again = seen[: len(patient)], seen[len(patient) :]
    assert all(one.sound for one in right), right
    assert differences(right, again) == set()
    wrong = observe(mutant, told.scenes)
    assert told.shows in differences(right, wrong), differences(right, wrong)
