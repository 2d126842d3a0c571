"""The neural network against torch's own layers, numerical gradients and problems with a known answer."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from autoprog.model import dump_estimator, load_estimator
from autoprog.space import TableShape
from autoprog.space.prediction.adamw import CosineAdamW
from autoprog.space.prediction.backpropagation import Network, Recipe, _split, train
from autoprog.space.prediction.neural_network import NEURAL_NETWORK, MultilayerPerceptron
from tests.cohorts import cleveland_cohort

SHAPE = TableShape(n_patients=100, n_columns=3, n_minority=40, has_missing=False)


def _xor(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def test_learns_what_no_linear_model_can() -> None:
    X, y = _xor(600, 0)
    new, outcome = _xor(500, 1)
    risks = MultilayerPerceptron(learning_rate=5e-3).fit(X, y).predict_proba(new)[:, 1]
    assert roc_auc_score(outcome, risks) > 0.95
    assert roc_auc_score(outcome, LogisticRegression().fit(X, y).decision_function(new)) < 0.6


def test_the_stored_arrays_predict_what_torch_layers_predict() -> None:
    X, y = _xor(100, 2)
    model = MultilayerPerceptron(3, 20).fit(X, y)
    layers: list[torch.nn.Module] = []
    for W, b in zip(model.weights_, model.biases_, strict=True):
        layer = torch.nn.Linear(*W.shape)
        layer.load_state_dict({"weight": torch.from_numpy(W.T.copy()), "bias": torch.from_numpy(b)})
        layers += [layer, torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1], torch.nn.Sigmoid())
    z = (X - model.centre_) / model.scale_
    with torch.no_grad():
        expected = network(torch.from_numpy(z / np.sqrt(1 + (z / 3) ** 2)).float())[:, 0].numpy()
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, atol=1e-6)  # float32 there
    assert all(a.dtype == np.float32 and type(a) is np.ndarray for a in (*model.weights_, *model.biases_))


def test_the_gradient_is_that_of_finite_differences() -> None:
    generator = torch.Generator().manual_seed(0)
    drawn = Network.drawn((3, 5, 4, 1), generator)
    network = Network([W.detach().double() for W in drawn.weights], [b.detach().double() for b in drawn.biases])
    X = torch.randn(20, 3, generator=generator, dtype=torch.float64)

    def logits(*parameters: torch.Tensor) -> torch.Tensor:
        return Network(list(parameters[:3]), list(parameters[3:])).logits(X)

    parameters = [p.requires_grad_() for p in (*network.weights, *network.biases)]
    assert torch.autograd.gradcheck(logits, parameters)


def test_dropout_leaves_the_expected_activation_as_it_is() -> None:
    """With one linear hidden layer the mean of the logits over masks is the logit without dropout."""
    generator = torch.Generator().manual_seed(1)
    network = Network([torch.rand(2, 50, generator=generator), torch.rand(50, 1)], [torch.zeros(50), torch.zeros(1)])
    x = torch.ones(1, 2)
    draws = torch.cat([network.logits(x, 0.4, generator) for _ in range(4000)])
    error = draws.std().item() / math.sqrt(len(draws))
    assert draws.mean().item() == pytest.approx(network.logits(x).item(), abs=5 * error)
    assert draws.std().item() > 0


def test_the_held_out_patients_are_a_fifth_of_each_class() -> None:
    y = torch.tensor([0.0] * 80 + [1.0] * 21)
    learning, held_out = _split(y, torch.Generator().manual_seed(0))
    assert int(y[held_out].sum()) == 4
    assert len(held_out) == 20
    assert sorted(torch.cat([learning, held_out]).tolist()) == list(range(101))


def test_held_out_groups_are_whole_and_a_fifth_of_each_class() -> None:
    group = np.repeat(np.arange(40), 5)
    y = torch.from_numpy((group % 4 == 0).astype(np.float32))
    learning, held_out = _split(y, torch.Generator().manual_seed(0), group)
    assert not set(group[learning.numpy()]) & set(group[held_out.numpy()])
    assert (len(held_out), int(y[held_out].sum())) == (40, 10)
    np.testing.assert_array_equal(np.sort(np.concatenate([learning, held_out])), np.arange(200))


@pytest.mark.parametrize("sizes", [(800, 100, 100), (600, 200, 200), (400, 150, 150, 100, 100, 100)])
def test_of_few_groups_those_are_held_out_that_are_nearest_a_fifth(sizes: tuple[int, ...]) -> None:
    """Not the largest hospital, which would leave the small ones alone to learn from."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    y = torch.from_numpy((np.arange(1_000) % 3 == 0).astype(np.float32))
    learning, held_out = _split(y, torch.Generator().manual_seed(1), group)
    assert not set(group[learning.numpy()]) & set(group[held_out.numpy()])
    assert 100 <= len(held_out) <= 250


