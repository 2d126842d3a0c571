"""Principal components in the feature space of a kernel, from all training patients or a few landmarks.

x_i    columns of landmark i                                                    (d,)
K      kernel matrix of the landmarks, K_ij = k(x_i, x_j)                       (m, m)
C      K centred at the landmarks' mean, H K H with H = I - 11'/m               (m, m)
lam    eigenvalues of C, descending                                             (m,)
V      their eigenvectors, as columns                                           (m, m)
A      dual coefficients of the components, V lam^(-1/2)                        (m, p)
k_x    kernel of a patient x with the landmarks, centred at their mean          (m,)

The components of a patient are A'k_x. Those of the landmarks are V lam^(1/2), whose products give C again. With every
training patient a landmark, the first components are kernel principal component analysis [1]; all components of a few
random landmarks are Nyström's approximation [2].

References
----------
[1] Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue problem", Neural
Computation 10:1299-1319.
[2] Williams & Seeger (2001), "Using the Nyström method to speed up kernel machines", NIPS 13.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import gen_batches
from sklearn.utils.validation import validate_data

from autoprog.space.fitted_rows import check_rows

KERNEL_COMPONENTS = "autoprog.space.features.kernel_components.KernelComponents"

# Least eigenvalue, relative to the kernel's Frobenius norm. Rounding leaves about 1e-16: a smaller component has fewer
# than eight correct digits, and a learner that standardises would amplify the rounding.
_MIN_EIGENVALUE = 1e-8

# Kernel cells of a batch of patients and the landmarks: 32 MB of float64.
_CELLS_AT_ONCE = 4_000_000


# scikit-learn's `KernelPCA` raises if a kernel that is not positive definite (sigmoid) has negative eigenvalues among
# the requested ones, and holds the kernel of all new patients at once. Its `Nystroem` divides by the root of
# eigenvalues down to 1e-12 whatever the size of the kernel: for similar patients it returns rounding noise.
class KernelComponents(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel principal components, or Nyström features, for any symmetric kernel and number of patients."""

    def __init__(
        self,
        n_components: int,
        kernel: str = "rbf",
        *,
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 0.0,
        landmarks: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components  # at most; fewer if fewer eigenvalues are positive, at least one
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks  # number of training patients to draw; all if None
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the components; memory grows with the square of the landmarks, time with the cube."""
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        self.landmarks_: NDArray[np.float64] = columns[self._drawn(len(columns))]
        K = self._kernel(self.landmarks_)
        # The rounding error of C is relative to K.
        least = _MIN_EIGENVALUE * np.linalg.norm(K)
        self.centerer_ = KernelCenterer().fit(K)
        C = self.centerer_.transform(K)
        m = len(C)
        lam, V = eigh(C, subset_by_index=(max(0, m - self.n_components), m - 1))
        positive = np.flatnonzero(lam > least)[::-1]
        if len(positive):
            self.eigenvalues_: NDArray[np.float64] = lam[positive]
            self.dual_: NDArray[np.float64] = V[:, positive] / np.sqrt(lam[positive])
        else:
            self.eigenvalues_, self.dual_ = np.zeros(1), np.zeros((m, 1))
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Components of these patients, by descending eigenvalue, shape = (n_patients, n_components)."""
        columns = check_rows(self, X, missing=False)
        components = np.empty((len(columns), self.dual_.shape[1]))
        for batch in gen_batches(len(columns), max(1, _CELLS_AT_ONCE // len(self.landmarks_))):
            k_x = self.centerer_.transform(self._kernel(columns[batch], self.landmarks_), copy=False)
            components[batch] = k_x @ self.dual_
        return components

    def _drawn(self, n_patients: int) -> NDArray[np.intp]:
        if self.landmarks is None or n_patients <= self.landmarks:
            return np.arange(n_patients)
        rng = np.random.default_rng(self.random_state)
        return np.sort(rng.choice(n_patients, self.landmarks, replace=False))

    def _kernel(self, X: NDArray[np.float64], Z: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        kernel: NDArray[np.float64] = pairwise_kernels(
            X, Z, metric=self.kernel, filter_params=True, gamma=self.gamma, degree=self.degree, coef0=self.coef0
        )
        return kernel
