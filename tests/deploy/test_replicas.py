"""What docs/deploy.md promises of two replicas behind HAProxy. Some 40 seconds in all."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.deploy.edge import GRACE, KEPT, Edge
from tests.deploy.haproxy import CLIENTS, EXAMPLE, NUMBERS, TLS, free_ports, running
from tests.deploy.load import Asked, Load, ask, load, session_header
from tests.faults.client import Client
from tests.server.processes import wait_until

THINKING: Final = {"type": "enabled", "budget_tokens": 1024}


async def rounds(edge: Edge, sessions: list[str], name: str) -> list[Asked]:
    """Three requests of each conversation, all at once."""
    models = [(session, f"short#{name}-{session}-{number}") for session in sessions for number in range(3)]
    return await asyncio.gather(*(ask(edge.haproxy.port, session, model) for session, model in models))


def test_a_conversation_stays_with_one_replica_and_both_have_some(edge: Edge) -> None:
    answers = edge.run(rounds(edge, [f"s{number}" for number in range(20)], "affinity"))
    assert {answer.how for answer in answers} == {"whole"}
    homes = {answer.session: answer.replica for answer in answers}
    assert all(answer.replica == homes[answer.session] for answer in answers)
    assert set(homes.values()) == {"one", "two"}
    assert min(list(homes.values()).count(name) for name in ("one", "two")) >= 4


def test_without_a_conversation_the_key_decides_and_then_the_address(edge: Edge) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{edge.haproxy.port}", timeout=20) as client:

        def replicas(**headers: str) -> set[str]:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return {client.get("/v1/models", headers=named).headers["x-hookline-replica"] for _ in range(4)}

        keys = [f"key-{number}" for number in range(20)]
        homes = [replicas(x_api_key=key) for key in keys] + [replicas(authorization=f"Bearer {key}") for key in keys]
        assert {len(home) for home in homes} == {1}
        assert set.union(*homes) == {"one", "two"}
        assert len(replicas()) == 1


def test_each_piece_comes_when_it_is_said_and_ids_are_the_same_everywhere(edge: Edge) -> None:
    async def held() -> str:
        async with Client(edge.haproxy.port) as client:
            await client.ask("held#1", session_header("s"), stream=True)
            head = await client.until(b"word0")
            (await edge.upstream.exchange("held#1")).go.set()
            await client.until(b"message_stop")
            return head.partition(b"request-id: ")[2].partition(b"\r\n")[0].decode()

    request = edge.run(held())
    assert request.startswith("req_")
    wait_until(lambda: f'"{request}"' in edge.haproxy.log.read_text())
    logs = [each.log for each in edge.replicas.values()]
    wait_until(lambda: any(f'"{request}"' in log.read_text() for log in logs))


@pytest.mark.parametrize("model", ["silent#left", "endless#left"])
def test_a_client_that_leaves_ends_the_generation(edge: Edge, model: str) -> None:
    async def leave() -> None:
        async with Client(edge.haproxy.port) as client:
            await client.ask(model, session_header("s"), stream=True)
            exchange = await edge.upstream.exchange(model)
            if model.startswith("endless"):
                await client.until(b"word0")
        async with asyncio.timeout(5):
            await exchange.ended.wait()

    edge.run(leave())


def test_what_one_replica_sealed_another_opens(edge: Edge) -> None:
    async def said(session: str, model: str, *turns: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        messages = [{"role": "user", "content": "hi"}, *turns]
        async with Client(edge.haproxy.port) as client:
            await client.ask(
                model, session_header(session), stream=False, max_tokens=2048, messages=messages, thinking=THINKING
            )
            answer = await client.answer()
        assert answer.status == 200, answer.body
        return answer.headers["x-hookline-replica"], answer.json()["content"]

    async def both() -> tuple[set[str], dict[str, Any]]:
        first, content = await said("s0", "thinks#0")
        assert content[0]["type"] == "thinking"
        turns = ({"role": "assistant", "content": content}, {"role": "user", "content": "and?"})
        for number in range(1, 40):
            replica, _ = await said(f"s{number}", f"thinks#{number}", *turns)
            if replica != first:
                return {first, replica}, edge.upstream.exchanges[f"thinks#{number}"][0].request["messages"][1]
        raise AssertionError("all conversations are with one replica")

    replicas, turn = edge.run(both())
    assert replicas == {"one", "two"}
    assert turn["reasoning_details"] == KEPT["reasoning_details"]


def test_metrics_are_not_for_clients_but_for_whoever_asks_the_edge(edge: Edge) -> None:
    assert httpx.get(f"http://127.0.0.1:{edge.haproxy.port}/metrics", timeout=20).status_code == 404
    page = httpx.get(f"http://127.0.0.1:{edge.haproxy.ports[NUMBERS]}/metrics", timeout=20)
    assert "haproxy_server_status" in page.text


def check_asked_once(edge: Edge) -> None:
    assert [marker for marker, times in edge.asked().items() if times > 1] == []


def test_a_replica_is_killed_under_load(edge: Edge) -> None:
    with load(edge, "killed") as clients:
        clients.wait_for_more(60)
        homes = clients.replicas()
        gone = edge.kill("one")
        edge.haproxy.wait_for("two", "UP")
        edge.haproxy.wait_for("one", "DOWN")
        since = len(clients.asked)
        clients.wait_for_more(60)
        moved = clients.replicas(since)
        edge.start("one")
        clients.wait_for_more(60)
    check_asked_once(edge)
    check_broken_off(clients, homes, gone)
    assert all(found == {"two"} for found in moved.values())
    # All that had their home there are back, but for what was under way when it came back.
    back = clients.replicas(len(clients.asked) - 20)
    assert all(found == homes[session] for session, found in back.items())


def check_broken_off(clients: Load, homes: dict[str, set[str]], gone: float) -> None:
    """What failed was with the one that was killed, before it was gone; its client could see it, and nothing hung."""
    bad = clients.bad()
    assert bad, "nothing ran when it was killed"
    assert {each.how for each in bad} <= {"cut", "error"}
    assert {home for each in bad for home in homes[each.session]} == {"one"}
    assert max(each.began for each in bad) < gone


def test_both_are_restarted_one_after_the_other_and_not_one_request_fails(edge: Edge) -> None:
    with load(edge, "rolling") as clients:
        clients.wait_for_more(30)
        for name in ("one", "two"):
            gone = edge.end(name)
            (left, *_) = gone.lines("leaving")
            assert left["seconds"] == GRACE
            edge.haproxy.wait_for(name, "DOWN")
            edge.start(name)
            clients.wait_for_more(30)
    assert clients.bad() == []
    check_asked_once(edge)


def test_tls(edge: Edge, tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem"]
    name = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2", "-out", "cert.pem"]
    subprocess.run([openssl, "req", "-x509", *curve, *name], cwd=tmp_path, check=True, capture_output=True)
    file = tmp_path / "hookline.pem"
    file.write_text((tmp_path / "cert.pem").read_text() + (tmp_path / "key.pem").read_text())
    text = EXAMPLE.read_text().replace("# bind :8443", "bind :8443").replace("/etc/haproxy/hookline.pem", str(file))
    text = text.replace("# http-response set-header strict", "http-response set-header strict")
    ports = edge.ports | free_ports(CLIENTS, NUMBERS, TLS)
    with running(tmp_path, ports, text) as secure:
        url = f"https://127.0.0.1:{secure.ports[TLS]}"
        context = ssl.create_default_context(cafile=tmp_path / "cert.pem")
        answer = httpx.get(f"{url}/readyz", verify=context, timeout=20)
        assert (answer.text, answer.headers["strict-transport-security"]) == ("ok\n", "max-age=31536000")
        context.set_alpn_protocols(["h2", "http/1.1"])
        with (
            socket.create_connection(("127.0.0.1", secure.ports[TLS]), timeout=20) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped,
        ):
            assert wrapped.selected_alpn_protocol() == "http/1.1"
