"""A minute beside its peers: the same cohorts, the same splits, the same seconds.

    python benchmarks/minute setup --envs FOLDER            environments of the peers, some gigabytes
    python benchmarks/minute run --envs FOLDER --data FOLDER [--budget 60] [--seeds 0 1 2] [--peers ...] [--cohorts ...]
    python benchmarks/minute [show] [--budget 60]

A run is (peer, cohort, seed, budget): 70 % of the patients to learn from, stratified; AUC, Brier score and log loss of
the others. Every peer runs alone, in a process of its own, for as many seconds as it is given; nothing else should
run meanwhile. What the shards hold is not run again. Cohorts are those of `datasets.csv` in the data folder;
`flchain@1825` is a cohort of event times as a binary one: the event by day 1825, whoever was censored before left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from _ranks import table

HERE = Path(__file__).resolve().parent
SHARDS = HERE / "shards"
COHORTS = (
    "birthwt",
    "hepatitis",
    "heart_uci4",
    "ilpd",
    "pima_missing",
    "framingham_chd",
    "nhefs_death",
    "stroke",
    "diabetes_readmit_5k",
    "monica",
    "thyroid",
    "flchain@1825",
    "spambase",
    "covertype10k",
    "a8a",
)
PEERS = {"autogluon": "autogluon", "flaml": "flaml", "logistic": "flaml", "autoprog": None, "opening": None}
PACKAGES = {
    "autogluon": (("torch==2.13.0",), ("autogluon.tabular[lightgbm,xgboost,catboost]==1.6.*",)),
    "flaml": (("flaml[automl]>=2.7,<3",),),
}


def set_up(envs: Path) -> None:
    for name, steps in PACKAGES.items():
        python = envs / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(envs / name)], check=True)
        for packages in steps:
            subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], check=True)


def shard(budget: float) -> Path:
    return SHARDS / f"binary-{budget:g}.jsonl"


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run_one(peer: str, cohort: str, seed: int, asked: argparse.Namespace) -> dict[str, Any]:
    """One run in a process of its own."""
    environment = PEERS[peer]
    python = sys.executable if environment is None else str(asked.envs / environment / "bin" / "python")
    command = [python, str(HERE / "_peer.py"), peer, cohort, str(seed), str(asked.budget), str(asked.data)]
    environ = {**os.environ, "OMP_NUM_THREADS": "2", "PYTHONDONTWRITEBYTECODE": "1"}
    told: dict[str, Any]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=4 * asked.budget + 120, env=environ, check=False
        )
        line = next((text for text in done.stdout.splitlines() if text.startswith("RESULT ")), None)
        told = (
            json.loads(line[7:]) if line else {"failed": (done.stderr.strip().splitlines() or ["no result"])[-1][:300]}
        )
    except subprocess.TimeoutExpired:
        told = {"failed": "took more than four times its budget"}
    return {"peer": peer, "cohort": cohort, "seed": seed, "budget": asked.budget, **told}


def run(asked: argparse.Namespace) -> None:
    path = shard(asked.budget)
    done = {(row["peer"], row["cohort"], row["seed"]) for row in rows_of(path)}
    for seed in asked.seeds:
        for cohort in asked.cohorts:
            for peer in asked.peers:
                if (peer, cohort, seed) not in done:
                    row = run_one(peer, cohort, seed, asked)
                    with path.open("a") as file:
                        file.write(json.dumps(row) + "\n")
                    print(json.dumps(row), file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["setup", "run", "show"], default="show")
    parser.add_argument("--envs", type=Path, default=Path("build/peers"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument(
        "--peers", nargs="+", choices=list(PEERS), default=["autoprog", "autogluon", "flaml", "logistic"]
    )
    parser.add_argument("--cohorts", nargs="+", default=list(COHORTS))
    asked = parser.parse_args()
    if asked.what == "setup":
        set_up(asked.envs)
        return
    if asked.what == "run":
        if asked.data is None:
            parser.error("--data names the folder of the cohorts")
        run(asked)
    print(json.dumps({path.stem: table(rows_of(path)) for path in sorted(SHARDS.glob("*.jsonl"))}, indent=2))


if __name__ == "__main__":
    main()
