"""Principal components in the feature space of a kernel, of all training patients or of a few landmarks.

x_i    columns of landmark i                                                    (d,)
K      kernel matrix of the landmarks, K_ij = k(x_i, x_j)                        (m, m)
C      K around the landmarks' mean, H K H with H = I - 11'/m                    (m, m)
lam    eigenvalues of C, from large to small                                     (m,)
V      their eigenvectors, as columns                                            (m, m)
A      dual coefficients of the components, V lam^(-1/2)                         (m, p)
k_x    kernel of a patient x with the landmarks, around the landmarks' mean      (m,)

The components of a patient are A'k_x. Those of the landmarks are V lam^(1/2), whose products are C again.
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
from sklearn.utils.validation import check_is_fitted, validate_data

KERNEL_COMPONENTS = "autoprog.space.features.kernel_components.KernelComponents"

# Of an eigenvalue, relative to the kernel's Frobenius norm. Rounding leaves about 1e-16: a component below is known to
# fewer than eight digits, and a learner that standardises would show what rounding did to a patient.
_MIN_EIGENVALUE = 1e-8

# Of the kernel between a batch of patients and the landmarks: 32 MB of float64.
_CELLS_AT_ONCE = 4_000_000


class KernelComponents(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Kernel principal components, and Nyström's features, for any symmetric kernel and any number of patients.

    The first few components, with every training patient a landmark, are kernel principal component analysis [1]_. All
    components of a random few landmarks are Nyström's approximation [2]_ of the kernel around their mean.

    scikit-learn's `KernelPCA` raises where a kernel that is not positive definite (the sigmoid) has negative
    eigenvalues among those asked for, and holds the kernel of all new patients at once. Its `Nystroem` divides by the
    root of eigenvalues down to 1e-12 whatever the size of the kernel: where patients are alike it puts out rounding.
    Here eigenvalues that are negative or cannot be told from zero are left out; patients are transformed in batches.

    Parameters
    ----------
    n_components : int
        The most components; there are fewer where fewer eigenvalues are positive, and at least one.
    kernel : str
        As `sklearn.metrics.pairwise.pairwise_kernels` knows it.
    gamma, degree, coef0 : float
        Of the kernel; those that it does not have are not read.
    landmarks : int or None
        How many training patients are drawn as landmarks; all if None, or if there are fewer.
    random_state : int or None
        Of the draw.

    Attributes
    ----------
    landmarks_ : ndarray, shape = (n_landmarks, n_columns)
        The landmarks' columns.
    eigenvalues_ : ndarray, shape = (n_components,)
        Of the components, from large to small.
    dual_ : ndarray, shape = (n_landmarks, n_components)
        Dual coefficients A; zero where no two landmarks differ.

    References
    ----------
    .. [1] Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue problem", Neural
       Computation 10:1299-1319.
    .. [2] Williams & Seeger (2001), "Using the Nyström method to speed up kernel machines", NIPS 13.
    """

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
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  scikit-learn's signature
        """Find the components.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Standardised columns. Memory grows with the square, time with the cube of the number of landmarks.
        y : object
            Ignored.

        Returns
        -------
        KernelComponents
            Itself.
        """
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64)
        self.landmarks_: NDArray[np.float64] = columns[self._drawn(len(columns))]
        K = self._kernel(self.landmarks_)
        # What rounding leaves in C is relative to K.
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
        """Components of these patients.

        Parameters
        ----------
        X : array-like, shape = (n_patients, n_columns)
            Standardised columns.

        Returns
        -------
        ndarray, shape = (n_patients, n_components)
            float64, from the largest eigenvalue to the smallest.
        """
        check_is_fitted(self)
        columns: NDArray[np.float64] = validate_data(self, X, dtype=np.float64, reset=False)
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
