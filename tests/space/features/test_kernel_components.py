from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels

from autoprog.space.features import kernel_components
from autoprog.space.features.kernel_components import KernelComponents

RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(80, 5)), RNG.normal(size=(40, 5))


def centred(K: np.ndarray) -> np.ndarray:
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def test_with_a_linear_kernel_they_are_principal_components() -> None:
    found = KernelComponents(10, "linear").fit(X)
    pca = PCA().fit(X)
    assert found.transform(X).shape == (80, 5)  # no more than the rank
    np.testing.assert_allclose(np.abs(found.transform(NEW)), np.abs(pca.transform(NEW)), atol=1e-10)
    np.testing.assert_allclose(found.eigenvalues_ / 79, pca.explained_variance_, rtol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "cosine"])
def test_equal_scikit_learns_where_it_can(kernel: str) -> None:
    of_kernel = {"kernel": kernel, "gamma": 0.3, "degree": 2, "coef0": 1.0}
    ours = KernelComponents(5, **of_kernel).fit(X).transform(NEW)
    theirs = KernelPCA(5, eigen_solver="dense", **of_kernel).fit(X).transform(NEW)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-8)


@pytest.mark.parametrize("coef0", [-1.0, 0.0, 1.0])
def test_of_an_indefinite_kernel_the_positive_part_is_kept(coef0: float) -> None:
    of_kernel = {"kernel": "sigmoid", "gamma": 2.0, "coef0": coef0}
    C = centred(pairwise_kernels(X, metric="sigmoid", gamma=2.0, coef0=coef0))
    lam, V = np.linalg.eigh(C)
    assert lam[0] < -1
    with pytest.raises(ValueError, match="negative eigenvalues"):
        KernelPCA(80, eigen_solver="dense", **of_kernel).fit(X)
    found = KernelComponents(80, **of_kernel).fit(X)
    assert found.eigenvalues_.min() > 0
    Z = found.transform(X)
    np.testing.assert_allclose(Z @ Z.T, V * lam.clip(0) @ V.T, atol=1e-5)  # what is left out is below 1e-6
    assert np.isfinite(found.transform(1e6 * NEW)).all()


def test_all_patients_as_landmarks_reproduce_the_kernel() -> None:
    Z = KernelComponents(80, gamma=0.2, landmarks=80).fit_transform(X)
    np.testing.assert_allclose(Z @ Z.T, centred(pairwise_kernels(X, metric="rbf", gamma=0.2)), atol=1e-5)


def test_few_landmarks_give_nystroems_approximation() -> None:
    found = KernelComponents(20, gamma=0.2, landmarks=20, random_state=1).fit(X)
    L = found.landmarks_
    assert {tuple(row) for row in L} <= {tuple(row) for row in X}
    assert len(np.unique(L, axis=0)) == 20
    # scikit-learn's map with the same landmarks, seen from their mean and without the one direction that is
    # perpendicular to all differences of landmarks.
    theirs = Nystroem(gamma=0.2, n_components=20).fit(L)
    landmarks, others = theirs.transform(L), theirs.transform(NEW)
    differences = landmarks - landmarks.mean(axis=0)
    onto = np.linalg.pinv(differences, rcond=1e-7) @ differences
    shifted = (others - landmarks.mean(axis=0)) @ onto
    np.testing.assert_allclose(found.transform(NEW) @ found.transform(NEW).T, shifted @ shifted.T, atol=1e-6)


def test_landmarks_follow_the_seed() -> None:
    first, again, other = (KernelComponents(5, landmarks=9, random_state=s).fit(X).landmarks_ for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = KernelComponents(5, gamma=0.2).fit(X)
    at_once = fitted.transform(NEW)
    monkeypatch.setattr(kernel_components, "_CELLS_AT_ONCE", 3 * 80)
    np.testing.assert_allclose(fitted.transform(NEW), at_once, rtol=0, atol=1e-12)


def test_the_kernel_of_all_patients_is_never_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_components, "_CELLS_AT_ONCE", 100_000)
    fitted = KernelComponents(2, gamma=0.2).fit(X)
    many = RNG.normal(size=(20_000, 5))  # their kernel has 12.8 MB, a batch of it 0.8
    tracemalloc.start()
    fitted.transform(many)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_patients_who_do_not_differ_have_one_component_of_zeros() -> None:
    fitted = KernelComponents(5, gamma=0.2).fit(np.ones((30, 2)))
    np.testing.assert_array_equal(fitted.transform(NEW[:, :2]), np.zeros((40, 1)))
