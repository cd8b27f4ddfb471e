"""Faults in a body: where (the path as clients know it) and what, in one sentence."""

from __future__ import annotations

from cattrs.errors import AttributeValidationNote, ClassValidationError, IterableValidationError


class FaultError(ValueError):
    """A value that cannot be taken. `place` are the steps from that value down to the fault, if it lies deeper."""

    def __init__(self, sentence: str, *place: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.place = place


class Tag(str):
    """A note on an exception: it happened inside the variant of that name, which clients see as a step of the path."""

    __slots__ = ()


def explain(error: Exception) -> str:
    """ "path: sentence" of the first fault that cattrs found, say `messages.0.content: Input should be …`."""
    path, sentence = _first(error)
    return f"{'.'.join(path)}: {sentence}" if path else sentence


def _first(error: Exception) -> tuple[list[str], str]:
    path = [str(note) for note in getattr(error, "__notes__", ()) if isinstance(note, Tag)]
    if isinstance(error, (ClassValidationError, IterableValidationError)):
        inner, step = _child(error)
        deeper, sentence = _first(inner)
        return path + step + deeper, sentence
    if isinstance(error, FaultError):
        return [*path, *error.place], error.sentence
    if isinstance(error, KeyError):
        return path, "Field required"
    raise error  # not the client's fault: it must not come out as one


def _child(error: ClassValidationError | IterableValidationError) -> tuple[Exception, list[str]]:
    """The first exception below, with the step that leads to it."""
    placed, others = error.group_exceptions()
    if not placed:
        return others[0], []
    inner, note = placed[0]
    return inner, [note.name if isinstance(note, AttributeValidationNote) else str(note.index)]
