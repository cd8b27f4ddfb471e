"""A light HTTP/1.1 client transport for httpx, on asyncio's protocols and `httptools`.

Of ours it needs a clock alone. No proxies, no HTTP/2, no cookies, no redirects.
"""

from core.http1.transport import HTTP1Transport

__all__ = ["HTTP1Transport"]
