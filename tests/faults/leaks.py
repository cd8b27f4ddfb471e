"""What an upstream may say and a client must not hear."""

from __future__ import annotations

from typing import Final

KEY: Final = "sk-upstream-0123456789abcdef"
TOKEN: Final = "tok81b2c3d4e5f6"
HOST: Final = "127.0.0.1"
NOWHERE: Final = "engine-7.invalid"
LEAK: Final = (
    f"GPU 0 is lost: Bearer {KEY} token {TOKEN} at http://{HOST}:PORT5/v1/chat/completions, {HOST}:PORT5 "
    f"(HTTPConnectionPool(host='{HOST}', port=PORT5))\n"
    'Traceback (most recent call last):\n  File "/srv/engine.py", line 7, in run\n    boom()\nRuntimeError: boom'
)
"""PORT5 stands for the upstream's own."""

FORBIDDEN: Final = (KEY, TOKEN, HOST, NOWHERE, "Traceback", "engine.py", "RuntimeError", "/srv/", "sk-client-0815")
