"""Records of requests as they are when they are over, and a page as Prometheus reads it."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from core import Candidate, HTTPRequest, Record, Request, Route, Stop, Usage

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def answered(model: str = "up", *, stream: bool = True, backend: str = "b") -> Record:
    """A request of pipeline `p` that was answered in two seconds: a token after one, four more after that."""
    record = Record(HTTPRequest("POST", "/messages"), started=100.0, pipeline="p", status=200)
    record.request = Request("message", model="m", stream=stream)
    record.route = Route((Candidate(backend, model),))
    record.accepted, record.first_delta, record.first, record.ended = 100.5, 101.0, 101.2, 102.0
    record.usage, record.stop = Usage(30, 5, cache_read_tokens=10), Stop("end_turn")
    return record


def parsed(page: bytes) -> Samples:
    """The page's samples by name and labels."""
    families = text_string_to_metric_families(page.decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    """The sum of the samples of that name that have these labels."""
    wanted = labels.items()
    found = [each for (known, has), each in samples.items() if known == name and wanted <= dict(has).items()]
    assert found, (name, labels)
    return sum(found)
