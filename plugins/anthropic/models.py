"""The answers to `GET /models` and `GET /models/{id}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs

import attrs

from core import Delta, Model, Request, RequestError
from plugins.anthropic.envelope import JSONAnswer
from plugins.anthropic.jsontext import dumps

LAST_SECOND: Final = 253402300799
"""The end of the year 9999, in Unix time: RFC 3339 goes no further."""


def model_value(model: Model) -> dict[str, Any]:
    """A ModelInfo; what a gateway cannot know is null."""
    created = datetime.fromtimestamp(min(max(model.created, 0), LAST_SECOND), UTC)
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.display_name or model.id,
        "created_at": created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lifecycle": "active",
        "line": None,
        "deprecated_at": None,
        "retires_at": None,
        "max_input_tokens": model.context,
        "max_tokens": model.max_output_tokens,
        "capabilities": None,
    }


@attrs.frozen
class Page:
    """Which part of the list is wanted: `limit` models after or before one, from the start when neither is given."""

    limit: int = 20
    after_id: str = ""
    before_id: str = ""

    @classmethod
    def of(cls, query: bytes) -> Page:
        """Read a query string; what is not about pages is ignored. Raises RequestError for a bad limit."""
        values: Mapping[str, list[str]] = parse_qs(query.decode("latin-1"))
        limit = values.get("limit", ["20"])[-1]
        if not (limit.isascii() and limit.isdigit() and len(limit) <= 4 and 1 <= int(limit) <= 1000):
            raise RequestError("limit: Input should be a valid integer from 1 to 1000")
        return cls(int(limit), values.get("after_id", [""])[-1], values.get("before_id", [""])[-1])

    def cut(self, models: Sequence[Model]) -> tuple[Sequence[Model], bool]:
        """The page, and whether the list goes on beyond it in the direction of reading."""
        if self.before_id:
            end = _position(models, "before_id", self.before_id)
            return models[max(0, end - self.limit) : end], end > self.limit
        start = _position(models, "after_id", self.after_id) + 1 if self.after_id else 0
        return models[start : start + self.limit], start + self.limit < len(models)


@attrs.define(eq=False)
class ModelsAnswer(JSONAnswer):
    """Lists the models that were fed, or tells about the one that the request names."""

    request: Request
    _models: dict[str, Model] = attrs.field(init=False, factory=dict)

    def feed(self, deltas: Sequence[Delta]) -> bytes:
        """Keep the models, of equal ids the first; always b""."""
        for delta in deltas:
            if isinstance(delta, Model):
                self._models.setdefault(delta.id, delta)
        return b""

    def finish(self) -> bytes:
        """The list's page or the one ModelInfo. Raises RequestError: `not_found` for an unknown model, bad paging."""
        if self.request.model:
            model = self._models.get(self.request.model)
            if model is None:
                raise RequestError(f"model: {self.request.model}", kind="not_found")
            return dumps(model_value(model))
        page, more = Page.of(self.http.query).cut(list(self._models.values()))
        return dumps(
            {
                "data": [model_value(model) for model in page],
                "has_more": more,
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
            }
        )


def _position(models: Sequence[Model], field: str, model_id: str) -> int:
    for index, model in enumerate(models):
        if model.id == model_id:
            return index
    raise RequestError(f"{field}: no model has the id {model_id!r}")
