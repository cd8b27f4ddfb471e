"""Values as JSON, whatever strings a model or an upstream put into them."""

from __future__ import annotations

from typing import Any

import orjson


def dumps(value: Any) -> bytes:
    """JSON in UTF-8. A lone surrogate, which UTF-8 cannot say, becomes U+FFFD."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return orjson.dumps(_mended(value))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mended(item) for item in value]
    return value
