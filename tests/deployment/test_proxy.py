"""The proxy of docs/operating.md: keys are asked for behind it, bodies and events pass through."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.api.searching import SMALL, SMALL_SPEC, make_search, multipart, table
from tests.deployment.installation import ROOT, free_ports, wait_until

NGINX, OPENSSL = shutil.which("nginx"), shutil.which("openssl")
pytestmark = pytest.mark.skipif(NGINX is None or OPENSSL is None, reason="there is no nginx, or no openssl")

NAME = "autoprog.hospital.example"


def _documented(folder: Path, port: int, upstream: int) -> str:
    """The text of the manual with other addresses and certificates, as a whole configuration."""
    (server,) = re.findall(r"```nginx\n(.*?)```", (ROOT / "docs" / "operating.md").read_text(), re.DOTALL)
    for inside, outside in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8000", f"127.0.0.1:{upstream}"),
        ("/etc/ssl/autoprog", str(folder / "autoprog")),
    ):
        assert inside in server
        server = server.replace(inside, outside)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{kind}_temp_path {folder / kind};\n" for kind in kinds)
    top = f"pid {folder / 'nginx.pid'};\nerror_log stderr;\ndaemon off;\nmaster_process off;\n"
    return f"{top}events {{}}\nhttp {{\naccess_log off;\n{temporary}{server}}}\n"


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[httpx2.Client]:
    """A client of the server through the proxy, without a key."""
    port, upstream = free_ports(2)
    certificate = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={NAME}",
                   "-addext", f"subjectAltName=DNS:{NAME},IP:127.0.0.1",
                   "-keyout", "autoprog.key", "-out", "autoprog.pem"]  # fmt: skip
    subprocess.run([str(OPENSSL), *certificate], cwd=tmp_path, check=True, capture_output=True)
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(_documented(tmp_path, port, upstream))
    environment = {**os.environ, "AUTOPROG_PROXIES": "127.0.0.1", "AUTOPROG_DATA_DIR": str(tmp_path / "data")}
    autoprog = [sys.executable, "-m", "autoprog.cli"]
    create = [*autoprog, "keys", "create", "--owner", "Ward 7", "--scopes", "read,write"]
    key = subprocess.run(create, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout.strip()
    serve = [*autoprog, "serve", "--no-runner", "--require-keys", "--port", str(upstream)]
    processes = [
        subprocess.Popen(serve, cwd=ROOT, env=environment),
        subprocess.Popen([str(NGINX), "-p", str(tmp_path), "-c", str(configuration)]),
    ]
    trusted = ssl.create_default_context(cafile=str(tmp_path / "autoprog.pem"))
    url, headers = f"https://127.0.0.1:{port}", {"Host": NAME, "Authorization": f"Bearer {key}"}
    try:
        with httpx2.Client(base_url=url, headers=headers, verify=trusted, timeout=60) as client:

            def ready() -> bool:
                assert all(process.poll() is None for process in processes)
                try:
                    return client.get("/readyz").is_success
                except httpx2.TransportError:
                    return False

            wait_until(ready, "the server is ready behind its proxy")
            yield client
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


def test_the_documented_proxy(proxied: httpx2.Client) -> None:
    anonymous = {"Authorization": ""}
    assert proxied.get("/v1/cohorts", headers=anonymous).status_code == 401
    assert proxied.post("/v1/cohorts", files=multipart(), headers=anonymous).status_code == 401
    assert proxied.get("/metrics").status_code == 404
    search = make_search(proxied)  # type: ignore[arg-type]  # the two clients are of one kind
    large = [*SMALL, *(f"{50 + i % 40},{'m' if i % 3 else 'f'},{i % 2}" for i in range(400_000))]
    assert proxied.post("/v1/cohorts", files=multipart(SMALL_SPEC, table(*large))).status_code == 201
    with proxied.stream("GET", f"/v1/searches/{search['id']}/events") as events:
        assert events.status_code == 200
        assert proxied.post(f"/v1/searches/{search['id']}/cancel").status_code == 202
        (told,) = [line for line in events.iter_lines() if line.startswith("event: ")]
    assert told == "event: finished"
