"""The rules of the backend's table and of the plugin's options: what the operator writes is what happens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
import httpx

from core.errors import ConfigError
from core.loader.discovery import Catalogue
from core.testing.answers import dump
from core.testing.assemble import Assembly
from core.testing.fold_checks import need
from core.testing.kit.bench import Bench
from core.testing.kit.expect import check_all, same
from core.testing.kit.facts import EngineFacts
from core.testing.kit.rule import Rule, rule, unless
from core.testing.kit.upstream import Client, Upstream

_SECRET: Final = re.compile(
    r"(?:^|_)(?:api_?key|secret|password|passwd|credentials?|(?:access|auth|bearer)_token)$|^token$"
)
"""What the names of secrets end in."""


def _requests(
    bench: Bench, backend: Mapping[str, Any], path: str = "/v1/messages", **fields: Any
) -> tuple[Upstream, Client]:
    """What reaches the upstream of one request under such a table, and what the client gets."""
    counted = {"count": 42, "input_tokens": 42, "tokenize_response": {"tokens": [0] * 42}}

    def reply(body: Any) -> list[bytes]:
        if not str(upstream.asked[-1].request.url.path).endswith(bench.facts.path):
            return [dump(counted).encode()]
        return [bench.engine.wire(bench.engine.answer(text="One."), stream=bool(body.get("stream")))]

    upstream = bench.upstream(reply)
    return upstream, bench.ask(upstream, backend, path=path, **fields)


def _address(facts: EngineFacts) -> str:
    return ", ".join(filter(None, (unless(key_header=...)(facts), unless(path=...)(facts))))


@rule(hint=_address)
def the_address_is_the_tables(bench: Bench) -> None:
    """The request goes to the table's `url` and `query`, with its `key` in the engine's header and its `headers`."""
    table = {
        "url": "http://engine.invalid:9000/base/v1",
        "key": "parrot-key-1",
        "headers": {"x-team": "birds"},
        "query": {"version": "7"},
    }
    upstream, _ = _requests(bench, table)
    need(len(upstream.asked) == 1, f"{len(upstream.asked)} requests reached the backend's own connections, not 1")
    request = upstream.asked[0].request
    same("request", "address", str(request.url), f"{table['url']}{bench.facts.path}?version=7")
    header = bench.facts.key_header
    wanted = "Bearer parrot-key-1" if header == "authorization" else "parrot-key-1"
    same("request", f"header {header}", request.headers.get(header), wanted)
    same("request", "header x-team", request.headers.get("x-team"), "birds")


@rule()
def extra_body_is_merged(bench: Bench) -> None:
    """The table's `extra_body` is in every request, and wins."""
    upstream, _ = _requests(bench, {"extra_body": {"seed": 7, "temperature": 0.5}}, temperature=1.0)
    body = upstream.asked[0].body
    same("body", "extra field `seed`", body.get("seed"), 7)
    same("body", "temperature of extra_body", body.get("temperature"), 0.5)


@rule()
def the_dialect_can_be_overridden(bench: Bench) -> None:
    """Single fields of the dialect that the table names take the place of the plugin's."""
    other = "max_completion_tokens" if bench.facts.max_tokens_field == "max_tokens" else "max_tokens"
    body = bench.sent({"max_tokens": 321}, bench.assembly({"max_tokens_field": other, "allowed_fields": []}))
    same("body", f"token limit under {other!r}", body.get(other), 321)
    need(bench.facts.max_tokens_field not in body, "the token limit is sent under the overridden field, too")


@rule()
def the_tables_stream_holds(bench: Bench) -> None:
    """`stream = "always"` and `"never"` hold, whatever the client asks; `"auto"` follows the client."""
    for setting, asked, wanted in (
        ("always", False, True),
        ("never", True, False),
        ("auto", True, True),
        ("auto", False, False),
    ):
        upstream, client = _requests(bench, {} if setting == "auto" else {"stream": setting}, stream=asked)
        place = f"stream = {setting!r}, client {'streams' if asked else 'does not stream'}"
        same(place, "field `stream`", bool(upstream.asked[0].body.get("stream")), wanted)
        need(b"One." in client.body, f"{place}: the answer did not arrive: {client.body[:120]!r}")


@rule()
def counting_generates_nothing(bench: Bench) -> None:
    """Counting a prompt asks the engine's tokenizer, or nobody; never a generation."""
    upstream, client = _requests(bench, {}, "/v1/messages/count_tokens", max_tokens=None)
    paths = [asked.request.url.path for asked in upstream.asked]
    need(not any(path.endswith(bench.facts.path) for path in paths), "counting a prompt sent a chat request")
    need(client.status == 200, f"counting a prompt failed: {client.body[:160]!r}")
    if bench.facts.count:
        same("counting", "count", client.body, b'{"input_tokens":42}')


