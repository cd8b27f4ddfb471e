from __future__ import annotations

import pytest

from core.health import health_page


@pytest.mark.parametrize(
    ("path", "ready", "status"),
    [("/healthz", True, 200), ("/healthz", False, 200), ("/readyz", True, 200), ("/readyz", False, 503)],
)
def test_pages(path: str, ready: bool, status: int) -> None:
    page = health_page("GET", path, ready=ready)
    assert page is not None
    assert (page.status, page.body) == (status, b"ok\n" if status == 200 else b"draining\n")


@pytest.mark.parametrize("path", ["/", "/v1/models", "/healthz/", "/readyzz"])
def test_other_paths_are_none_of_its_business(path: str) -> None:
    assert health_page("GET", path, ready=True) is None
    assert health_page("POST", path, ready=True) is None


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "get"])
def test_they_are_only_read(path: str, method: str) -> None:
    page = health_page(method, path, ready=False)
    assert page is not None
    assert page.status == 405