def test_the_kept_parameters_do_no_worse_on_the_held_out_than_chance() -> None:
    """Outcomes of pure noise: a network that never stopped would fit them and predict with confidence."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(150, 10)), rng.integers(0, 2, 150)
    risks = MultilayerPerceptron(2, 128, dropout=0.0).fit(X, y).predict_proba(rng.normal(size=(500, 10)))[:, 1]
    outcome = rng.integers(0, 2, 500)
    loss = -np.mean(np.log(np.where(outcome == 1, risks, 1 - risks)))
    assert loss < 0.9  # ln 2 = .69 for a constant; above 2 when trained to the end


def test_weight_decay_shrinks_the_network() -> None:
    X, y = _xor(200, 4)
    inputs, outcomes = X.astype(np.float32), y.astype(np.float32)
    sizes = [
        sum(float((W**2).sum()) for W in train(inputs, outcomes, Recipe((16,), 0.0, 1e-2, decay), 0).weights)
        for decay in (0.0, 3.0)
    ]
    assert sizes[1] < 0.9 * sizes[0]


def test_close_to_logistic_regression_on_cleveland() -> None:
    cohort = cleveland_cohort()
    scores = {}
    for name, estimator in {
        "network": MultilayerPerceptron(),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    }.items():
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(cohort.X, cohort.y)
        pipeline = make_pipeline(SimpleImputer(strategy="median"), estimator)
        scores[name] = np.mean(
            [
                roc_auc_score(
                    cohort.y[test],
                    clone(pipeline).fit(cohort.X[train], cohort.y[train]).predict_proba(cohort.X[test])[:, 1],
                )
                for train, test in folds
            ]
        )
    assert scores["network"] > scores["logistic"] - 0.03


def test_the_same_seed_gives_the_same_fit_and_touches_no_global_state() -> None:
    X, y = _xor(80, 5)
    state = torch.random.get_rng_state()
    first, second, other = (MultilayerPerceptron(random_state=s).fit(X, y).predict_proba(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert torch.equal(state, torch.random.get_rng_state())


def test_outliers_and_constant_columns_do_no_harm() -> None:
    X, y = _xor(100, 6)
    X = np.column_stack([X, np.full(100, 7.0), (np.arange(100) < 5).astype(float)])
    model = MultilayerPerceptron(1, 16).fit(X, y)
    far = X[:3].copy()
    far[:, 0] = [1e30, -1e30, 0.0]
    risks = model.predict_proba(far)[:, 1]
    assert np.isfinite(risks).all()
    assert ((risks > 0) & (risks < 1)).all()


def test_few_patients_of_a_class_can_be_fitted() -> None:
    X, _ = _xor(12, 7)
    y = np.zeros(12, dtype=int)
    y[:2] = 1
    assert np.isfinite(MultilayerPerceptron(1, 16).fit(X, y).predict_proba(X)).all()
    assert np.isfinite(MultilayerPerceptron(1, 16).fit(X[:4], [0, 1, 0, 1]).predict_proba(X)).all()


def test_one_patient_alone_gets_the_answer_he_gets_among_others() -> None:
    X, y = _xor(80, 8)
    model = MultilayerPerceptron().fit(X, y)
    alone = np.vstack([model.predict_proba(X[[i]]) for i in range(10)])
    np.testing.assert_allclose(alone, model.predict_proba(X)[:10], rtol=0, atol=1e-12)


def test_keeps_the_names_of_the_classes_and_refuses_three() -> None:
    X, y = _xor(60, 9)
    model = MultilayerPerceptron(1, 16).fit(X, np.where(y == 1, "yes", "no"))
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(X)) <= {"no", "yes"}
    with pytest.raises(ValueError, match="3 class"):
        MultilayerPerceptron().fit(X, np.arange(60) % 3)


def test_follows_the_conventions_of_scikit_learn() -> None:
    check_estimator(MultilayerPerceptron(1, 16), on_skip=None)


def test_the_entry_builds_fits_clones_and_survives_storage() -> None:
    X, y = _xor(60, 10)
    for unit in (0.0, 0.5, 1.0):
        step = NEURAL_NETWORK.step_from_unit({h.name: unit for h in NEURAL_NETWORK.hyperparameters})
        estimator = clone(NEURAL_NETWORK.build(dict(step.parameters), SHAPE, 3)).fit(X, y)
        assert estimator.random_state == 3
        loaded = load_estimator(dump_estimator(estimator))
        np.testing.assert_array_equal(loaded.predict_proba(X), estimator.predict_proba(X))


def test_a_stored_model_predicts_without_torch(tmp_path: Path) -> None:
    X, y = _xor(60, 11)
    model = MultilayerPerceptron(1, 16).fit(X, y)
    (tmp_path / "model").write_bytes(dump_estimator(model))
    np.save(tmp_path / "X.npy", X)
    script = (
        "import sys; from pathlib import Path; import numpy as np; from autoprog.model import load_estimator\n"
        "folder = Path(sys.argv[1]); model = load_estimator((folder / 'model').read_bytes())\n"
        "np.save(folder / 'risks.npy', model.predict_proba(np.load(folder / 'X.npy')))\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "risks.npy"), model.predict_proba(X))


def test_steps_are_those_of_the_library_without_its_compiler() -> None:
    """Up to rounding the weights of `torch.optim.AdamW` under its cosine schedule; biases do not decay."""
    generator = torch.Generator().manual_seed(1)
    X, y = torch.randn(64, 5, generator=generator), torch.rand(64, generator=generator)
    ours, theirs = ([torch.full((5, 1), 0.3, requires_grad=True), torch.zeros(1, requires_grad=True)] for _ in range(2))
    own = CosineAdamW(ours[:1], ours[1:], rate=0.05, weight_decay=0.5, steps=30)
    groups = [{"params": theirs[:1], "weight_decay": 0.5}, {"params": theirs[1:], "weight_decay": 0.0}]
    library = torch.optim.AdamW(groups, lr=0.05, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(library, 30)
    for _ in range(30):
        own.step(((X @ ours[0] + ours[1])[:, 0] - y).square().mean())
        library.zero_grad()
        ((X @ theirs[0] + theirs[1])[:, 0] - y).square().mean().backward()
        library.step()
        schedule.step()
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)
    script = (
        "import sys, torch\n"
        "from autoprog.space.prediction.adamw import CosineAdamW\n"
        "w, b = torch.ones(2, 1, requires_grad=True), torch.zeros(1, requires_grad=True)\n"
        "CosineAdamW([w], [b], rate=0.1, weight_decay=0.1, steps=2).step((w.sum() + b).square().sum())\n"
        "assert 'torch._dynamo' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
