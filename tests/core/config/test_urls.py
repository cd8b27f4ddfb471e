import pytest

from core.config.faults import TableError
from core.config.urls import check_api_url, check_url

FORM = "write it as http://HOST[:PORT][/PATH]"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("", "does not begin with http:// or https://"),
        ("localhost:8000", "does not begin with http:// or https://"),
        ("ftp://h", "does not begin with http:// or https://"),
        ("//h/v1", "does not begin with http:// or https://"),
        ("http://", "names no host"),
        ("http:h", "names no host"),
        ("http://:8000/v1", "names no host"),
        ("http://h:99999", "its port is not a number from 1 to 65535"),
        ("http://h:0", "its port is not a number from 1 to 65535"),
        ("http://h:http/v1", "its port is not a number from 1 to 65535"),
        ("http://h /v1", "holds white space"),
        (" http://h", "holds white space"),
        ("http://h\x00", "holds white space"),
        ("http://[::1/v1", "its host is no name and no address"),
        ("http://[zz]", "its host is no name and no address"),
    ],
)
def test_the_part_that_is_wrong_is_named_and_the_url_is_not_shown(url: str, message: str) -> None:
    with pytest.raises(TableError) as caught:
        check_url(url, "proxy")
    assert (caught.value.key, caught.value.message, caught.value.hint) == ("proxy", message, FORM)


@pytest.mark.parametrize(
    "url",
    [
        "http://h",
        "HTTPS://h:8/v1/",
        "http://[::1]:8000/v1?api-version=1",
        "http://h_1/a/chat/completions",
        "http://é.fr",
    ],
)
def test_addresses_are_taken_in_any_form(url: str) -> None:
    check_url(url, "url")
    check_api_url(url)


def test_a_proxy_may_hold_a_user_and_a_url_may_not() -> None:
    check_url("http://me:pw@proxy:3128", "proxy")
    with pytest.raises(TableError, match="holds a user name, which logs would show"):
        check_api_url("http://me:pw@h")


@pytest.mark.parametrize("last", ["completions", "responses", "embeddings", "messages", "models"])
def test_another_endpoint_is_no_address_of_an_api(last: str) -> None:
    with pytest.raises(TableError) as caught:
        check_api_url(f"http://h/v1/{last}/")
    assert caught.value.message == f"ends in /{last}, which is another endpoint than /chat/completions"
    assert (caught.value.key, caught.value.hint) == ("url", f"leave /{last} away")
