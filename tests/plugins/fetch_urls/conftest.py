"""The certificate of the tests with TLS."""

from tests.core.http1.conftest import certificate

__all__ = ["certificate"]
