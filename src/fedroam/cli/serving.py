"""``fedroam serve``."""

from fedroam.adapters.serve import Serving, serve
from fedroam.cli.screen import say

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve_command(serving: Serving, policies: list[str]) -> None:
    """Serve until Ctrl-C; what happens is told on stderr."""
    if serving.host not in LOOPBACK:
        say(
            f"{serving.host} can be reached from elsewhere, and the service asks nobody who they "
            "are: put a proxy before it that does"
        )
    serve(serving, policies, say)
