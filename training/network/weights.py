"""The network's weights, read once a process."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch

from training.network.architecture import PriorNetwork, Size

FOLDER = Path(__file__).parent / "kept"


def read_manifest() -> dict[str, Any]:
    """What the weights were made of: size, recipe, steps, losses, and their digest."""
    manifest: dict[str, Any] = json.loads((FOLDER / "manifest.json").read_text())
    return manifest


@lru_cache(maxsize=1)
def load_network() -> PriorNetwork:
    """The network, for predictions; ValueError if the weights are not those of the manifest."""
    content, manifest = (FOLDER / "weights.npz").read_bytes(), read_manifest()
    if sha256(content).hexdigest() != manifest["sha256"]:
        msg = "weights.npz is not the file that manifest.json describes"
        raise ValueError(msg)
    network = PriorNetwork(Size(**manifest["size"]))
    with np.load(BytesIO(content)) as weights:
        network.load_state_dict({name: torch.from_numpy(weights[name]).float() for name in weights.files})
    return network.eval().requires_grad_(requires_grad=False)