@rule()
def no_stop_sequence_is_dropped_in_silence(bench: Bench) -> None:
    """More stop sequences than the engine takes are found by the backend, or refused; never are only some sent."""
    stops = [f"<end-{number}>" for number in range(40)]
    upstream, client = _requests(bench, {}, stop_sequences=stops)
    sent = upstream.asked[0].body.get(bench.facts.stops_field) or [] if upstream.asked else []
    need(sent in ([], stops), f"of {len(stops)} stop sequences {len(sent)} were sent, and the client was not told")
    need(bool(upstream.asked) or 400 <= client.status < 500, f"40 stop sequences are answered by {client.status}")


@rule()
def an_unreachable_engine_is_not_the_clients_fault(bench: Bench) -> None:
    """An engine that cannot be reached is an error of the server's side."""

    async def unreachable() -> None:
        raise httpx.ConnectError("refused")

    async def run() -> Client:
        client = Client(bench.assembly().gateway(Upstream(lambda _: [], hold=unreachable)))
        await client.ask()
        return client

    client = bench.run(run)
    need(client.status >= 500, f"an engine that cannot be reached is told as {client.status}: {client.body[:160]!r}")


@rule()
def unknown_options_are_refused(bench: Bench) -> None:
    """An option that the plugin does not have, or one of another type, stops the start; each has a type that can."""
    name, cls = _plugin(bench)
    mine = dict(bench.options.get(name) or {})
    _check_refused(bench, name, {**mine, "no_such_option": 1}, "no_such_option")
    for field in _options(cls):
        typed = field.type not in (Any, "Any", "typing.Any", "object", object, None)
        need(typed, f"option {field.name!r} has no type that says what it takes")
        if field.type in ("str", str, "int", int, "float", float, "bool", bool):
            _check_refused(bench, name, {**mine, field.name: {"a": []}}, field.name)


def _check_refused(bench: Bench, name: str, table: Mapping[str, Any], key: str) -> None:
    try:
        Assembly(bench.plugins, {**bench.options, name: table})
    except ConfigError as error:
        need(key in str(error), f"the refusal of option {key!r} does not name it: {error}")
    else:
        raise AssertionError(f"option {key!r} was taken, though the plugin cannot have it")


@rule()
def secret_options_are_secrets(bench: Bench) -> None:
    """An option that is a secret by its name has the type `core.Secret`, so that it is masked wherever it is shown."""
    for field in _options(_plugin(bench)[1]):
        plain = field.type in ("str", str, "str | None", str | None) and _SECRET.search(field.name)
        need(not plain, f"option {field.name!r} is plain text, which is shown wherever the plugin is: make it a Secret")


@rule()
def options_that_name_fields_are_used(bench: Bench) -> None:
    """An option whose default is a field of the engine's names that field: another value names another field."""
    name, cls = _plugin(bench)
    facts = bench.facts
    for field in _options(cls):
        for fact in ("reasoning_field", "stop_field"):
            if field.default and field.default == getattr(facts, fact):
                named: dict[str, Any] = {fact: "another_field"}
                changed: EngineFacts = attrs.evolve(facts, reasoning_also=(), **named)
                other = Bench(bench.plugins, changed, {**bench.options, name: {field.name: "another_field"}})
                ask = {"stop_sequences": ["END"]}
                answer = other.engine.stopped("END", text="One", reasoning="Hm.")
                stop = ("stop_sequence", "END") if facts.reports_match else None
                check_all(other.serve(answer, request=ask), answer, changed, stop)


def _plugin(bench: Bench) -> tuple[str, type]:
    """The engine's plugin: the name of its options, and its class."""
    first = bench.plugins[0]
    if isinstance(first, str):
        return first, Catalogue.installed().find(first)
    cls = first if isinstance(first, type) else type(first)
    return cls.__name__, cls


def _options(cls: type) -> list[attrs.Attribute[Any]]:
    return [field for field in attrs.fields(cls) if field.init] if attrs.has(cls) else []


RULES: Final[tuple[Rule, ...]] = (
    the_address_is_the_tables,
    extra_body_is_merged,
    the_dialect_can_be_overridden,
    the_tables_stream_holds,
    counting_generates_nothing,
    no_stop_sequence_is_dropped_in_silence,
    an_unreachable_engine_is_not_the_clients_fault,
    unknown_options_are_refused,
    secret_options_are_secrets,
    options_that_name_fields_are_used,
)
