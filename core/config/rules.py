"""Rules that types cannot say, on the values of a configuration and between its tables; a breach is a TableError."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import attrs

from core.config.faults import TableError, did_you_mean, dotted
from core.config.values import BackendConfig, PipelineConfig, Secret

_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e\t]*")
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "host"})


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
    _no_duplicates((*backend.plugins, *(backend.wraps or ())), "plugins")
    for key in ("connect_timeout", "read_timeout", "total_timeout"):
        value = getattr(backend, key)
        if not (value > 0 and math.isfinite(value)):
            raise TableError(f"expected seconds above 0, got {value:g}", key=key)
    if backend.url:
        _check_url(backend.url, "url")
        if "@" in urlsplit(backend.url).netloc:
            raise TableError("holds a user name, which logs would show", key="url", hint="use 'key' or 'headers'")
    if backend.proxy is not None:
        _check_url(backend.proxy.reveal(), "proxy")
    _check_headers(backend)
    if not backend.ca:
        return backend
    ca = folder / backend.ca
    if not ca.is_file():
        raise TableError(f"no such file: {ca}", key="ca")
    return attrs.evolve(backend, ca=str(ca))


def check_pipelines(pipelines: Sequence[PipelineConfig], backends: Iterable[BackendConfig]) -> None:
    """Rules between tables: paths are mounted once, a plugin is in a pipeline or in a backend. Raises TableError."""
    mounted: dict[str, str] = {}
    front: dict[str, str] = {}
    for pipeline in pipelines:
        for path in pipeline.paths:
            if path in mounted:
                both = dict.fromkeys([dotted("pipelines", mounted[path]), dotted("pipelines", pipeline.name)])
                raise TableError(
                    f"the path {path or '/'!r} is mounted twice: in {' and in '.join(f'[{t}]' for t in both)}"
                )
            mounted[path] = pipeline.name
        front.update(dict.fromkeys(pipeline.plugins, pipeline.name))
    for backend in backends:
        for name in (*backend.plugins, *(backend.wraps or ())):
            if name in front:
                there, here = dotted("pipelines", front[name]), dotted("backends", backend.name)
                raise TableError(f"plugin {name!r} is listed in both [{there}] and [{here}]", hint="keep one of them")


def _path(path: str) -> str:
    short = path.rstrip("/")
    if not path.startswith("/") or not _PATH.fullmatch(short):
        raise TableError(f"not a path: {path!r}", key="paths", hint='a path is like "/v1"')
    return short


def _no_duplicates(names: Sequence[str], key: str) -> None:
    for name in names:
        if names.count(name) > 1:
            raise TableError(f"{name!r} is listed twice", key=key)


def _check_url(url: str, key: str) -> None:
    """Never shows the URL: it may hold a password."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound or any(character.isspace() for character in url):
        raise TableError("not a URL of the form http://HOST[:PORT][/PATH] or https://…", key=key)


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
