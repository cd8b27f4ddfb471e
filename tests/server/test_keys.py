"""Client keys at a real server's door: attacked by header, by number and by file, and looked for where none may be."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import attrs
import httpx
import pytest

from core.testing import MockUpstream, UpstreamAnswer, UpstreamReply
from plugins.keys.book import Book
from plugins.keys.entry import Key
from plugins.keys.key_file import KeyFile
from plugins.keys.ledger import Counts
from plugins.keys.token import Token
from tests.plugins.keys.samples import made, written
from tests.plugins.metrics.samples import parsed, value
from tests.plugins.tracing.collector import collector
from tests.server.processes import wait_until
from tests.server.serve import Serve, serve

TABLES = """
[pipelines.guarded]
paths = ["/g"]
plugins = ["anthropic", "models", "keys", "capture", "access_log", "metrics", "tracing"]
[models]
"m" = {{ backend = "up", model = "real" }}
"*" = {{ backend = "up" }}
[backends.up]
plugins = ["vllm"]
url = "{upstream}"
key = "sk-the-upstreams-own-key"
[tracing]
endpoint = "{collector}"
"""
ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}


@attrs.frozen
class Stage:
    """A server with keys in front of a scripted upstream."""

    served: Serve
    upstream: MockUpstream
    folder: Path
    traces: list[tuple[dict[str, str], bytes]]

    @property
    def url(self) -> str:
        return f"{self.served.url}/g/messages"

    @property
    def keys(self) -> KeyFile:
        return KeyFile(self.folder / "keys.json")

    def ask(self, token: Token | str, **more: Any) -> httpx.Response:
        key = token if isinstance(token, str) else token.text
        return httpx.post(self.url, headers={"x-api-key": key}, json={**ASKED, **more}, timeout=30, verify=False)

    def raw(self, *headers: bytes) -> tuple[int, dict[str, Any], bytes]:
        """A request with just these headers, on a connection of its own: status, JSON, and the whole answer."""
        body = json.dumps(ASKED).encode()
        lines = [b"POST /g/messages HTTP/1.1", b"host: h", b"connection: close", b"content-length: %d" % len(body)]
        with socket.create_connection(("127.0.0.1", self.served.port), timeout=30) as sock:
            sock.sendall(b"\r\n".join([*lines, *headers, b"", body]))
            answer = b"".join(iter(lambda: sock.recv(65536), b""))
        head, _, content = answer.partition(b"\r\n\r\n")
        return int(head.split(b" ")[1]), json.loads(content) if content.startswith(b"{") else {}, answer


@contextmanager
def stage(folder: Path, *keys: Key, workers: int = 1, script: tuple[Any, ...] = ()) -> Iterator[Stage]:
    written(folder / "keys.json", *keys)
    upstream = MockUpstream(*(script or (UpstreamAnswer(text="Hello."),)))
    with upstream.in_thread(), collector() as (endpoint, got):
        tables = TABLES.format(upstream=upstream.url, collector=endpoint)
        with serve(folder, "--workers", str(workers), tables=tables, environ={"TMPDIR": str(folder)}) as served:
            yield Stage(served, upstream, folder, got)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, Token]]:
    """A server of one worker with one key without limits."""
    key, token = made("alone")
    with stage(tmp_path_factory.mktemp("keys"), key) as here:
        yield here, token


def test_headers_of_all_kinds(alone: tuple[Stage, Token]) -> None:
    here, token = alone
    key = token.text.encode()
    wrong = Token(token.id, b"x" * 43).text.encode()
    lets_in = [
        [b"x-api-key: " + key],
        [b"X-API-KEY:\t" + key + b"  "],
        [b"authorization: Bearer " + key],
        [b"Authorization: bearer  " + key],
        [b"x-api-key: " + key, b"authorization: Bearer " + key],
        [b"x-api-key: " + key, b"x-api-key: " + key],
        [b"x-api-key: ", b"authorization: Bearer " + key],
    ]
    for headers in lets_in:
        assert here.raw(*headers)[0] == 200, headers
    keeps_out = [
        [],
        [b"x-api-key:"],
        [b"x-api-key:   \t "],
        [b"x-api-key: " + key[:-1]],
        [b"x-api-key: " + key + b"x"],
        [b"x-api-key: " + key.upper()],
        [b"x-api-key: " + key + b", " + key],
        [b"x-api-key: " + wrong],
        [b"x-api-key: " + key, b"x-api-key: " + wrong],
        [b"x-api-key: " + wrong, b"x-api-key: " + key],
        [b"x-api-key: " + wrong, b"authorization: Bearer " + key],
        [b"x-api-key: \xff\xfe\xe9"],
        [b"x-api-key: " + "ключ".encode()],
        [b"x-api-key: Bearer " + key],
        [b"authorization: " + key],
        [b"authorization: Basic " + key],
        [b"authorization: Bearer"],
        [b"x_api_key: " + key],
        [b"x-api-key: hl-"],
        [b"x-api-key: hl--" + token.secret],
        [b"x-api-key: hl-" + token.id.encode() + b"-"],
        [b"x-api-key: " + b"k" * 60_000],
        [b"x-api-key: hl-" + token.id.encode() + b"-" + b"k" * 60_000],
    ]
    before = len(here.upstream.exchanges)
    for headers in keeps_out:
        status, answer, whole = here.raw(*headers)
        assert (status, answer["error"]["type"]) == (401, "authentication_error"), headers
        assert b"\r\nx-should-retry: false\r\n" in whole
        assert token.secret not in whole
    assert len(here.upstream.exchanges) == before


def test_an_unknown_key_and_a_wrong_one_are_told_the_same(alone: tuple[Stage, Token]) -> None:
    here, token = alone
    wrong, unknown = here.ask(Token(token.id, b"x" * 43)), here.ask(made()[1])
    said = [{**answer.json(), "request_id": ""} for answer in (wrong, unknown)]
    assert said[0] == said[1]
    names = [sorted(name for name in answer.headers if name != "date") for answer in (wrong, unknown)]
    assert names[0] == names[1]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/g/models", 401),
        ("GET", "/g/models/m", 401),
        ("POST", "/g/messages/count_tokens", 401),
        ("POST", "/g/nothing", 401),
        ("GET", "/g/messages", 401),
        ("OPTIONS", "/g/messages", 401),
        ("HEAD", "/g/models", 401),
        ("DELETE", "/g/models/m", 401),
        ("HEAD", "/", 200),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
    ],
)
def test_what_is_behind_the_door_and_what_is_not(
    alone: tuple[Stage, Token], method: str, path: str, status: int
) -> None:
    here, _ = alone
    assert httpx.request(method, here.served.url + path, timeout=30, verify=False).status_code == status


@pytest.mark.parametrize("length", [b"content-length: 20000000", b"transfer-encoding: chunked"])
def test_who_is_refused_is_not_listened_to(alone: tuple[Stage, Token], length: bytes) -> None:
    """The answer is there before any of the body is."""
    here, _ = alone
    with socket.create_connection(("127.0.0.1", here.served.port), timeout=10) as sock:
        sock.sendall(b"\r\n".join([b"POST /g/messages HTTP/1.1", b"host: h", length, b"", b""]))
        answer = b"".join(iter(lambda: sock.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"\r\nconnection: close\r\n" in answer


def test_a_clients_key_is_nowhere_and_the_upstreams_does_not_come_back(tmp_path: Path) -> None:
    key, token = made("ci")
    _, stranger = made()
    with stage(tmp_path, key, script=(UpstreamAnswer(text="Hello."),)) as here:
        for sent in (token, stranger):
            text = sent.text
            agents = {"x-api-key": text, "user-agent": f"cli/{text}", "x-note": text, "traceparent": text}
            body = {**ASKED, "model": text, "metadata": {"user_id": text}, "stop_sequences": [text]}
            root = here.served.url
            answers = [
                here.ask(sent),
                httpx.post(here.url, headers={"authorization": f"Bearer {text}"}, json=ASKED, timeout=30, verify=False),
                httpx.post(f"{here.url}?key={text}&x={text}", headers=agents, json=ASKED, timeout=30, verify=False),
                httpx.post(here.url, headers=agents, json=body, timeout=30, verify=False),
                httpx.post(here.url, json=body, timeout=30, verify=False),
                httpx.post(f"{root}/g/{text}/messages", headers=agents, json=ASKED, timeout=30, verify=False),
                httpx.post(f"{root}/{text}", json=ASKED, timeout=30, verify=False),
                httpx.get(f"{root}/g/models/{text}", timeout=30, verify=False),
                httpx.get(f"{root}/g/models/{text}", headers=agents, timeout=30, verify=False),
            ]
            assert not any("sk-the-upstreams" in answer.text + str(answer.headers) for answer in answers)
        page = httpx.get(f"{here.served.url}/metrics", timeout=30, verify=False).content
        assert here.served.end() == 0
        for exchange in here.upstream.exchanges:
            assert token.secret.decode() not in str((exchange.headers, exchange.path))
            assert exchange.headers["authorization"] == "Bearer sk-the-upstreams-own-key"
        plain = [exchange for exchange in here.upstream.exchanges if exchange.json["model"] == "real"]
        assert len(plain) == 3
        assert not any(token.secret in exchange.body for exchange in plain)
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert any("captured" in path.parts for path in files)
        wholes = {str(path): path.read_bytes() for path in files} | {"/metrics": page}
        wholes |= {f"trace {number}": body for number, (_, body) in enumerate(here.traces)}
        for sent in (token, stranger):
            assert [place for place, data in wholes.items() if sent.secret in data] == []
        assert b'"key":"ci"' in here.served.log.read_bytes().replace(b": ", b":")
        assert value(parsed(page), "hookline_key_requests_total", key="ci", outcome="end_turn") >= 3


def test_models_that_a_key_may_not_use_are_not_there(tmp_path: Path) -> None:
    key, token = made(models=("m", "claude-*"))
    with stage(tmp_path, key) as here:
        root, headers = f"{here.served.url}/g", {"x-api-key": token.text}
        for model, status in (("m", 200), ("claude-x", 200), ("other", 404), ("M", 404), ("m ", 404), ("*", 404)):
            assert here.ask(token, model=model).status_code == status, model
            counted = httpx.post(f"{root}/messages/count_tokens", json={**ASKED, "model": model}, headers=headers)
            assert counted.status_code == status, model
        assert [httpx.get(f"{root}/models/{name}", headers=headers).status_code for name in ("m", "b")] == [200, 404]
        asked = [each.json["model"] for each in here.upstream.exchanges if each.path.endswith("/completions")]
        assert set(asked) == {"real", "claude-x"}


def test_a_burst_gets_what_the_rate_allows_and_not_one_more(tmp_path: Path) -> None:
    key, token = made(requests_per_minute=7)
    with stage(tmp_path, key) as here, ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: here.ask(token), range(40)))
        assert Counter(answer.status_code for answer in answers) == {200: 7, 429: 33}
        refused = next(answer for answer in answers if answer.status_code == 429)
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert refused.headers["x-should-retry"] == "true"
        assert len(here.upstream.exchanges) == 7


def test_requests_at_once_and_a_client_that_leaves(tmp_path: Path) -> None:
    key, token = made(max_concurrent=3)
    gate = anyio.Event()
    text = "many words " * 20
    held = UpstreamReply.answer(UpstreamAnswer(text=text), stream=True, hold=gate, hold_at=2000)
    with stage(tmp_path, key, script=(held, held, held, UpstreamAnswer(text="Hello."))) as here:
        sockets = [open_stream(here, token) for _ in range(3)]
        wait_until(lambda: len(here.upstream.exchanges) == 3)
        refused = here.ask(token)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        for sock in sockets:
            sock.close()
        wait_until(lambda: here.ask(token).status_code == 200)
        here.upstream.portal.call(gate.set)
        wait_until(lambda: used(here, key).output > 3)
        assert used(here, key).input > 0


def open_stream(here: Stage, token: Token) -> socket.socket:
    """A stream that has begun."""
    body = json.dumps({**ASKED, "stream": True}).encode()
    head = f"POST /g/messages HTTP/1.1\r\nhost: h\r\nx-api-key: {token.text}\r\ncontent-length: {len(body)}\r\n\r\n"
    sock = socket.create_connection(("127.0.0.1", here.served.port), timeout=30)
    sock.sendall(head.encode() + body)
    assert sock.recv(12) == b"HTTP/1.1 200"
    return sock


def used(here: Stage, key: Key) -> Counts:
    """What the file says."""
    total = Counts()
    if (path := here.folder / "usage.sqlite3").exists():
        book = Book(path)
        for row in book.rows(0):
            if row.key == key.id:
                total.add(row.counts)
        book.close()
    return total


def test_a_revoked_key_is_out_at_every_worker_and_a_new_one_in(tmp_path: Path) -> None:
    key, token = made("old")
    new, other = made("new")
    with stage(tmp_path, key, workers=2) as here:
        assert here.ask(token).status_code == 200
        here.keys.change(lambda keys: (attrs.evolve(keys[0], revoked=keys[0].created or made_at()), new))
        wait_until(lambda: {here.ask(token).status_code for _ in range(6)} == {401}, seconds=5)
        wait_until(lambda: {here.ask(other).status_code for _ in range(6)} == {200}, seconds=5)
        here.keys.path.write_text("{ broken")
        wait_until(lambda: len(here.served.lines("keys stay as they were")) == 2)
        assert {here.ask(other).status_code for _ in range(6)} == {200}
        here.keys.path.write_text('{"format": 1, "keys": []}')
        wait_until(lambda: {here.ask(other).status_code for _ in range(6)} == {401}, seconds=5)


def made_at() -> Any:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime.now(UTC)


def test_two_workers_share_rate_budget_and_books(tmp_path: Path) -> None:
    rated, one = made("rated", requests_per_minute=4)
    spent, two = made("spent", budget_tokens=30, budget_period="total")
    with stage(tmp_path, rated, spent, workers=2) as here, ThreadPoolExecutor(8) as pool:
        for token in (one, two):
            wait_until(lambda token=token: here.ask(token).status_code == 429)  # type: ignore[misc]
            wait_until(lambda token=token: statuses(pool, here, token) == {429})  # type: ignore[misc]
        refused = here.ask(two)
        assert refused.headers["x-should-retry"] == "false"
        assert "retry-after" not in refused.headers
        passed = [exchange for exchange in here.upstream.exchanges if exchange.outcome == "served"]
        assert here.served.end() == 0
        counts = [used(here, key) for key in (rated, spent)]
        assert sum(each.requests for each in counts) == len(passed)
        assert counts[1].input + counts[1].output >= 30
        assert all(each.refused > 0 for each in counts)


def statuses(pool: ThreadPoolExecutor, here: Stage, token: Token) -> set[int]:
    return {answer.status_code for answer in pool.map(lambda _: here.ask(token), range(12))}


def test_a_restart_does_not_give_a_new_minute(tmp_path: Path) -> None:
    key, token = made(requests_per_minute=2)
    for expected in ([200, 200, 429], [429, 429, 429]):
        with stage(tmp_path, key) as here:
            assert [here.ask(token).status_code for _ in range(3)] == expected
            assert here.served.end() == 0


def test_the_door_stays_shut_without_keys(tmp_path: Path) -> None:
    tables = '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'
    with serve(tmp_path, "--bind", "0.0.0.0:0", tables=tables) as served:
        assert served.process.wait(20) == 1
        (line,) = served.log.read_text().splitlines()
        assert "--bind 0.0.0.0:0 is open to other machines, and pipeline 'messages' asks for no keys;" in line
    with serve(tmp_path, "--bind", "0.0.0.0:0", "--without-keys", tables=tables) as served:
        assert served.end() == 0


def test_a_reload_does_not_open_the_door(tmp_path: Path) -> None:
    key, token = made()
    written(tmp_path / "keys.json", key)
    rest = '[models]\n"m" = { backend = "d" }\n[backends.d]\nplugins = ["demo"]\n'
    guarded = '[pipelines.messages]\npaths = ["/v1"]\nplugins = ["anthropic", "models", "keys"]\n' + rest
    path = tmp_path / "pipelines.toml"
    command = [str(Path(sys.executable).with_name("hookline")), "serve", "--bind", "0.0.0.0:0"]
    log = tmp_path / "log"
    path.write_text(guarded)
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out, start_new_session=True)
    try:
        wait_until(lambda: b"\ntry: " in log.read_bytes(), seconds=60)
        path.write_text(guarded.replace(', "keys"', ""))
        wait_until(lambda: b"reload failed" in log.read_bytes())
        assert b"is open to other machines, and pipeline" in log.read_bytes()
        found = re.search(rb" on 0\.0\.0\.0:(\d+)", log.read_bytes())
        assert found
        url = f"http://127.0.0.1:{int(found[1])}/v1/messages"
        assert httpx.post(url, json=ASKED, timeout=30).status_code == 401
        assert httpx.post(url, json=ASKED, headers={"x-api-key": token.text}, timeout=30).status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0


def test_many_that_come_at_once_with_many_keys(tmp_path: Path) -> None:
    pairs = [made(f"k{number}", max_concurrent=2) for number in range(5)]
    with stage(tmp_path, *(key for key, _ in pairs)) as here:
        failures: list[int] = []

        def work(token: Token) -> None:
            for _ in range(10):
                status = here.ask(token).status_code
                if status != 200:
                    failures.append(status)

        threads = [threading.Thread(target=work, args=(token,)) for _, token in pairs for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert here.served.end() == 0
        assert [used(here, key).requests for key, _ in pairs] == [20] * 5
