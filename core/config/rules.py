"""Rules that types cannot say, on the values of a configuration and between its tables; a breach is a TableError."""

from __future__ import annotations

import math
import re
import ssl
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from core.config.faults import TableError, did_you_mean, dotted
from core.config.urls import check_api_url, check_url
from core.config.values import BackendConfig, PipelineConfig, Secret, ServerConfig

_ENDPOINTS: Final = ("messages", "models")
"""What clients add to the path of a pipeline: below such a one they would find nothing."""
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "host"})
_LEAST: Final = {"max_stops": 0, "tool_name_limit": 11}
"""The least that a number of the dialect may be: the alias of a tool's name ends in a hash of eleven characters."""
_TOOL_CHOICES: Final = ("auto", "any", "tool", "none")


def check_pipeline(pipeline: PipelineConfig) -> PipelineConfig:
    """The pipeline with its paths normalised ("/v1/" is "/v1", "/" is ""). Raises TableError."""
    if not pipeline.paths:
        raise TableError("is empty", key="paths", hint='name where the pipeline is mounted: paths = ["/v1"]')
    if not pipeline.plugins:
        raise TableError("is empty", key="plugins", hint='name the front: plugins = ["anthropic", "models"]')
    _no_duplicates(pipeline.plugins, "plugins")
    for name in pipeline.options:
        if name not in pipeline.plugins:
            raise TableError(
                f"no plugin {name!r} is listed here",
                key=dotted(name),
                hint=did_you_mean(name, {*pipeline.plugins, "paths", "plugins"}),
            )
    return attrs.evolve(pipeline, paths=tuple(_path(path) for path in pipeline.paths))


def check_backend(backend: BackendConfig, folder: Path) -> BackendConfig:
    """The backend with `ca` resolved against `folder`, the file's own. Raises TableError."""
    if not backend.plugins:
        raise TableError("is empty", key="plugins", hint='name the engine\'s plugin: plugins = ["openai"]')
    wraps = backend.wraps or ()
    _no_duplicates(backend.plugins, "plugins")
    _no_duplicates((*backend.plugins, *wraps), "wraps")
    for key in ("connect_timeout", "first_timeout", "read_timeout", "total_timeout", "queue_timeout"):
        _check_seconds(backend, key)
    for key in ("max_concurrent", "max_queue"):
        _check_least(backend, key, 0)
    if backend.url:
        check_api_url(backend.url)
    if backend.proxy is not None:
        check_url(backend.proxy.reveal(), "proxy")
    _check_headers(backend)
    return attrs.evolve(backend, ca=_checked_ca(folder / backend.ca)) if backend.ca else backend


def check_server(server: ServerConfig) -> ServerConfig:
    """The table as it is. Raises TableError."""
    for key in ("body_timeout", "client_timeout", "ping_interval"):
        _check_seconds(server, key)
    for key in ("drain_grace", "drain_timeout"):
        seconds = getattr(server, key)
        if not (seconds >= 0 and math.isfinite(seconds)):
            raise TableError(f"expected seconds from 0 up, got {seconds:g}", key=key)
    for key in ("max_body", "max_concurrent"):
        _check_least(server, key, 1)
    return server


def _check_seconds(table: BackendConfig | ServerConfig, key: str) -> None:
    value = getattr(table, key)
    if not (value > 0 and math.isfinite(value)):
        raise TableError(f"expected seconds above 0, got {value:g}", key=key)


def _check_least(table: BackendConfig | ServerConfig, key: str, least: int) -> None:
    value = getattr(table, key)
    if value < least:
        raise TableError(f"expected a number from {least} up, got {value}", key=key)


def check_dialect(dialect: Mapping[str, Any]) -> None:
    """Refuse values of single dialect fields that no request could be made with. Raises TableError."""
    for key, least in _LEAST.items():
        value = dialect.get(key)
        if value is not None and value < least:
            raise TableError(f"expected a number from {least} up, got {value}", key=key)
    if dialect.get("max_tokens_field") == "":
        raise TableError("is empty", key="max_tokens_field", hint="name the field, or take the key away")
    for mode in dialect.get("tool_choice", ()):
        if mode not in _TOOL_CHOICES:
            wanted = ", ".join(map(repr, _TOOL_CHOICES))
            raise TableError(f"expected some of {wanted}, got {mode!r}", key="tool_choice")


def check_pipelines(pipelines: Sequence[PipelineConfig], backends: Iterable[BackendConfig]) -> None:
    """Rules between tables: paths are mounted once, a plugin is in a pipeline or in a backend. Raises TableError."""
    mounted: dict[str, str] = {}
    front: dict[str, str] = {}
    for pipeline in pipelines:
        for path in pipeline.paths:
            if path in mounted:
                here, there = dotted("pipelines", pipeline.name), dotted("pipelines", mounted[path])
                where = "twice" if here == there else f"in [{there}], too"
                raise TableError(f"{path or '/'!r} is listed {where}", table=here, key="paths", hint="keep one of them")
            mounted[path] = pipeline.name
        front.update(dict.fromkeys(pipeline.plugins, pipeline.name))
    for backend in backends:
        for name in (*backend.plugins, *(backend.wraps or ())):
            if name in front:
                there, here = dotted("pipelines", front[name]), dotted("backends", backend.name)
                key = "plugins" if name in backend.plugins else "wraps"
                raise TableError(
                    f"plugin {name!r} is listed in [{there}], too", table=here, key=key, hint="keep one of them"
                )


def _path(path: str) -> str:
    short = path.rstrip("/")
    if not path.startswith("/") or not _PATH.fullmatch(short):
        raise TableError(f"not a path: {path!r}", key="paths", hint='a path is like "/v1"')
    before, _, last = short.rpartition("/")
    if last in _ENDPOINTS:
        hint = f"mount the pipeline at {before or '/'!r}, and /{last} is below it"
        raise TableError(f"{path!r} is the address of an endpoint", key="paths", hint=hint)
    return short


def _no_duplicates(names: Sequence[str], key: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"{name!r} is listed twice", key=key)


def _checked_ca(ca: Path) -> str:
    if not ca.is_file():
        raise TableError(f"no such file: {ca}", key="ca")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    hint = "name a file of certificates in PEM form"
    try:
        context.load_verify_locations(ca)
    except ssl.SSLError as error:
        raise TableError(f"{ca} holds no certificate, or a broken one", key="ca", hint=hint) from error
    except OSError as error:
        raise TableError(f"{ca} cannot be read: {error.strerror}", key="ca") from error
    if not context.cert_store_stats()["x509"]:
        raise TableError(f"{ca} holds no certificate", key="ca", hint=hint)
    return str(ca)


def _check_headers(backend: BackendConfig) -> None:
    if backend.key is not None:
        _check_value(backend.key, "key")
        if not backend.key.reveal():
            raise TableError("is empty", key="key", hint="take it away")
    for name, value in backend.headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise TableError("not a header's name", key=dotted("headers", name))
        if name.lower() in _OURS:
            raise TableError("is set for each request", key=dotted("headers", name), hint="take it away")
        _check_value(value, dotted("headers", name))


def _check_value(value: Secret, key: str) -> None:
    if not _HEADER_VALUE.fullmatch(value.reveal()):
        raise TableError("holds a character that no header can carry (a line break or a letter beyond ASCII)", key=key)
