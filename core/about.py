"""What is served, for people: the models that clients may name, and a request to try."""

from __future__ import annotations

from core.config import Config
from core.guards import is_guarded
from core.loader import Loaded
from core.pipeline import Pipeline
from core.request import HTTPRequest, Request
from core.route import Candidate
from core.told import Told


def routes_of(config: Config, pipeline: Pipeline) -> dict[str, tuple[Candidate, ...]]:
    """The models that a client of the pipeline may name, and where each goes, asked of the pipeline itself.

    A name in [models] that is a glob is among them, as it is written.
    """
    http = HTTPRequest("GET", "/models", mount=pipeline.paths[0])
    names = [model.id for model in pipeline.known_models(http)]
    found = {name: _candidates(pipeline, http, name) for name in [*names, *config.options.get("models", {})]}
    return {name: candidates for name, candidates in found.items() if candidates}


def about(loaded: Loaded) -> Told:
    """All pipelines' models; what to try is the first one's."""
    first = loaded.pipelines[0]
    routes = [routes_of(loaded.config, pipeline) for pipeline in loaded.pipelines]
    names = tuple(dict.fromkeys(name for each in routes for name in each))
    model = next(iter(routes[0]), "MODEL").replace("*", "x")
    return Told(loaded.config.file, names, first.paths[0], model, is_guarded(first))


def _candidates(pipeline: Pipeline, http: HTTPRequest, model: str) -> tuple[Candidate, ...]:
    try:
        route = pipeline.route(http, Request("message", model=model))
    except Exception:  # noqa: BLE001  a router may want more of a request than its model
        return ()
    return route.candidates if route is not None else ()
