"""The two learners of Table 1 for event times: Cox's model and scikit-survival's random survival forest.

Both take scikit-survival's structured array of (event, time); `predict` ranks the patients and `predict_survival`
gives P(T > t) at horizons t.

======  =====================================================================  =============  ============
symbol  meaning                                                                shape          unit
======  =====================================================================  =============  ============
n, d    patients, columns                                                      scalars        1
T       time to the event                                                      (n,)           the cohort's
t       horizons                                                               (n_horizons,)  as T
beta    log hazard ratio of each column                                        (d,)           1 / column's
c       mean of each column                                                    (d,)           column's
H0      cumulative hazard of a patient with columns c, by Efron's estimator    (n_times,)     1
======  =====================================================================  =============  ============

References
----------
Cox (1972), Regression models and life tables, J R Stat Soc B 34:187-220.
Efron (1977), The efficiency of Cox's likelihood function for censored data, J Am Stat Assoc 72:557-565: ties.
Ishwaran, Kogalur, Blackstone & Lauer (2008), Random survival forests, Ann Appl Stat 2:841-860.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from autoprog.space._base import Algorithm, Cost, TableShape
from autoprog.space.event_times.penalty import ridge_penalty
from autoprog.space.fitted_rows import check_rows
from autoprog.space.hyperparameters import Float, Integer, Parameter
from autoprog.space.prediction.bounds import least_in_leaf
from autoprog.survival import fit_cox

# Ridge on standardised coefficients: a normal prior of standard deviation 3. It keeps the estimate finite if a column
# separates the events; elsewhere the estimate moves by a fraction of a per cent of its standard error.
_COX_RIDGE = 0.1

# Most grid points, with the same number of events between any two. With all distinct times, a tree of 1,000 patients
# takes four times as long and a leaf has 1,000 steps. With at most 50 event times the rounding changes no estimate.
_GRID = 50
_MEMBER_PATIENTS = 1_000

# Exponentials of larger numbers overflow.
_LARGEST_EXPONENT = 700.0


# scikit-survival's Cox model loops over patients in Python; `autoprog.survival` fits the same coefficients, to 1e-10,
# in a tenth of the time, and its baseline handles ties as Efron does.
class CoxRegression(BaseEstimator):  # type: ignore[misc]
    """Proportional hazards with a ridge penalty on standardised columns; see `ridge_penalty` for its strength."""

    def __init__(self, alpha: float = _COX_RIDGE) -> None:
        self.alpha = alpha

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Maximise the penalised partial likelihood; NoEventError without an event, OutcomeError for times <= 0."""
        columns = validate_data(self, X, dtype=np.float64)
        event, time = (y[name] for name in y.dtype.names or ())
        ridge = ridge_penalty(self.alpha, columns.shape[1], int(np.count_nonzero(event)))
        model = fit_cox(columns, time, event, ridge=ridge)
        self.coef_, self.centre_ = model.coefficients, model.centre
        self.times_, self.cumulative_hazard_ = model.cumulative_hazard.times, model.cumulative_hazard.values
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Log hazard ratio of each patient against one with mean columns, shape = (n_patients,)."""
        columns = check_rows(self, X, missing=False)
        return np.asarray((columns - self.centre_) @ self.coef_)

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> NDArray[np.float64]:
        """P(T > t | x) = exp(-H0(t) exp(beta'(x - c))), shape = (n_patients, n_horizons)."""
        t = _checked(horizons)
        steps = np.concatenate([[0.0], self.cumulative_hazard_])
        H0 = steps[np.searchsorted(self.times_, t, side="right")]
        log_H0 = np.log(H0, out=np.full(H0.shape, -np.inf), where=H0 > 0)
        log_H = log_H0 + self.predict(X)[:, None]
        return np.asarray(np.exp(-np.exp(np.minimum(log_H, _LARGEST_EXPONENT))))


class SurvivalForest(BaseEstimator):  # type: ignore[misc]
    """Bootstrapped survival trees, split by the log-rank statistic, on times rounded to a grid."""

    def __init__(
        self,
        trees: int = 100,
        *,
        max_features: float = 0.3,
        min_leaf: int = 15,
        max_depth: int = 15,
        max_samples: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.trees = trees
        self.max_features = max_features
        self.min_leaf = min_leaf
        self.max_depth = max_depth
        self.max_samples = max_samples  # size of each tree's bootstrap sample, as a share of the patients
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: NDArray[np.void]) -> Self:
        """Grow the trees; NaN is missing, ValueError without an event or for a negative time."""
        # Imported here, so that the service lists the space without loading scikit-survival.
        from sksurv.ensemble import RandomSurvivalForest  # noqa: PLC0415
        from sksurv.util import Surv, check_array_survival  # noqa: PLC0415

        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan")
        event, time = check_array_survival(X, y)
        self.forest_ = RandomSurvivalForest(
            self.trees,
            max_depth=self.max_depth,
            min_samples_split=2 * self.min_leaf,
            min_samples_leaf=self.min_leaf,
            max_features=self.max_features,
            max_samples=self.max_samples,
            n_jobs=1,
            random_state=self.random_state,
        ).fit(X, Surv.from_arrays(event, _on_grid(event, time)))
        return self

    @property
    def times_(self) -> NDArray[np.float64]:
        """The grid."""
        times: NDArray[np.float64] = self.forest_.unique_times_
        return times

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Cumulative hazard summed over the grid, shape = (n_patients,): higher is worse."""
        X = check_rows(self, X)
        return np.asarray(self.forest_.predict(X))

    def predict_survival(self, X: ArrayLike, horizons: ArrayLike) -> NDArray[np.float64]:
        """P(T > t | x), the mean Kaplan-Meier estimate of the patient's leaves, shape = (n_patients, n_horizons)."""
        t = _checked(horizons)
        columns = check_rows(self, X)
        grid = np.concatenate([[0.0], self.forest_.unique_times_])
        survival = np.column_stack(
            [np.ones(len(columns)), self.forest_.predict_survival_function(columns, return_array=True)]
        )
        right = np.clip(np.searchsorted(grid, t, side="right"), 1, len(grid) - 1)
        width = grid[right] - grid[right - 1]
        # If the grid starts at 0, its first cell has no width.
        share = np.divide(t - grid[right - 1], width, out=np.ones_like(t), where=width > 0)
        share = np.clip(share, 0.0, 1.0)
        before, after = survival[:, right - 1], survival[:, right]
        # This form stays monotone under rounding; a weighted mean of equal numbers may exceed them.
        return np.asarray(np.maximum(before - share * (before - after), after))


def _checked(horizons: ArrayLike) -> NDArray[np.float64]:
    t = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    if not (np.isfinite(t).all() and (t >= 0).all()):
        msg = f"horizons must be finite and 0 or more: got {t.min()} to {t.max()}"
        raise ValueError(msg)
    return t


def _on_grid(event: NDArray[np.bool_], time: NDArray[np.float64]) -> NDArray[np.float64]:
    """Times rounded to quantiles of the event times: events up, censored times up or down."""
    events = np.sort(time[event])
    grid = np.unique(events)
    if len(grid) > _GRID:
        grid = np.unique(np.quantile(events, np.linspace(0.0, 1.0, _GRID), method="inverted_cdf"))
    upper = np.searchsorted(grid, time)
    counts = np.concatenate([[0.0], np.searchsorted(events, grid, side="right"), [np.inf]])
    # The events between two grid points all move to the upper one. A patient censored among them was at risk at those
    # before, and moves up, to stay at risk, if these are at least half of them; otherwise down.
    up = np.searchsorted(events, time, side="right") >= (counts[upper] + counts[upper + 1]) / 2.0
    points = np.concatenate([[0.0], grid])
    return np.asarray(points[upper + (event | up)])


def _cox(_parameters: Mapping[str, Parameter], _shape: TableShape, _seed: int) -> BaseEstimator:
    return CoxRegression()


def _survival_forest(parameters: Mapping[str, Parameter], shape: TableShape, seed: int) -> BaseEstimator:
    # A share, not a count: an inner fold of the calibration stage may have fewer patients.
    share = min(float(parameters["max_samples"]), _MEMBER_PATIENTS / shape.n_patients)
    return SurvivalForest(
        int(parameters["trees"]),
        max_features=float(parameters["max_features"]),
        min_leaf=least_in_leaf(parameters, shape),
        max_depth=int(parameters["max_depth"]),
        max_samples=share,
        random_state=seed,
    )


COX = Algorithm(
    "prediction",
    "cox",
    (),
    _cox,
    "linear",
    modes=("survival", "temporal"),
    takes=frozenset({"negative", "times"}),
    cost=Cost(0.004, patients=1.05, columns=1.2),
    stored_types=("autoprog.space.prediction.survival.CoxRegression",),
    reference="Cox (1972), Regression models and life tables, J R Stat Soc B 34:187-220",
)

SURVIVAL_FOREST = Algorithm(
    "prediction",
    "survival_forest",
    (
        Integer("trees", 30, 200, 100, log=True),
        Float("max_features", 0.05, 1.0, 0.3),
        Integer("min_leaf", 5, 50, 15, log=True),
        Integer("max_depth", 2, 30, 15, log=True),
        Float("max_samples", 0.3, 1.0, 0.7),
    ),
    _survival_forest,
    "survival",
    modes=("survival", "temporal"),
    takes=frozenset({"missing", "negative", "collinear", "times"}),
    cost=Cost(1.2, patients=1.5, columns=1.0),
    max_patients=_MEMBER_PATIENTS,
    subsample="member",
    stored_types=(
        "autoprog.space.prediction.survival.SurvivalForest",
        "sklearn.tree._tree.Tree",
        "sksurv.ensemble.forest.RandomSurvivalForest",
        "sksurv.tree.tree.SurvivalTree",
    ),
    reference="Ishwaran et al. (2008), Random survival forests, Ann Appl Stat 2:841-860",
)
