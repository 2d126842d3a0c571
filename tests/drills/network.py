"""A network of its own for some processes, behind a router that can drop every packet.

Needs root and `ip` of iproute2. Unlike a connection that is broken off, dropped packets tell neither end anything.
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


class Network:
    """Two namespaces: a router, which this machine's processes reach, and what lies behind it, at `address`."""

    def __init__(self) -> None:
        tag, net = uuid4().hex[:8], f"10.{random.randint(64, 127)}.{random.randint(0, 255)}"
        self._router, self._behind, self._end = f"drill-router-{tag}", f"drill-behind-{tag}", f"drill-{tag}"
        self.address = f"{net}.6"
        try:
            for name in (self._router, self._behind):
                _ip("netns", "add", name)
                _ip("-n", name, "link", "set", "lo", "up")
            _ip("link", "add", self._end, "type", "veth", "peer", "name", "near", "netns", self._router)
            _ip("-n", self._router, "link", "add", "far", "type", "veth", "peer", "name", "end", "netns", self._behind)
            _ip("address", "add", f"{net}.1/30", "dev", self._end)
            _ip("link", "set", self._end, "up")
            for namespace, device, host in (
                (self._router, "near", 2),
                (self._router, "far", 5),
                (self._behind, "end", 6),
            ):
                _ip("-n", namespace, "address", "add", f"{net}.{host}/30", "dev", device)
                _ip("-n", namespace, "link", "set", device, "up")
            _ip("route", "add", f"{net}.4/30", "via", f"{net}.2")
            _ip("-n", self._behind, "route", "add", "default", "via", f"{net}.5")
            self._forward(1)
        except subprocess.CalledProcessError as error:
            self.close()
            raise OSError(error.stderr.strip()) from error

    def command(self, *command: str) -> tuple[str, ...]:
        """A command that runs behind the router."""
        return ("ip", "netns", "exec", self._behind, *command)

    @contextmanager
    def dropping(self) -> Iterator[None]:
        """Drop every packet during the block, in both directions."""
        self._forward(0)
        yield
        self._forward(1)

    def close(self) -> None:
        """Remove it; its processes must have ended."""
        for arguments in (("link", "del", self._end), ("netns", "del", self._behind), ("netns", "del", self._router)):
            with suppress(subprocess.CalledProcessError):
                _ip(*arguments)

    def _forward(self, is_on: int) -> None:
        _ip("netns", "exec", self._router, "sh", "-c", f"echo {is_on} > /proc/sys/net/ipv4/ip_forward")
