"""Train the prior network.

    python -m training.network FOLDER [--seconds 540] [--workers 15]

It goes on from the checkpoint in the folder, if there is one. A graphics processor is needed to get anywhere.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")


def main() -> None:
    """Run the command."""
    from training.network.architecture import Size  # noqa: PLC0415  torch
    from training.network.training import Recipe, train  # noqa: PLC0415  torch

    parser = argparse.ArgumentParser(prog="python -m training.network", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--first", type=Path, metavar="FILE", help="weights to begin with, those in kept/ for example")
    recipe, size = Recipe(), Size()
    for name, value in vars(recipe).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    for name, value in vars(size).items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    told = parser.parse_args()
    recipe = Recipe(**{name: getattr(told, name) for name in vars(recipe)})
    size = Size(**{name: getattr(told, name) for name in vars(size)})
    train(recipe, size, told.folder, told.workers, told.first)


if __name__ == "__main__":
    main()
