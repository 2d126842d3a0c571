"""The Gaussian process classifier against gpytorch's own prediction, scikit-learn's process and exact cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gpytorch
import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import (
    check_estimators_unfitted,
    check_n_features_in,
)

from autoprog.model import dump_estimator, load_estimator
from autoprog.space import TableShape
from autoprog.space.prediction import variational
from autoprog.space.prediction.gaussian_process import GAUSSIAN_PROCESS, GaussianProcess
from autoprog.space.prediction.variational import fit_process

KERNELS = ("rbf", "matern52", "matern32")
SHAPE = TableShape(n_patients=100, n_columns=3, n_minority=40, has_missing=False)


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what holds of a fit however far it has climbed."""
    monkeypatch.setattr(variational, "_STEPS", 10)


def _ring(n: int, seed: int, columns: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Patients whose risk depends on their distance from the origin of the first two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    logit = 3.0 * (X[:, 0] ** 2 + X[:, 1] ** 2 - 1.4)
    return X, (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("ard", [True, False])
def test_the_stored_arrays_predict_what_gpytorch_predicts(kernel: str, ard: bool, few_steps: None) -> None:
    X, y = _ring(80, 0, columns=3)
    new = np.random.default_rng(1).normal(size=(50, 3)) * 2
    model = GaussianProcess(kernel, ard=ard, inducing=20, random_state=4).fit(X, y)
    process = fit_process(X, y.astype(float), kernel, ard=ard, inducing=20, seed=4)
    with torch.no_grad():
        expected = gpytorch.likelihoods.BernoulliLikelihood()(process(torch.from_numpy(new))).mean.numpy()
    # gpytorch adds 1e-4 or less to the latent variance for its own factorisations.
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], expected, atol=1e-4)


def test_agrees_with_the_laplace_approximation_of_scikit_learn() -> None:
    X, y = _ring(120, 2)
    new, outcome = _ring(400, 3)
    ours = GaussianProcess(ard=False, inducing=120).fit(X, y).predict_proba(new)[:, 1]
    theirs = GaussianProcessClassifier(ConstantKernel(1.0) * RBF(1.4)).fit(X, y).predict_proba(new)[:, 1]
    # Another link, approximation and prior: the ranking is the same, the risks are close.
    assert np.corrcoef(ours, theirs)[0, 1] > 0.98
    assert np.abs(ours - theirs).mean() < 0.05
    assert roc_auc_score(outcome, ours) > roc_auc_score(outcome, theirs) - 0.01


def test_length_scales_of_their_own_find_the_columns_that_matter() -> None:
    X, y = _ring(300, 5, columns=6)
    model = GaussianProcess(ard=True).fit(X, y)
    assert model.lengths_[:2].max() < model.lengths_[2:].min()
    assert np.ptp(GaussianProcess(ard=False).fit(X, y).lengths_) == 0


def test_far_from_all_patients_the_prior_holds(few_steps: None) -> None:
    X, y = _ring(60, 6)
    model = GaussianProcess(inducing=30).fit(X, y)
    far = model.predict_proba([[1e4, -1e4]])[0, 1]
    assert far == pytest.approx(norm.cdf(model.mean_ / np.sqrt(1 + model.variance_)), abs=1e-12)


def test_the_same_seed_gives_the_same_fit_and_touches_no_global_state(few_steps: None) -> None:
    X, y = _ring(60, 7)
    state, legacy = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002  what is tested
    first, second, other = (GaussianProcess(inducing=20, random_state=s).fit(X, y).predict_proba(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    assert torch.equal(state, torch.random.get_rng_state())
    np.testing.assert_array_equal(legacy, np.random.get_state()[1])  # noqa: NPY002


def test_twins_and_separable_patients_give_finite_risks() -> None:
    """Ten copies of twenty patients whom one column separates: more inducing points than distinct patients."""
    X = np.repeat(np.random.default_rng(8).normal(size=(20, 3)), 10, axis=0)
    y = (X[:, 0] > 0).astype(int)
    risks = GaussianProcess(inducing=128).fit(X, y).predict_proba(X)[:, 1]
    assert np.isfinite(risks).all()
    assert ((risks > 0.5) == (y == 1)).mean() > 0.95


def test_more_patients_than_a_batch_are_learnt_from() -> None:
    X, y = _ring(1000, 9)
    new, outcome = _ring(1000, 10)
    logit = 3.0 * (new[:, 0] ** 2 + new[:, 1] ** 2 - 1.4)
    risks = GaussianProcess(inducing=32).fit(X, y).predict_proba(new)[:, 1]
    assert roc_auc_score(outcome, risks) > roc_auc_score(outcome, logit) - 0.02


def test_one_patient_alone_gets_the_answer_he_gets_among_others(few_steps: None) -> None:
    X, y = _ring(60, 11)
    model = GaussianProcess(inducing=20).fit(X, y)
    among = model.predict_proba(X)
    alone = np.vstack([model.predict_proba(X[[i]]) for i in range(10)])
    np.testing.assert_allclose(alone, among[:10], rtol=0, atol=1e-12)


def test_keeps_the_names_of_the_classes_and_refuses_a_single_one(few_steps: None) -> None:
    X, y = _ring(40, 12)
    named = np.where(y == 1, "yes", "no")
    model = GaussianProcess(inducing=10).fit(X, named)
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(X)) <= {"no", "yes"}
    with pytest.raises(ValueError, match="1 class"):
        GaussianProcess().fit(X, np.zeros(40, dtype=int))


def test_follows_conventions_of_scikit_learn(few_steps: None) -> None:
    """Of its checks those that do not fit dozens of times."""
    for check in (check_estimators_unfitted, check_n_features_in):
        check("GaussianProcess", GaussianProcess(inducing=10))


def test_the_entry_builds_fits_clones_and_survives_storage(few_steps: None) -> None:
    X, y = _ring(30, 13)
    for unit in (0.0, 1.0):
        step = GAUSSIAN_PROCESS.step_from_unit({h.name: unit for h in GAUSSIAN_PROCESS.hyperparameters})
        estimator = clone(GAUSSIAN_PROCESS.build(dict(step.parameters), SHAPE, 3)).fit(X, y)
        assert estimator[-1].random_state == 3
        loaded = load_estimator(dump_estimator(estimator))
        np.testing.assert_array_equal(loaded.predict_proba(X), estimator.predict_proba(X))


def test_a_stored_model_predicts_without_torch(tmp_path: Path, few_steps: None) -> None:
    X, y = _ring(60, 14)
    model = GaussianProcess(inducing=10).fit(X, y)
    (tmp_path / "model").write_bytes(dump_estimator(model))
    np.save(tmp_path / "X.npy", X)
    script = (
        "import sys; from pathlib import Path; import numpy as np; from autoprog.model import load_estimator\n"
        "folder = Path(sys.argv[1]); model = load_estimator((folder / 'model').read_bytes())\n"
        "np.save(folder / 'risks.npy', model.predict_proba(np.load(folder / 'X.npy')))\n"
        "assert 'torch' not in sys.modules and 'gpytorch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "risks.npy"), model.predict_proba(X))
