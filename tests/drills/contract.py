"""Generated requests against everything that `/openapi.json` documents, as two owners with different scopes.

    python -m tests.drills.contract SCHEMATHESIS [--seconds 300] [--seed 1]

SCHEMATHESIS is the program `st` of an environment of its own, which `make drills` makes. A server starts on an empty
data folder. One owner, with all scopes, posts a cohort, a search that ends, models of diagnosis, tests and more; her
requests and those of a second owner, who may read and predict, are then generated: examples, boundaries, random bodies
and chains of requests. No response may be a server error, of a status or a form that is not documented, or, for the
second owner, hold an identifier of the first one's.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.system.server import ROOT, Server

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "unsupported_method", "no_foreign_identifier",
)  # fmt: skip
_MIN_SUCCESSES = 100
_IDENTIFIER = re.compile(r"\b[0-9a-f]{32}\b")
_TOY: dict[str, Any] = {
    "name": "toy",
    "objects": [{"name": f"o{i}"} for i in range(4)],
    "queries": [{"name": f"q{i}"} for i in range(2)],
    "responses": [[0, 0], [0, 1], [1, 0], [1, 1]],
}


def furnish(server: Server) -> set[str]:
    """Give the first owner something of every kind; all identifiers that she has seen."""
    seen: list[str] = []

    def post(url: str, **body: Any) -> Mapping[str, Any]:
        response = server.client.post(url, **body)
        assert response.is_success, response.text
        seen.append(response.text)
        document: Mapping[str, Any] = response.json()
        return document

    cohort = server.post_cleveland()
    seen.append(cohort)
    search = post("/v1/searches", json={"cohort_id": cohort, "budget": {"evaluations": 3, "time_s": 60}})["id"]
    server.wait(search, 200)
    seen.append(server.client.get(f"/v1/searches/{search}").text)
    model = post("/v1/diagnosis/models", json=_TOY)["id"]
    post(f"/v1/diagnosis/models/{model}/sessions")
    tests = [{"name": "q0", "cost": 1}, {"name": "q1", "cost": 2}]
    catalogue = post("/v1/test-catalogues", json={"name": "ward", "tests": tests})["id"]
    problem = {"name": "p", "structure": "cascade", "catalogue_id": catalogue}
    post(f"/v1/test-selection/problems/{post('/v1/test-selection/problems', json=problem)['id']}/rounds")
    cuts = {"features": [{"name": "x", "thresholds": [1, 2]}], "labels": ["a", "b"]}
    post("/v1/threshold-learners", json=cuts)
    post("/v1/patient-erasures", json={"identifier": "nobody"})
    return set(_IDENTIFIER.findall(" ".join(seen)))


def _lines(process: subprocess.CompletedProcess[str]) -> Iterator[str]:
    wanted = ("passed", "failed", "generated", "Tested", "No issues", "failures", "errors")
    yield from (line.strip() for line in process.stdout.splitlines() if any(word in line for word in wanted))


def run(program: Path, seconds: int, seed: int, server: Server, key: str, foreign: set[str]) -> bool:
    """Let the program send requests with this key; whether it found nothing, and the key opened something."""
    url, statuses = str(server.client.base_url), Path(tempfile.mkdtemp()) / "statuses.json"
    command = [
        str(program), "run", f"{url}/openapi.json", "--max-time", str(seconds), "--seed", str(seed), "--no-color",
        "--checks", ",".join(CHECKS), "--warnings", "off", "--continue-on-failure",
        "--header", f"Authorization: Bearer {key}",
    ]  # fmt: skip
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "hooks",
        "PYTHONPATH": str(Path(__file__).parent),
        "FOREIGN_IDENTIFIERS": " ".join(sorted(foreign)),
        "STATUSES": str(statuses),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    print("\n".join(_lines(done)) if done.returncode == 0 else done.stdout + done.stderr, flush=True)
    found = {int(status): n for status, n in json.loads(statuses.read_text()).items()}
    print("responses by status:", dict(sorted(found.items())), flush=True)
    return done.returncode == 0 and sum(n for status, n in found.items() if status < 300) >= _MIN_SUCCESSES


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path)
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        with Server(data) as server:
            hers = furnish(server)
            keys = [_key(data, "local", "read,write,predict,approve,admin"), _key(data, "guest", "read,predict")]
            found = [
                run(asked.program, asked.seconds, asked.seed, server, key, foreign)
                for key, foreign in zip(keys, (set(), hers), strict=True)
            ]
            assert server.process.poll() is None, "the server has ended"
    sys.exit(0 if all(found) else 1)


def _key(data: Path, owner: str, scopes: str) -> str:
    command = [sys.executable, "-m", "autoprog.cli", "keys", "create", "--owner", owner, "--scopes", scopes]
    made = subprocess.run([*command, "--data-dir", str(data)], cwd=ROOT, capture_output=True, text=True, check=True)
    return made.stdout.split()[-1]


if __name__ == "__main__":
    main()
