"""Penalised logistic regression on encoded columns: linear, with splines, or with a kernel; solved along a path.

=======  =========================================================================================  ==========
symbol   meaning                                                                                    shape
=======  =========================================================================================  ==========
z        encoded columns, see `linear_encoding`                                                     (n, d)
B        their expansion: z, z and its splines, or the components of a kernel                       (n, D)
C, rho   inverse strength of the penalty, and its L1 share                                          scalars
beta     coefficients                                                                               (D,)
=======  =========================================================================================  ==========

    minimise  C sum_i w_i log(1 + exp(-y_i (a + B_i beta))) + (1 - rho) / 2 |beta|^2 + rho |beta|_1

Splines are restricted cubic: k knots give k - 2 columns beside the linear one, and straight lines outside. The kernel
is exp(-gamma / d |z - z'|^2), by Nystroem's components on a sample of patients.

References
----------
Hoerl & Kennard (1970); Tibshirani (1996); Zou & Hastie (2005), J. R. Stat. Soc. B 67:301: the penalties.
Friedman, Hastie & Tibshirani (2010), J. Stat. Softw. 33(1): paths from the strongest penalty on.
Harrell (2015), Regression Modeling Strategies, section 2.4.5: restricted cubic splines and the places of knots.
Williams & Seeger (2001), NIPS 13: Nystroem's method.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, Input, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Float, Integer, Parameter
from autoprog.space.path import FittedPath, HeldOut, grid_up_to
from autoprog.space.prediction.linear_encoding import LinearEncoding
from autoprog.space.prediction.restricted_cubic_splines import RestrictedCubicSplines
from autoprog.space.prediction.two_classes import BinaryClassifier, two_classes

_TAKES: frozenset[Input] = frozenset({"missing", "negative", "collinear", "weights"})
_ENCODING = "autoprog.space.prediction.linear_encoding.LinearEncoding"
_HERE = "autoprog.space.prediction.penalised."
_NYSTROEM = "sklearn.kernel_approximation.Nystroem"

_C = Float("C", 3e-4, 3.0, 0.1, log=True)
_C_OF_KERNEL = Float("C", 0.03, 300.0, 3.0, log=True)
# Values of C per doubling: nine on the whole axis.
_DENSITY = 0.6
_TOLERANCE, _STEPS = 1e-6, 1000
# The L1 penalty has no curvature, so its tolerance is wider.
_ABSOLUTE_TOLERANCE, _INTERCEPT_SCALING = 1e-3, 10.0
# Newton's method for the intercept alone takes about five.
_INTERCEPT_STEPS = 100
# Most columns for Newton's method, which solves a system of that size.
_NEWTON_COLUMNS = 120


class PenalisedLogistic(BinaryClassifier):
    """Logistic regression with an elastic net on encoded columns."""

    axis = _C

    def __init__(self, C: float = 0.1, l1_ratio: float = 0.0, *, random_state: int = 0) -> None:
        self.C = C
        self.l1_ratio = l1_ratio
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Encode the columns and solve for one penalty; NaN is missing, ValueError without two classes."""
        columns, outcome = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, events = two_classes(outcome)
        B = self._learn_columns(columns)
        self._solve(self._solver(B.shape[1]), B, events, sample_weight)
        return self

    def fit_path(
        self,
        X: NDArray[np.float64],
        y: NDArray[np.integer],
        held_out: HeldOut,  # noqa: ARG002  part of the protocol
        sample_weight: NDArray[np.float64] | None = None,
    ) -> FittedPath:
        """Solve from the strongest penalty to that of C; see `autoprog.space.path.PathLearner`."""
        columns, outcome = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        self.classes_, events = two_classes(outcome)
        B = self._learn_columns(columns)
        values = grid_up_to(self.axis.low, self.C, _DENSITY)
        solver, coef, intercept = self._solver(B.shape[1]), np.empty((len(values), B.shape[1])), np.empty(len(values))
        for k, value in enumerate(values):
            self._solve(solver.set_params(C=value), B, events, sample_weight)
            coef[k], intercept[k] = self.coef_, self.intercept_
        return FittedPath(values, lambda rows: expit(coef @ self._columns(rows).T + intercept[:, None]))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Probability of each class, shape = (n_patients, 2), columns as in `classes_`."""
        columns = check_rows(self, X)
        logits = self._columns(columns) @ self.coef_ + self.intercept_
        return np.column_stack([expit(-logits), expit(logits)])

    def _learn_columns(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """B of the training patients."""
        self.encoding_ = LinearEncoding()
        return self._learn_expansion(self.encoding_.fit_transform(X))

    def _learn_expansion(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return z

    def _columns(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """B of any patients."""
        return self._expanded(np.asarray(self.encoding_.transform(X)))

    def _expanded(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return z

    def _solver(self, n_columns: int) -> LogisticRegression:
        asked = {"C": self.C, "l1_ratio": self.l1_ratio, "max_iter": _STEPS, "random_state": self.random_state}
        if self.l1_ratio == 1:
            # Coordinate descent, ten times as fast as saga; it penalises the intercept, too, divided by its scaling.
            return LogisticRegression(
                solver="liblinear", tol=_ABSOLUTE_TOLERANCE, intercept_scaling=_INTERCEPT_SCALING, **asked
            )
        if self.l1_ratio > 0:
            return LogisticRegression(solver="saga", tol=_ABSOLUTE_TOLERANCE, warm_start=True, **asked)
        smooth = "newton-cholesky" if n_columns <= _NEWTON_COLUMNS else "lbfgs"
        return LogisticRegression(solver=smooth, tol=_TOLERANCE, warm_start=True, **asked)

    def _solve(
        self,
        solver: LogisticRegression,
        B: NDArray[np.float64],
        events: NDArray[np.float64],
        sample_weight: ArrayLike | None,
    ) -> None:
        solver.fit(B, events, sample_weight=sample_weight)
        self.coef_ = solver.coef_[0].copy()
        weights = np.ones(len(B)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        # liblinear's intercept is off by 1 / (10 C) events, too many if they are rare; saga's by its tolerance.
        self.intercept_ = _intercept(B @ self.coef_, events, weights, float(solver.intercept_[0]))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _intercept(
    slopes: NDArray[np.float64], events: NDArray[np.float64], weights: NDArray[np.float64], start: float
) -> float:
    """The intercept a with as many expected as observed events: sum_i w_i (p_i - y_i) = 0; `slopes` is B beta."""
    a, enough = start, 1e-10 * weights.sum()
    for _ in range(_INTERCEPT_STEPS):
        p = expit(a + slopes)
        excess = float(weights @ (p - events))
        if abs(excess) <= enough:
            break
        # The curvature changes at most e-fold within 1, so steps of at most 1 converge from anywhere.
        a -= float(np.clip(excess / max(float(weights @ (p * (1.0 - p))), 1e-300), -1.0, 1.0))
    return a


class SplineLogistic(PenalisedLogistic):
    """Ridge logistic regression on encoded columns and their restricted cubic splines."""

    def __init__(self, C: float = 0.1, knots: int = 5) -> None:
        super().__init__(C)
        self.knots = knots  # k, at least 3

    def _learn_expansion(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        self.splines_ = RestrictedCubicSplines(self.knots).fit(z)
        return self._expanded(z)

    def _expanded(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([z, self.splines_.transform(z)])


class KernelLogistic(PenalisedLogistic):
    """Ridge logistic regression on the components of a Gaussian kernel of encoded columns."""

    axis = _C_OF_KERNEL

    def __init__(self, C: float = 3.0, gamma: float = 0.5, components: int = 250, *, random_state: int = 0) -> None:
        super().__init__(C, random_state=random_state)
        self.gamma = gamma  # above 0; divided by the number of columns
        self.components = components  # most patients to sample for the kernel's components

    def _learn_expansion(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        self.kernel_ = Nystroem(
            gamma=self.gamma / z.shape[1],
            n_components=min(self.components, len(z)),
            random_state=self.random_state,
        ).fit(z)
        return self._expanded(z)

    def _expanded(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        components: NDArray[np.float64] = self.kernel_.transform(z)
        return components


def _penalised_logistic(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return PenalisedLogistic(float(parameters["C"]), float(parameters["l1_ratio"]), random_state=seed)


def _spline_logistic(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return SplineLogistic(float(parameters["C"]), int(parameters["knots"]))


def _kernel_logistic(parameters: Mapping[str, Parameter], _shape: TableShape, seed: int) -> BaseEstimator:
    return KernelLogistic(
        float(parameters["C"]), float(parameters["gamma"]), int(parameters["components"]), random_state=seed
    )


PENALISED_LOGISTIC = Algorithm(
    "prediction",
    "penalised_logistic",
    (_C, Float("l1_ratio", 0.0, 1.0, 0.0)),
    _penalised_logistic,
    family="linear",
    takes=_TAKES,
    cost=Cost(0.02, patients=1.0, columns=1.2),
    max_patients=50_000,
    stored_types=(_ENCODING, _HERE + "PenalisedLogistic"),
    reference="Zou & Hastie (2005), J. R. Stat. Soc. B 67:301-320; Friedman et al. (2010), J. Stat. Softw. 33(1): path",
    table_1=False,
    path="C",
)

SPLINE_LOGISTIC = Algorithm(
    "prediction",
    "spline_logistic",
    (_C, Integer("knots", 3, 7, 5)),
    _spline_logistic,
    family="linear",
    takes=_TAKES,
    cost=Cost(0.05, patients=1.0, columns=1.3),
    max_patients=50_000,
    max_columns=500,
    stored_types=(
        _ENCODING,
        _HERE + "SplineLogistic",
        "autoprog.space.prediction.restricted_cubic_splines.RestrictedCubicSplines",
    ),
    reference="Harrell (2015), Regression Modeling Strategies, 2nd ed., sections 2.4.5 and 9.10 (penalised)",
    table_1=False,
    path="C",
)

KERNEL_LOGISTIC = Algorithm(
    "prediction",
    "kernel_logistic",
    (_C_OF_KERNEL, Float("gamma", 0.05, 3.0, 0.5, log=True), Integer("components", 50, 500, 250, log=True)),
    _kernel_logistic,
    family="kernel",
    takes=_TAKES,
    cost=Cost(0.2, patients=1.0, columns=0.3),
    max_patients=20_000,
    stored_types=(_ENCODING, _HERE + "KernelLogistic", _NYSTROEM),
    patients_in=_NYSTROEM,
    reference="Zhu & Hastie (2005), J. Comput. Graph. Stat. 14:185-205; Williams & Seeger (2001), NIPS 13: Nystroem",
    table_1=False,
    path="C",
)
