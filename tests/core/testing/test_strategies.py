from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings

from core.testing import BrokenAnswer, UpstreamAnswer, strategies

quick = settings(max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(strategies.texts())
def test_texts_can_be_sent(text: str) -> None:
    assert json.loads(json.dumps(text).encode()) == text
    assert text.encode().decode() == text


@quick
@given(strategies.answers(stop_field="stop_reason", stops=("5",)))
def test_answers_are_whole_in_both_forms(answer: UpstreamAnswer) -> None:
    completion = json.loads(answer.json())
    assert completion["choices"][0]["message"]["content"] == answer.text
    assert answer.finish_reason is not None or answer.framing.done
    assert answer.sse().endswith(answer.framing.eol.encode() * 2)
    assert all(json.loads(call.arguments or "{}") is not None for call in answer.tool_calls)
    ids = [call.id for call in answer.tool_calls]
    assert len(set(ids)) == len(ids)


@quick
@given(strategies.broken_answers())
def test_broken_answers_are_not_whole(broken: BrokenAnswer) -> None:
    for stream in (True, False):
        assert broken.status != 200 or broken.wire(stream=stream) != broken.answer.sse() or broken.answer.error


@quick
@given(strategies.cuts())
def test_cuts_are_positions(cuts: tuple[int, ...]) -> None:
    assert cuts
    assert min(cuts) > 0
