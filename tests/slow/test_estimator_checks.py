"""scikit-learn's own checks of `AutoPrognosis`: each fits a search or several."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from autoprog import AutoPrognosis
from autoprog.app.temporary import close_engines

QUICK = {
    "budget": {"evaluations": 2},
    "folds": 2,
    "repeats": 1,
    "space": {"imputation": ["median"], "features": ["none"], "prediction": ["logistic_regression", "ridge"]},
}

# The checks' data are of few rows, in which one column may give the outcome away: the warnings are right.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the cohort has only [0-9]+ patients:UserWarning"),
    pytest.mark.filterwarnings("ignore:column '.*' alone gives the outcome away:UserWarning"),
    pytest.mark.filterwarnings("ignore:[0-9]+ rows? repeats? an earlier row:UserWarning"),
]


@pytest.fixture(autouse=True, scope="module")
def _engines() -> Iterator[None]:
    yield
    close_engines()


DIFFERENT = {
    "check_fit2d_1feature": "of its ten patients three have the outcome, and a cohort takes five",
    "check_sample_weight_equivalence_on_dense_data": "three of its patients do not have the outcome",
    "check_dataframe_column_names_consistency": "columns in another order are put in order, not refused",
}


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [AutoPrognosis(time_budget_s=60, settings=QUICK, n_jobs=2, random_state=0)],
    expected_failed_checks=lambda _: DIFFERENT,
)
def test_it_behaves_as_scikit_learn_expects(estimator: AutoPrognosis, check: Callable[[AutoPrognosis], None]) -> None:
    check(estimator)
