"""Synthetic tables are what they are said to be, and a training goes on where it was interrupted."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from training.network import training
from training.network.architecture import PriorNetwork, Size
from training.network.batches import Batches
from training.network.outcomes import draw_times, label
from training.network.tables import draw_latent, lose_cells, measure
from training.network.training import Muon, Recipe, loss_of, train

TINY = Size(d=16, blocks=1, heads=2, wider=2)
RNG = np.random.default_rng


def test_a_batch_is_the_same_whenever_it_is_drawn() -> None:
    batches = Batches(3, 4_000, 0.5)
    first, again = batches[7], batches[7]
    assert first.keys() == again.keys()
    assert all(np.array_equal(first[name], again[name]) for name in first)


@pytest.mark.parametrize("i", range(6))
def test_batches_hold_what_the_network_reads(i: int) -> None:
    batch = Batches(0, 4_000, 0.5)[i]
    tables, m, groups, _ = batch["cells"].shape
    n = int(batch["n"])
    assert 20 <= n < m
    assert 1 <= groups <= 16
    assert np.isfinite(batch["cells"]).all()
    assert np.isfinite(batch["scores"]).all()
    if "y" in batch:
        assert batch["y"].shape == (tables, m)
        assert all(0 < y[:n].sum() < n for y in batch["y"])
    else:
        assert batch["cause"].shape == (tables, n)
        assert ((batch["cause"] == 1).sum(axis=1) >= 3).all()
        assert batch["true_interval"].shape == batch["true_cause"].shape == (tables, m - n)


@pytest.mark.parametrize("rate", [0.05, 0.4, 0.8])
def test_labels_have_their_rate_and_follow_the_score(rate: float) -> None:
    rng = RNG(1)
    eta = rng.standard_normal(20_000)
    y = label(rng, eta, 2.0, rate)
    assert y.mean() == pytest.approx(rate, abs=0.02)
    assert eta[y == 1].mean() > eta[y == 0].mean() + 0.5


def test_times_of_a_cause_follow_its_score() -> None:
    rng = RNG(2)
    first, second = rng.standard_normal((2, 3_000))
    time, cause, censoring = draw_times(rng, [first, second])
    assert set(np.unique(cause)) == {1, 2}
    assert (time >= 0).all()
    assert (censoring > 0).all()
    assert first[cause == 1].mean() > first[cause == 2].mean()


def test_columns_have_units_and_some_gaps() -> None:
    rng = RNG(3)
    U = draw_latent(rng, 200, 30)
    x = measure(rng, U)
    assert x.shape == U.shape
    levels = [len(np.unique(column)) for column in x.T]
    assert min(levels) <= 3
    assert max(levels) > 20
    shares = [np.isnan(lose_cells(RNG(seed), x.copy(), U, U[:, 0])).mean() for seed in range(12)]
    assert 0 < sum(share == 0 for share in shares) < 12


def test_a_step_of_muon_is_orthogonal() -> None:
    weight = torch.nn.Parameter(torch.zeros(6, 9))
    weight.grad = torch.randn(6, 9, generator=torch.Generator().manual_seed(0))
    Muon([weight], lr=1.0, decay=0.0).step()
    singular = torch.linalg.svdvals(weight.detach()) / (0.2 * 9**0.5)
    assert ((singular > 0.6) & (singular < 1.3)).all()


def test_an_untrained_network_says_the_rate() -> None:
    batch = {name: torch.as_tensor(array) for name, array in Batches(0, 3_000, 0.0)[0].items()}
    n = int(batch["n"])
    y = batch["y"][:, n:].double().numpy()
    p = 1 / (1 + np.exp(-batch["log_odds"].double().numpy()))[:, None]
    expected = -(y * np.log(p) + (1 - y) * np.log(1 - p)).mean()
    assert loss_of(PriorNetwork(TINY), batch).item() == pytest.approx(expected, abs=1e-5)


def test_a_training_goes_on_where_it_ended(tmp_path: Path) -> None:
    (point,) = train(Recipe(seconds=0.5, cells=2_000), TINY, tmp_path, 0, None)
    assert point["seconds"] >= 0.5
    before, later = train(Recipe(seconds=1.5, cells=2_000), TINY, tmp_path, 0, None)
    assert before == point
    assert later["step"] > point["step"]
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["size"] == vars(TINY)
    assert manifest["curve"] == [point, later]
    other = tmp_path / "other"
    train(Recipe(seconds=0.1, cells=2_000), TINY, other, 0, tmp_path / "weights.npz")
    assert (other / "weights.npz").exists()


def test_the_batches_that_are_held_out_take_no_time_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> list[dict[str, torch.Tensor]]:
        time.sleep(2.0)
        return []

    monkeypatch.setattr(training, "_held_out", slow)
    (point,) = train(Recipe(seconds=0.1, cells=2_000), TINY, tmp_path, 0, None)
    assert point["seconds"] < 2.0
