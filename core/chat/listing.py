"""The models that an upstream itself lists at `GET …/models`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.chat.address import api_root
from core.chat.client import UpstreamClient
from core.chat.text import loads
from core.chat.transport import NETWORK_ERRORS, network_error
from core.deltas import Model
from core.errors import UpstreamError


async def served_models(client: UpstreamClient) -> list[Model]:
    """The backend's models by their own names, with the window where the engine tells it.

    vLLM and SGLang tell it as `max_model_len`, llama.cpp in `meta.n_ctx`, OpenRouter as `context_length`, Groq as
    `context_window`. Raises UpstreamError when there is no such list.
    """
    if not client.backend.url:
        return []
    root = api_root(client.backend.url, client.path)
    url = root.copy_with(path=root.path.rstrip("/") + "/models").copy_merge_params(dict(client.backend.query))
    try:
        response = await client.http.get(url)
    except NETWORK_ERRORS as error:
        raise network_error(error) from error
    if not response.is_success:
        raise UpstreamError(f"the upstream answered {response.status_code} to the question for its models", status=502)
    try:
        answer = loads(response.content)
    except ValueError as error:
        raise UpstreamError("the upstream's list of models is not JSON", status=502) from error
    listed = answer.get("data") if isinstance(answer, dict) else answer
    return [_model(each) for each in listed if isinstance(each, dict) and each.get("id")] if listed else []


def _model(each: Mapping[str, Any]) -> Model:
    meta = each.get("meta")
    told = [each.get(key) for key in ("max_model_len", "context_length", "context_window")]
    told += [meta.get(key) for key in ("n_ctx", "n_ctx_train")] if isinstance(meta, dict) else []
    context = next((size for size in told if isinstance(size, int) and size > 0), None)
    created = each.get("created")
    return Model(str(each["id"]), created=created if isinstance(created, int) and created > 0 else 0, context=context)
