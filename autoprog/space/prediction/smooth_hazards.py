"""Smooth learners of event times on encoded columns: penalised proportional hazards and accelerated failure times.

======  ==========================================================================================  ==============
symbol  meaning                                                                                     shape
======  ==========================================================================================  ==============
z       encoded columns, see `linear_encoding`, and their splines if there are knots                (n, d)
C       inverse strength of a ridge penalty on the coefficients of standardised columns             scalar
mu, s   location and scale of log T given z; mu = a + z b                                           (n,), scalar
======  ==========================================================================================  ==============

Accelerated failure time: log T = mu + s e, with e smallest extreme value (Weibull), normal or logistic, so that
S(t) = exp(-u), 1 - Phi(log u) and 1 / (1 + u) with u = (t / exp(mu))^(1 / s). Its curves extend beyond the last event
time, linearly in log time, and its few parameters suit the smallest cohorts.

References
----------
Cox (1972), J R Stat Soc B 34:187; Verweij & van Houwelingen (1994), Stat Med 13:2427 (ridge); Harrell (2015),
Regression Modeling Strategies, chapters 18 (parametric models) and 20 (splines in Cox's model); Davidson-Pilon (2019),
J Open Source Softw 4:1317 (lifelines, which fits the parametric models).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, Input, TableShape
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Choice, Float, Integer, Parameter
from autoprog.space.path import grid_up_to
from autoprog.space.prediction.linear_encoding import LinearEncoding
from autoprog.space.prediction.restricted_cubic_splines import RestrictedCubicSplines
from autoprog.space.prediction.survival import CoxRegression

Distribution = Literal["weibull", "log_normal", "log_logistic"]

_TAKES: frozenset[Input] = frozenset({"missing", "negative", "collinear", "times"})
_C = Float("C", 1e-3, 10.0, 0.1, log=True)
_DENSITY = 0.7
# Steps of a smooth curve when causes are combined.
_STEPS = 100

# lifelines' names of location and scale; all are logarithms except the location of log_normal.
_NAMES: dict[Distribution, tuple[str, str]] = {
    "weibull": ("lambda_", "rho_"),
    "log_normal": ("mu_", "sigma_"),
    "log_logistic": ("alpha_", "beta_"),
}

_Floats = NDArray[np.float64]


class SmoothCox(BaseEstimator):  # type: ignore[misc]
    """Ridge-penalised proportional hazards on encoded columns and, if there are knots, their splines."""

    def __init__(self, C: float = 0.1, knots: int = 0) -> None:
        self.C = C
        self.knots = knots  # of the restricted cubic splines, 3 to 7; 0 for none

    def along_path(self) -> list[tuple[float, SmoothCox]]:
        """Values of C up to this one, ascending, each with its unfitted model."""
        return [(value, SmoothCox(value, self.knots)) for value in grid_up_to(_C.low, self.C, _DENSITY)]

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Maximise the penalised partial likelihood; NaN is missing, NoEventError without an event."""
        columns = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        self.encoding_ = LinearEncoding().fit(columns)
        z = self.encoding_.transform(columns)
        self.splines_ = RestrictedCubicSplines(self.knots).fit(z) if self.knots else None
        self.cox_ = CoxRegression(1.0 / self.C).fit(self._columns(z), y)
        return self

    @property
    def times_(self) -> _Floats:
        """Times at which the hazard steps."""
        times: _Floats = self.cox_.times_
        return times

    def predict(self, X: ArrayLike) -> _Floats:
        """Log hazard ratio of each patient against one with mean columns, shape = (n_patients,)."""
        return self.cox_.predict(self._columns(self._encoded(X)))

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> _Floats:
        """P(T > t | x) at horizons of 0 or more, shape = (n_patients, n_horizons)."""
        return self.cox_.predict_survival(self._columns(self._encoded(X)), horizons)

    def _encoded(self, X: ArrayLike) -> _Floats:
        columns = check_rows(self, X)
        return np.asarray(self.encoding_.transform(columns))

    def _columns(self, z: _Floats) -> _Floats:
        return z if self.splines_ is None else np.column_stack([z, self.splines_.transform(z)])


