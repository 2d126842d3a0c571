"""The training: batches from the prior, Muon for matrices and Adam for the rest, checkpoints, a curve of losses.

References
----------
Jordan et al. (2024), Muon: an optimizer for hidden layers in neural networks: momentum whose singular values become 1.
Liu et al. (2025), Muon is scalable for LLM training, arXiv 2502.16982: the size of its steps, and weight decay.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader

from training.network.architecture import PriorNetwork, Size
from training.network.batches import Batches
from training.network.encoding import INTERVALS

_VALIDATION_SEED, _VALIDATION_BATCHES, _VALIDATION_CELLS = 1_000_000, 32, 60_000
_BETWEEN_POINTS = 60.0
_NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
_EVENT_WEIGHT = 0.35


@dataclass(frozen=True)
class Recipe:
    """How to train.

    Attributes
    ----------
    seconds : float
        Of training, those before a checkpoint included; the learning rate ends at zero then.
    seed : int
        Of weights and batches.
    rate, adam_rate : float
        Largest learning rates of matrices and of the rest.
    decay : float
        Of matrices.
    cells : int
        Tokens of a batch.
    event_share : float
        Share of batches with event times.
    warm_up, cool_down : float
        Shares of the time in which the learning rate rises, and falls.
    """

    seconds: float = 540.0
    seed: int = 0
    rate: float = 6e-3
    adam_rate: float = 1.5e-3
    decay: float = 0.02
    cells: int = 150_000
    event_share: float = 0.3
    warm_up: float = 0.01
    cool_down: float = 0.6


class Muon(torch.optim.Optimizer):
    """Momentum of matrices, made orthogonal; matrices of one shape together."""

    def __init__(self, matrices: list[torch.nn.Parameter], lr: float, decay: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": lr, "decay": decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        """Take one step."""
        assert closure is None
        for group in self.param_groups:
            shapes: dict[tuple[int, ...], list[torch.nn.Parameter]] = defaultdict(list)
            for p in group["params"]:
                if p.grad is not None:
                    shapes[tuple(p.shape)].append(p)
            for (rows, columns), alike in shapes.items():
                gradient = torch.stack([p.grad for p in alike if p.grad is not None])
                momentum = torch.stack([self.state[p].setdefault("m", torch.zeros_like(p)) for p in alike])
                momentum.lerp_(gradient, 1 - group["momentum"])
                step = _orthogonal(gradient.lerp(momentum, group["momentum"]))
                size = 0.2 * max(rows, columns) ** 0.5 * group["lr"]
                for p, m, s in zip(alike, momentum, step, strict=True):
                    self.state[p]["m"].copy_(m)
                    p.mul_(1 - group["lr"] * group["decay"]).add_(s.to(p.dtype), alpha=-size)


def _orthogonal(G: Tensor) -> Tensor:
    X = G.bfloat16()
    turned = X.shape[-2] > X.shape[-1]
    X = X.mT if turned else X
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    a, b, c = _NEWTON_SCHULZ
    for _ in range(5):
        A = X @ X.mT
        X = a * X + (b * A + c * A @ A) @ X
    return X.mT if turned else X


def loss_of(network: PriorNetwork, batch: dict[str, Tensor]) -> Tensor:
    """Mean over the patients to predict: log loss, or that of the intervals at risk, which weighs less."""
    n = int(batch["n"])
    cells, scores = batch["cells"].float(), batch["scores"]
    if "y" in batch:
        logits = network.binary(cells, scores, batch["y"][:, :n], batch["log_odds"])
        return functional.binary_cross_entropy_with_logits(logits, batch["y"][:, n:].float())
    told = network.events(cells, scores, batch["cause"], batch["interval"], batch["position"], batch["log_odds"])
    logits = torch.cat([torch.zeros_like(told[..., :1]), told], dim=-1)
    ends = batch["true_interval"][..., None]
    here = torch.arange(INTERVALS, device=cells.device)
    state = torch.where(here == ends, batch["true_cause"][..., None], 0)
    losses = functional.cross_entropy(logits.flatten(0, -2), state.flatten(), reduction="none").view(state.shape)
    return _EVENT_WEIGHT * (losses * (here <= ends)).sum() / max(1, ends.numel())


def _rate(progress: float, recipe: Recipe) -> float:
    return min(1.0, progress / recipe.warm_up, max(0.0, (1.0 - progress) / recipe.cool_down))


def _batches(recipe: Recipe, first: int, workers: int) -> Iterator[dict[str, Tensor]]:
    data = Batches(recipe.seed, recipe.cells, recipe.event_share)
    loader = DataLoader(
        data,
        batch_size=None,
        sampler=range(first, 10_000_000),
        num_workers=workers,
        prefetch_factor=3 if workers else None,
        pin_memory=torch.cuda.is_available(),
    )
    return iter(loader)


@dataclass(eq=False)
class _Training:
    """A network under way; `spent` are its seconds so far, and `curve` its losses."""

    recipe: Recipe
    network: PriorNetwork
    optimizers: tuple[torch.optim.Optimizer, ...]
    device: torch.device
    path: Path
    step: int = 0
    spent: float = 0.0
    curve: list[dict[str, float]] = field(default_factory=list)

    @classmethod
    def of(cls, recipe: Recipe, size: Size, path: Path, first: Path | None) -> _Training:
        """Begin, with other weights if there are, or go on from the checkpoint."""
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(recipe.seed)
        network = PriorNetwork(size).to(device)
        matrices = [p for name, p in network.named_parameters() if name.startswith("blocks") and p.ndim == 2]
        others = [p for p in network.parameters() if not any(p is m for m in matrices)]
        optimizers = (
            Muon(matrices, recipe.rate, recipe.decay),
            torch.optim.AdamW(others, recipe.adam_rate, (0.9, 0.98)),
        )
        training = cls(recipe, network, optimizers, device, path)
        if path.exists():
            kept = torch.load(path, map_location=device, weights_only=True)
            network.load_state_dict(kept["network"])
            for optimizer, state in zip(optimizers, kept["optimizers"], strict=True):
                optimizer.load_state_dict(state)
            training.step, training.spent = kept["step"], kept["spent"]
            training.curve = kept.get("curve", [])  # that earlier checkpoints lack
        elif first is not None:
            with np.load(first) as weights:
                known = {name: torch.from_numpy(weights[name]).float() for name in weights.files}
            # Scores that the first weights do not know count for nothing at first.
            new = network.scores.in_features - known["scores.weight"].shape[1]
            known["scores.weight"] = functional.pad(known["scores.weight"], (0, new))
            network.load_state_dict(known)
        return training

    def learn(self, batch: dict[str, Tensor]) -> Tensor:
        """Take one step; returns the loss before it."""
        rate = _rate(self.spent / self.recipe.seconds, self.recipe)
        for optimizer, peak in zip(self.optimizers, (self.recipe.rate, self.recipe.adam_rate), strict=True):
            for group in optimizer.param_groups:
                group["lr"] = peak * rate
        loss = self.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return loss.detach()

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        moved = {name: t.to(self.device, non_blocking=True) if name != "n" else t for name, t in batch.items()}
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            return loss_of(self.network, moved)

    @torch.no_grad()
    def validate(self, batches: list[dict[str, Tensor]]) -> dict[str, float]:
        """Losses on batches of another seed, by kind of outcome."""
        losses: dict[str, list[float]] = {"binary": [], "events": []}
        for batch in batches:
            losses["binary" if "y" in batch else "events"].append(float(self.loss(batch)))
        return {name: round(sum(some) / max(1, len(some)), 5) for name, some in losses.items()}

    def save(self) -> None:
        """Write the checkpoint, whole or not at all."""
        states = [_halved(optimizer.state_dict()) for optimizer in self.optimizers]
        own = {"step": self.step, "spent": self.spent, "curve": self.curve}
        kept = {"network": self.network.state_dict(), "optimizers": states, **own}
        torch.save(kept, self.path.with_suffix(".part"))
        self.path.with_suffix(".part").replace(self.path)


def train(recipe: Recipe, size: Size, folder: Path, workers: int, first: Path | None) -> list[dict[str, float]]:
    """Train a network, or go on from the checkpoint in `folder`; returns the curve and writes it beside the weights."""
    torch.set_float32_matmul_precision("high")
    # It makes a plan for every shape, and no two batches have the same.
    torch.backends.cuda.enable_cudnn_sdp(enabled=False)
    folder.mkdir(parents=True, exist_ok=True)
    training = _Training.of(recipe, size, folder / "checkpoint.pt", first)
    held_out, curve = _held_out(recipe, workers), training.curve
    if first is not None and training.step == 0:
        curve.append({"step": 0, "seconds": 0.0, **training.validate(held_out)})
    saved, losses, steps = time.monotonic(), torch.zeros((), device=training.device), 0
    start = saved - training.spent
    for batch in _batches(recipe, training.step, workers):
        losses += training.learn(batch)
        steps += 1
        training.spent = time.monotonic() - start
        ended = training.spent >= recipe.seconds
        if ended or time.monotonic() - saved > _BETWEEN_POINTS:
            saved = time.monotonic()
            point = {"step": training.step, "seconds": round(training.spent, 1)}
            curve.append({**point, "loss": round(float(losses) / steps, 5), **training.validate(held_out)})
            print(json.dumps(curve[-1]), flush=True)
            losses.zero_()
            steps = 0
            training.save()
        if ended:
            break
    weights = {name: tensor.half().cpu().numpy() for name, tensor in training.network.state_dict().items()}
    np.savez(folder / "weights.npz", **weights)
    manifest = {
        "size": asdict(size),
        "recipe": asdict(recipe),
        "first": sha256(first.read_bytes()).hexdigest() if first else None,
        "curve": curve,
        "sha256": sha256((folder / "weights.npz").read_bytes()).hexdigest(),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return curve


def _halved(kept: Any) -> Any:
    """Momentum in half the precision, which keeps a checkpoint small."""
    if isinstance(kept, dict):
        return {name: part.bfloat16() if name in {"m", "exp_avg"} else _halved(part) for name, part in kept.items()}
    return kept


def _held_out(recipe: Recipe, workers: int) -> list[dict[str, Tensor]]:
    data = Batches(_VALIDATION_SEED, min(recipe.cells, _VALIDATION_CELLS), recipe.event_share)
    return list(DataLoader(data, batch_size=None, sampler=range(_VALIDATION_BATCHES), num_workers=workers))
