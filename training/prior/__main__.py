"""The shipped prior, made again from its inputs.

    python -m training.prior                       make it, and fail unless it is the shipped file byte for byte
    python -m training.prior write                 make it, and ship it: the file and its manifest
    python -m training.prior pools --data FOLDER   evaluate the pools that it is learnt from (hours)

Making it takes some minutes. What a pool teaches is kept under `build/`, by a fingerprint of the pool and of the code.
Evaluating pools goes on where it was broken off.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import autoprog
from training.prior import pools
from training.prior.cohorts import ALL

ROOT = Path(__file__).parents[2]
SHIPPED = Path(autoprog.__file__).parent / "metalearning" / "data" / "open_cohorts.json.gz"
MANIFEST = Path(__file__).parent / "manifest.json"
INPUTS = (pools.POOLS / pools.TABLE, pools.POOLS / pools.COHORTS)

_PACKAGES = ("numpy", "scipy", "scikit-learn", "torch", "gpytorch")


def made() -> bytes:
    """The content of the shipped file, from the pools."""
    import torch  # noqa: PLC0415  `pools` evaluates in processes that must not inherit it
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    from autoprog.metalearning import write_open_cohorts  # noqa: PLC0415  learning libraries
    from training.prior.learning import open_cohorts  # noqa: PLC0415

    torch.set_num_threads(1)
    with threadpool_limits(1):
        return write_open_cohorts(open_cohorts(pools.POOLS))


def digest(content: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def manifest(content: bytes) -> dict[str, Any]:
    """What the file was made of, and by which code."""
    git = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    return {
        "output": {"file": str(SHIPPED.relative_to(ROOT)), "sha256": digest(content)},
        "inputs": {str(path.relative_to(ROOT)): digest(path.read_bytes()) for path in INPUTS},
        "commit": subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip(),
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _check(_: argparse.Namespace) -> None:
    found, shipped = digest(made()), digest(SHIPPED.read_bytes())
    print(f"made    {found}\nshipped {shipped}")
    if found != shipped:
        sys.exit("What was made is not what is shipped.")


def _write(_: argparse.Namespace) -> None:
    content = made()
    SHIPPED.write_bytes(content)
    MANIFEST.write_text(json.dumps(manifest(content), indent=2) + "\n")


def _pools(arguments: argparse.Namespace) -> None:
    for name in arguments.cohorts:
        pools.make(name, arguments.data, pools.POOLS, arguments.each)


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m training.prior", description=(__doc__ or "").splitlines()[0])
    parser.set_defaults(run=_check)
    commands = parser.add_subparsers()
    commands.add_parser("write", help="make the file and ship it, with its manifest").set_defaults(run=_write)
    evaluate = commands.add_parser("pools", help="evaluate configurations on real cohorts")
    evaluate.add_argument("--data", type=Path, required=True, help="folder of the cohorts' files")
    evaluate.add_argument("--cohorts", nargs="+", choices=ALL, default=list(ALL), metavar="COHORT")
    evaluate.add_argument(
        "--each",
        type=int,
        help=f"configurations a prediction algorithm, a power of 2; where it is left out {pools.EACH}, or "
        f"{pools.EACH_OF_TEACHERS} of a cohort that only teaches",
    )
    evaluate.set_defaults(run=_pools)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