class AcceleratedFailureTime(BaseEstimator):  # type: ignore[misc]
    """Parametric regression of the time to the event on encoded columns; see the module docstring."""

    def __init__(self, distribution: Distribution = "weibull", penalty: float = 0.01) -> None:
        self.distribution = distribution
        self.penalty = penalty  # lifelines' ridge penalty on the coefficients, per patient

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Maximise the penalised likelihood; NaN is missing, times are above 0, ValueError without convergence."""
        # Imported here, so that the service lists the space without loading lifelines.
        from lifelines import LogLogisticAFTFitter, LogNormalAFTFitter, WeibullAFTFitter  # noqa: PLC0415
        from lifelines.exceptions import ConvergenceError  # noqa: PLC0415

        columns = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        event, time = (y[name] for name in y.dtype.names or ())
        self.encoding_ = LinearEncoding().fit(columns)
        z = self.encoding_.transform(columns)
        # In this unit of time the optimiser's numbers are near 1.
        unit = float(np.median(time))
        table = pd.DataFrame(z, columns=[f"z{j}" for j in range(z.shape[1])])
        table = table.assign(time=time / unit, event=event.astype(np.int64))
        fitter = {"weibull": WeibullAFTFitter, "log_normal": LogNormalAFTFitter, "log_logistic": LogLogisticAFTFitter}
        model = fitter[self.distribution](penalizer=self.penalty)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about columns of little variance, which the penalty handles
            try:
                model.fit(table, "time", "event")
            except ConvergenceError as error:
                msg = f"the likelihood of {self.distribution} times has no maximum that is found"
                raise ValueError(msg) from error
        location, scale = _NAMES[self.distribution]
        parameters = model.params_
        self.coef_ = parameters[location][[f"z{j}" for j in range(z.shape[1])]].to_numpy(dtype=np.float64)
        self.intercept_ = float(parameters[location]["Intercept"]) + float(np.log(unit))
        spread = float(parameters[scale]["Intercept"])
        self.scale_ = float(np.exp(spread if self.distribution == "log_normal" else -spread))
        self.times_ = np.unique(np.quantile(time, np.linspace(0.0, 1.0, _STEPS)))
        return self

    def predict(self, X: ArrayLike) -> _Floats:
        """Negative location of log time, shape = (n_patients,): higher is worse."""
        columns = check_rows(self, X)
        return np.asarray(-(self.intercept_ + self.encoding_.transform(columns) @ self.coef_))

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> _Floats:
        """P(T > t | x) at horizons of 0 or more, shape = (n_patients, n_horizons)."""
        t = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
        with np.errstate(divide="ignore"):
            log_u = (np.log(t) + self.predict(X)[:, None]) / self.scale_
        if self.distribution == "log_normal":
            return np.asarray(norm.sf(log_u))
        if self.distribution == "log_logistic":
            return np.asarray(expit(-log_u))
        return np.asarray(np.exp(-np.exp(np.minimum(log_u, 700.0))))


def _smooth_cox(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return SmoothCox(float(parameters["C"]))


def _spline_cox(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return SmoothCox(float(parameters["C"]), int(parameters["knots"]))


def _accelerated(parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return AcceleratedFailureTime(parameters["distribution"], float(parameters["penalty"]))  # type: ignore[arg-type]


_ENCODING = "autoprog.space.prediction.linear_encoding.LinearEncoding"
_COX = (
    _ENCODING,
    "autoprog.space.prediction.restricted_cubic_splines.RestrictedCubicSplines",
    "autoprog.space.prediction.smooth_hazards.SmoothCox",
    "autoprog.space.prediction.survival.CoxRegression",
)

PENALISED_COX = Algorithm(
    "prediction",
    "penalised_cox",
    (_C,),
    _smooth_cox,
    "linear",
    modes=("survival", "temporal"),
    takes=_TAKES,
    cost=Cost(0.03, patients=1.05, columns=1.2),
    stored_types=_COX,
    reference="Verweij & van Houwelingen (1994), Stat Med 13:2427-2436",
    table_1=False,
    path="C",
)

SPLINE_COX = Algorithm(
    "prediction",
    "spline_cox",
    (_C, Integer("knots", 3, 7, 5)),
    _spline_cox,
    "linear",
    modes=("survival", "temporal"),
    takes=_TAKES,
    cost=Cost(0.1, patients=1.05, columns=1.5),
    max_columns=200,
    stored_types=_COX,
    reference="Harrell (2015), Regression Modeling Strategies, 2nd ed., chapter 20",
    table_1=False,
    path="C",
)

ACCELERATED_FAILURE_TIME = Algorithm(
    "prediction",
    "accelerated_failure_time",
    (
        Choice("distribution", ("weibull", "log_normal", "log_logistic"), default="weibull"),
        Float("penalty", 1e-4, 1.0, 0.01, log=True),
    ),
    _accelerated,
    "linear",
    modes=("survival", "temporal"),
    takes=_TAKES,
    cost=Cost(0.7, patients=0.8, columns=0.8),
    max_patients=5_000,
    max_columns=200,
    stored_types=(_ENCODING, "autoprog.space.prediction.smooth_hazards.AcceleratedFailureTime"),
    reference="Wei (1992), Stat Med 11:1871-1879; Davidson-Pilon (2019), J Open Source Softw 4:1317 (lifelines)",
    table_1=False,
)
