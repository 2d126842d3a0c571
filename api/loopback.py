"""Guard of a server without keys: only pages and programs on this machine may use it."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import ProblemResponse, problem

_FORWARDING = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


class LoopbackOnly:
    """Middleware that refuses a foreign `Host` or `Origin`, and requests forwarded by a proxy."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and (detail := _objection(Headers(scope=scope))):
            document = problem("forbidden", detail, instance=scope["path"])
            await ProblemResponse(document)(scope, receive, send)
            return
        await self.app(scope, receive, send)


# A browser on this machine reaches the server from any page. A page of a domain rebound to the loopback address sends
# that domain as `Host`; a page of another site sends its own `Origin`. Behind a local proxy, everybody would seem to be
# on this machine, and need no key.
def _objection(headers: Headers) -> str | None:
    host = headers.get("host", "")
    if not is_loopback(_hostname(f"//{host}")):
        return "without keys this server answers to the names of its own machine only: localhost, 127.0.0.1, [::1]"
    if any(name in headers for name in _FORWARDING):
        return "without keys this server takes nothing from a proxy: make one with `autoprog keys create`"
    origin = headers.get("origin")
    if origin is not None and origin.lower() not in {f"http://{host}".lower(), f"https://{host}".lower()}:
        return "without keys this server takes no requests from pages of another origin"
    return None


def _hostname(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address (without port or brackets) is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
