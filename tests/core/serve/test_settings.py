from __future__ import annotations

import sys

from core.serve.settings import ServerOptions, for_http2, protocol_config


def test_the_limits_of_the_door() -> None:
    config = protocol_config(ServerOptions(keep_alive=3.5, backlog=7))
    assert (config.h11_max_incomplete_size, config.h2_max_header_list_size) == (65536, 65536)
    assert (config.keep_alive_timeout, config.backlog) == (3.5, 7)
    assert config.response_headers("h11")[0][0] == b"date"
    assert len(config.response_headers("h11")) == 1


def test_http2_connections_have_no_last_request() -> None:
    config = protocol_config(ServerOptions(keep_alive=3.5))
    other = for_http2(config)
    assert (other.keep_alive_max_requests, config.keep_alive_max_requests) == (sys.maxsize, 1000)
    assert (other.keep_alive_timeout, other.include_server_header) == (3.5, False)
