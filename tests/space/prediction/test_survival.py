"""The survival learners against R's survival package, scikit-survival and the Kaplan-Meier estimate."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sksurv.datasets import load_veterans_lung_cancer, load_whas500
from sksurv.ensemble import RandomSurvivalForest
from sksurv.metrics import concordance_index_censored
from sksurv.nonparametric import kaplan_meier_estimator
from sksurv.util import Surv

from autoprog.model import dump_estimator, load_estimator
from autoprog.space import Algorithm, TableShape
from autoprog.space.event_times.penalty import ridge_penalty
from autoprog.space.prediction.survival import COX, SURVIVAL_FOREST, CoxRegression, SurvivalForest, _on_grid
from autoprog.survival import fit_cox

SHAPE = TableShape(n_patients=400, n_columns=13, n_minority=170, has_missing=False, mode="survival")

# Worcester Heart Attack Study (Hosmer, Lemeshow & May 2008), as scikit-survival ships it. R 4.2.2, survival 3.5-3,
# coxph(ties = "efron", eps = 1e-12): coefficient and standard error.
R_EFRON = {
    "age": (0.0477622522564049, 0.00687818997628335),
    "gender": (-0.294348926007398, 0.144398081233606),
    "hr": (0.0120130690012278, 0.00310215591533562),
    "sysbp": (0.00153218046619857, 0.00293639395243866),
    "diasbp": (-0.0127472875989793, 0.0049524125781266),
    "bmi": (-0.0468751616884757, 0.0166015502333547),
    "cvd": (-0.0603288382008605, 0.179385591832492),
    "afb": (0.0174437555634045, 0.17707228189399),
    "sho": (1.21714270901626, 0.284374436943003),
    "chf": (0.728609670475804, 0.151872208097703),
    "av3": (0.332959097149547, 0.427732993896231),
    "miord": (0.0863996442089454, 0.149921628610914),
    "mitype": (-0.248773180646809, 0.192222009802632),
}
# The same fit's survival of the first four patients at 21, 166 and 613 days.
R_SURVIVAL = [
    [0.882130476277221, 0.741638328535607, 0.5774095562187],
    [0.97917741190535, 0.951087725088734, 0.91197155580766],
    [0.964895770120025, 0.918360552668592, 0.855142445079887],
    [0.933699321380156, 0.849173659005982, 0.74051575135714],
]


def _whas500() -> tuple[np.ndarray, np.ndarray]:
    table, y = load_whas500()
    return table[list(R_EFRON)].astype(float).to_numpy(), y


def _veteran() -> tuple[np.ndarray, np.ndarray]:
    table, y = load_veterans_lung_cancer()
    return table.select_dtypes("number").to_numpy(dtype=float), y


def test_without_penalty_cox_has_the_coefficients_of_r() -> None:
    X, y = _whas500()
    expected = [coefficient for coefficient, _ in R_EFRON.values()]
    np.testing.assert_allclose(CoxRegression(alpha=0.0).fit(X, y).coef_, expected, atol=1e-8)


def test_the_default_penalty_moves_no_coefficient_by_a_hundredth_of_its_standard_error() -> None:
    X, y = _whas500()
    expected, se = np.array(list(R_EFRON.values())).T
    assert np.abs((CoxRegression().fit(X, y).coef_ - expected) / se).max() < 0.01


def test_cox_survival_is_that_of_r() -> None:
    X, y = _whas500()
    survival = CoxRegression(alpha=0.0).fit(X, y).predict_survival(X[:4], [21, 166, 613])
    np.testing.assert_allclose(survival, R_SURVIVAL, rtol=0, atol=1e-8)


def test_cox_survival_is_efrons_estimator_by_brute_force() -> None:
    """Of q patients who fail at one time the k-th leaves k/q of their weight out of those at risk."""
    X, y = _veteran()
    model = CoxRegression().fit(X, y)
    event, time, ratio = y["Status"], y["Survival_in_days"], np.exp((X - X.mean(axis=0)) @ model.coef_)
    horizons = [0.5, 20.0, 99.0, 100.0, 300.0, 2000.0]
    jumps = {}
    for u in np.unique(time[event]):
        failing = event & (time == u)
        q = failing.sum()
        jumps[u] = sum(1 / (ratio[time >= u].sum() - k / q * ratio[failing].sum()) for k in range(q))
    H0 = [sum(jump for u, jump in jumps.items() if u <= t) for t in horizons]
    np.testing.assert_allclose(model.predict_survival(X, horizons), np.exp(-np.outer(ratio, H0)), atol=1e-12)
    np.testing.assert_allclose(model.predict(X), np.log(ratio), atol=1e-12)


def test_cox_stays_finite_where_a_column_separates_the_patients() -> None:
    rng = np.random.default_rng(0)
    event = np.arange(60) < 20
    X = np.column_stack([event.astype(float), rng.normal(size=60)])
    model = CoxRegression().fit(X, Surv.from_arrays(event, rng.uniform(1, 10, 60)))
    assert np.isfinite(model.coef_).all()
    assert 1 < model.coef_[0] < 30
    far = model.predict_survival([[1e6, 0.0], [-1e6, 0.0]], [0.0, 5.0])
    np.testing.assert_array_equal(far, [[1, 0], [1, 1]])


def test_a_forest_of_stumps_without_a_split_is_kaplan_meier() -> None:
    """Nothing to split on: every tree is the Kaplan-Meier estimate of its bootstrap sample."""
    _, y = _whas500()
    survival = SurvivalForest(200).fit(np.zeros((500, 1)), y).predict_survival([[0.0]], [21, 166, 613, 1500])[0]
    times, estimate = kaplan_meier_estimator(y["fstat"], y["lenfol"])
    expected = estimate[np.searchsorted(times, [21, 166, 613, 1500], side="right") - 1]
    # The spread of a mean of 200 bootstrap estimates is .0016, the grid adds at most half of a fiftieth of 215 events.
    np.testing.assert_allclose(survival, expected, atol=0.01)


def test_fifty_event_times_or_fewer_leave_the_forest_of_scikit_survival() -> None:
    """Censored times, of which there are more than fifty, are moved without a change of who is at risk."""
    X, y = _whas500()
    event = y["fstat"]
    time = np.where(event, np.ceil(y["lenfol"] / 60) * 60, y["lenfol"])
    assert len(np.unique(time[event])) <= 50 < len(np.unique(time[~event]))
    coarse = Surv.from_arrays(event, time)
    ours = SurvivalForest(10, max_features=0.5, min_leaf=10, max_depth=5, max_samples=0.8, random_state=1)
    ours.fit(X, coarse)
    theirs = RandomSurvivalForest(
        10, max_depth=5, min_samples_split=20, min_samples_leaf=10, max_features=0.5, max_samples=0.8, random_state=1
    ).fit(X, coarse)
    at = np.unique(time[event])
    steps = theirs.predict_survival_function(X[:20], return_array=True)
    expected = steps[:, np.searchsorted(theirs.unique_times_, at)]
    np.testing.assert_allclose(ours.predict_survival(X[:20], at), expected, atol=1e-12)


def test_the_grid_keeps_the_kaplan_meier_estimate() -> None:
    """Under light and under heavy censoring, at each of its points."""
    rng = np.random.default_rng(4)
    for censored_until in (8.0, 1.0):
        event_time, censoring = rng.exponential(2.0, 2000), rng.uniform(0, censored_until, 2000)
        event, time = event_time <= censoring, np.minimum(event_time, censoring)
        rounded = _on_grid(event, time)
        points = np.unique(rounded[event])
        assert len(points) == 50
        estimates = []
        for times in (time, rounded):
            at, survival = kaplan_meier_estimator(event, times)
            estimates.append(survival[np.searchsorted(at, points, side="right") - 1])
        # At the last two points a few patients are left, and the estimate's standard error is .02.
        np.testing.assert_allclose(estimates[1][:-2], estimates[0][:-2], atol=1e-3)


def test_between_grid_points_survival_is_interpolated() -> None:
    X, y = _whas500()
    forest = SurvivalForest(10).fit(X, y)
    grid = np.concatenate([[0.0], forest.forest_.unique_times_])
    left, right = forest.predict_survival(X[:5], grid[10:12]).T
    middle = forest.predict_survival(X[:5], [0.25 * grid[10] + 0.75 * grid[11]])[:, 0]
    np.testing.assert_allclose(middle, 0.25 * left + 0.75 * right, atol=1e-12)


@pytest.mark.parametrize("estimator", [CoxRegression(), SurvivalForest(50)], ids=["cox", "forest"])
def test_ranks_unseen_patients_and_agrees_with_their_mean_survival(estimator: CoxRegression | SurvivalForest) -> None:
    X, y = _whas500()
    model = clone(estimator).fit(X[::2], y[::2])
    event, time = y[1::2]["fstat"], y[1::2]["lenfol"]
    assert concordance_index_censored(event, time, model.predict(X[1::2]))[0] > 0.72
    one_year = model.predict_survival(X[1::2], [365.0])[:, 0]
    assert concordance_index_censored(event, time, -one_year)[0] > 0.72
    times, estimate = kaplan_meier_estimator(event, time)
    # The standard error of the Kaplan-Meier estimate of 250 patients is .03.
    assert one_year.mean() == pytest.approx(estimate[np.searchsorted(times, 365.0, side="right") - 1], abs=0.09)


@pytest.mark.parametrize("estimator", [CoxRegression(), SurvivalForest(10)], ids=["cox", "forest"])
def test_survival_starts_at_one_falls_with_the_horizon_and_holds_after_the_last_time(
    estimator: CoxRegression | SurvivalForest,
) -> None:
    X, y = _veteran()
    model = clone(estimator).fit(X, y)
    last = float(y["Survival_in_days"].max())
    survival = model.predict_survival(X, [0.0, 0.5, 10.0, 99.0, 100.5, last, 2 * last])
    assert survival.shape == (len(X), 7)
    np.testing.assert_array_equal(survival[:, 0], 1.0)
    assert (np.diff(survival, axis=1) <= 1e-15).all()
    assert survival.min() >= 0
    np.testing.assert_array_equal(survival[:, 5], survival[:, 6])
    alone = np.vstack([model.predict_survival(X[[i]], [10.0, 99.0]) for i in range(5)])
    np.testing.assert_allclose(alone, survival[:5, 2:4], rtol=0, atol=1e-12)


@pytest.mark.parametrize("estimator", [CoxRegression(), SurvivalForest(10)], ids=["cox", "forest"])
@pytest.mark.parametrize("horizon", [-1.0, np.nan, np.inf])
def test_a_horizon_that_is_no_time_is_refused(estimator: CoxRegression | SurvivalForest, horizon: float) -> None:
    X, y = _veteran()
    with pytest.raises(ValueError, match="horizons must be finite"):
        clone(estimator).fit(X, y).predict_survival(X, [10.0, horizon])


@pytest.mark.parametrize("estimator", [CoxRegression(), SurvivalForest(10)], ids=["cox", "forest"])
def test_a_cohort_without_events_is_refused(estimator: CoxRegression | SurvivalForest) -> None:
    with pytest.raises(ValueError, match=r"censored|none of 10 patients had an event"):
        clone(estimator).fit(np.ones((10, 1)), Surv.from_arrays(np.zeros(10, dtype=bool), np.arange(1.0, 11.0)))


def test_events_at_time_zero_count_at_every_horizon() -> None:
    rng = np.random.default_rng(1)
    time = np.concatenate([np.zeros(20), rng.uniform(1, 10, 80)])
    y = Surv.from_arrays(np.ones(100, dtype=bool), time)
    survival = SurvivalForest(100).fit(np.zeros((100, 1)), y).predict_survival([[0.0]], [0.0, 0.5])[0]
    np.testing.assert_allclose(survival[0], 0.8, atol=0.02)
    assert survival[1] <= survival[0]


def test_the_forest_takes_missing_cells() -> None:
    X, y = _whas500()
    X[np.random.default_rng(2).random(X.shape) < 0.2] = np.nan
    forest = SurvivalForest(20).fit(X[::2], y[::2])
    index = concordance_index_censored(y[1::2]["fstat"], y[1::2]["lenfol"], forest.predict(X[1::2]))[0]
    assert index > 0.65


def test_the_forest_repeats_itself_for_a_seed() -> None:
    X, y = _veteran()
    first, second, other = (SurvivalForest(5, random_state=s).fit(X, y).predict(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize("algorithm", [COX, SURVIVAL_FOREST], ids=lambda a: a.name)
def test_the_entry_builds_fits_clones_and_survives_storage(algorithm: Algorithm) -> None:
    X, y = _veteran()
    shape = TableShape(n_patients=137, n_columns=3, n_minority=9, has_missing=False, mode="survival")
    for unit in (0.0, 0.5, 1.0):
        step = algorithm.step_from_unit({h.name: unit for h in algorithm.hyperparameters})
        estimator = clone(algorithm.build(dict(step.parameters), shape, 3)).fit(X[:90], y[:90])
        loaded = load_estimator(dump_estimator(estimator))
        np.testing.assert_array_equal(loaded.predict(X), estimator.predict(X))
        horizons = [30.0, 100.0]
        np.testing.assert_array_equal(loaded.predict_survival(X, horizons), estimator.predict_survival(X, horizons))


def test_a_tree_sees_no_more_than_its_bound_of_a_large_cohort() -> None:
    parameters = dict(SURVIVAL_FOREST.default_step().parameters)
    large = TableShape(n_patients=50_000, n_columns=13, n_minority=20_000, has_missing=False, mode="survival")
    assert SURVIVAL_FOREST.build(parameters, large, 0).max_samples * 50_000 == pytest.approx(1000)
    assert SURVIVAL_FOREST.build(parameters, SHAPE, 0).max_samples == parameters["max_samples"]


def test_many_columns_for_the_events_are_held_more_firmly_and_few_are_not() -> None:
    """Of 60 columns three matter: what is learnt from 80 events ranks 2,000 others better for it."""
    gained = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(2_130, 60))
        time = rng.exponential(np.exp(-X[:, :3].sum(axis=1) * 0.5))
        censored = rng.exponential(0.6, len(X))
        y = Surv.from_arrays(time <= censored, np.minimum(time, censored))
        train, test = slice(0, 130), slice(130, None)
        found = [
            concordance_index_censored(y["event"][test], y["time"][test], risk)[0]
            for risk in (
                CoxRegression().fit(X[train], y[train]).predict(X[test]),
                X[test] @ fit_cox(X[train], y["time"][train], y["event"][train], ridge=0.1).coefficients,
            )
        ]
        gained.append(found[0] - found[1])
    assert min(gained) > 0
    assert np.mean(gained) > 0.02
    assert ridge_penalty(0.1, 8, 80) == 0.1
    assert ridge_penalty(0.1, 60, 80) == pytest.approx(52.1)
    assert ridge_penalty(0.0, 60, 80) == 0
