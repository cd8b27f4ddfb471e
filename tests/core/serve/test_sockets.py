from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from core.serve.settings import ServerError
from core.serve.sockets import UNSENT, cut_stalled, host_port, open_doors


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: the names of Unix sockets must be short."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_binds_and_tells_the_port() -> None:
    doors = open_doors(("127.0.0.1:0", "[::1]:0"))
    one, two = doors.addresses
    assert one.startswith("127.0.0.1:")
    assert two.startswith("[::1]:")
    with socket.socket() as probe:  # it does not listen yet
        assert probe.connect_ex(host_port(one)) != 0
    doors.sockets[0].listen()
    with socket.create_connection(host_port(one)):
        pass
    doors.close()
    doors.close()
    with socket.socket() as probe:
        assert probe.connect_ex(host_port(one)) != 0


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux alone has it")
def test_connections_inherit_what_they_need_and_are_cut_when_told() -> None:
    doors = open_doors(("127.0.0.1:0",))
    (listener,) = doors.sockets
    listener.listen()
    with socket.create_connection(listener.getsockname()):
        listener.setblocking(True)
        accepted, _ = listener.accept()
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
        cut_stalled(accepted, 65)
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 65_000
        assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT) == UNSENT
        accepted.close()
    doors.close()


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError) as caught:
            open_doors(("127.0.0.1:0", f"127.0.0.1:{port}"))
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{port}: address already in use; "
        "choose another: hookline serve --bind HOST:PORT, or make serve BIND=HOST:PORT"
    )


@pytest.mark.parametrize("bind", ["127.0.0.1", "localhost:", "host:http", "host:70000", "::1:80", "", "fd://x"])
def test_a_bind_of_no_known_form(bind: str) -> None:
    with pytest.raises(ServerError, match=r"is not HOST:PORT, \[IPv6\]:PORT, unix:PATH or fd://NUMBER"):
        open_doors((bind,))


def test_a_unix_socket_takes_the_place_of_a_dead_one_and_goes(here: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind("s")
    doors = open_doors(("unix:s",))
    assert doors.addresses == ("unix:s",)
    doors.close()
    assert not (here / "s").exists()


@pytest.mark.parametrize("file", [True, False])
def test_a_unix_socket_in_use_is_left_alone(here: Path, file: bool) -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        if file:
            (here / "s").touch()
        else:
            taken.bind("s")
            taken.listen()
        with pytest.raises(ServerError, match="cannot listen on unix:s: address already in use"):
            open_doors(("unix:s",))
    assert (here / "s").exists()


def test_another_server_s_unix_socket_stays(here: Path) -> None:
    doors = open_doors(("unix:s",))
    (here / "s").rename(here / "ours")
    with socket.socket(socket.AF_UNIX) as other:
        other.bind("s")
        doors.close()
    assert (here / "s").exists()


def test_a_socket_that_was_handed_down() -> None:
    given = socket.create_server(("127.0.0.1", 0))
    port = given.getsockname()[1]
    doors = open_doors((f"fd://{given.detach()}",))
    assert doors.addresses == (f"127.0.0.1:{port}",)
    doors.close()


def test_what_was_handed_down_and_is_no_socket() -> None:
    reader, writer = os.pipe()
    with socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        for number, why in ((reader, "socket"), (datagrams.fileno(), "no stream socket")):
            with pytest.raises(ServerError, match=rf"cannot listen on fd://{number}: .*{why}"):
                open_doors((f"fd://{number}",))
        assert datagrams.fileno() > 0
    os.close(reader)
    os.close(writer)
