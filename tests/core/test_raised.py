from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from core.raised import LENGTH, PluginError, drop_frames, in_words, leaves, raise_fault


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("a\n  b"), "ValueError: a b"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (MuteError(), "MuteError"),
        (ValueError("x" * 1000), f"ValueError: {'x' * (LENGTH - 12)}…"),
    ],
)
def test_an_exception_is_one_line(error: BaseException, words: str) -> None:
    assert in_words(error) == words


def test_what_is_no_exception_becomes_one() -> None:
    error, exits = ValueError("x"), SystemExit(3)
    with pytest.raises(ValueError, match="x") as same:
        raise_fault(error)
    assert (same.value, same.value.__cause__) == (error, None)
    with pytest.raises(PluginError, match="a plugin raised SystemExit") as caught:
        raise_fault(exits)
    assert caught.value.__cause__ is exits


@pytest.mark.anyio
async def test_a_cancellation_is_the_tasks_own_only_when_somebody_asked_for_it() -> None:
    cancelled = anyio.get_cancelled_exc_class()
    assert not leaves(cancelled())
    assert not leaves(KeyboardInterrupt())
    assert leaves(GeneratorExit())
    with anyio.CancelScope() as scope:
        scope.cancel()
        with pytest.raises(cancelled) as caught:
            await anyio.lowlevel.checkpoint()
        assert leaves(caught.value)
        raise caught.value
    assert not leaves(cancelled())


def test_frames_are_dropped_with_those_of_all_causes() -> None:
    try:
        try:
            try:
                raise OSError("first")  # noqa: TRY301
            except OSError:
                raise KeyError("second")  # noqa: B904  its context is looked at
        except KeyError as error:
            raise ValueError("third") from error
    except ValueError as error:
        last: BaseException = error
    chain = [last, last.__cause__, last.__cause__ and last.__cause__.__context__]
    assert all(error is not None and error.__traceback__ is not None for error in chain)
    drop_frames(last)
    assert all(error is not None and error.__traceback__ is None for error in chain)
    group = ExceptionGroup("all", [raised(ValueError("one")), ExceptionGroup("more", [raised(KeyError("two"))])])
    drop_frames(raised(group))
    one, more = group.exceptions
    assert isinstance(more, ExceptionGroup)
    assert (one.__traceback__, more.exceptions[0].__traceback__) == (None, None)
    drop_frames(None)


def raised(error: Exception) -> Exception:
    try:
        raise error
    except type(error) as same:
        return same
