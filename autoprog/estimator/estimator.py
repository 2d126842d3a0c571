"""`AutoPrognosis`: `fit` searches, `predict_proba` predicts with the model."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pydantic import ValidationError
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from autoprog.cohort import Cohort
from autoprog.estimator.search import search
from autoprog.estimator.tables import Survival, binary_cohort, survival_cohort, to_frame, to_matrix
from autoprog.model import PrognosticModel
from autoprog.search.settings import SearchSettings
from autoprog.survival import censoring_survival, uno_c, wolbers_c


class AutoPrognosis(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Search pipelines for a cohort and predict with the ensemble of the best.

    The search is the service's, in this process: pipelines are proposed, cross-validated in child processes under
    limits of time and memory, and averaged. Scripts must guard their entry point by `if __name__ == "__main__":`, as
    for all spawned processes.

    Parameters
    ----------
    mode : {"classification", "survival"}
        The kind of outcome: one that a patient has or does not have, or the time to an event.
    horizons : sequence of float or None
        Mode `survival`: times at which risks are predicted; None for the quartiles of the observed event times.
    time_budget_s : float
        Seconds by the clock for the whole of `fit`, at least 1.
    metric : str or None
        What to optimise, as the REST API's setting `metric`; None for `auc_roc`, in mode `survival` for `uno_c`.
    settings : mapping or None
        Further settings of the search, named as in the REST API: `{"folds": 10, "ensemble": "greedy"}`. A `budget` may
        limit evaluations; its time is `time_budget_s`. Open cohorts that autoprog has learnt from are recognised by
        their column names; for an array of one of them, as in a benchmark, pass `{"warm_start": False}`.
    n_jobs : int or None
        Evaluations at once; None or -1 for one per core.
    random_state : int, RandomState or None
        Seeds folds, proposals and pipelines. With the same seed and a budget of evaluations,
        `settings={"budget": {"evaluations": 40}}`, the result is the same as long as the time suffices.

    Attributes
    ----------
    model_ : PrognosticModel
        The fitted model; `model_.predict` also returns strata, rules and intervals of single patients.
    classes_ : ndarray, shape = (2,)
        The values of the outcome; risks are of the second. Absent in mode `survival`.
    horizons_ : ndarray, shape = (n_horizons,)
        Times of the predicted risks; empty in mode `classification`.
    ensemble_ : dict
        Members, the honest score with its interval, calibration and all measures, as in the REST API.
    rules_ : dict
        Risk strata, and the rules that describe them.
    leaderboard_ : DataFrame
        All evaluations, the best first.
    warnings_ : tuple of str
        What to know before trusting the model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the columns, if `X` was a DataFrame with names.

    Examples
    --------
    >>> from autoprog import AutoPrognosis
    >>> model = AutoPrognosis(time_budget_s=300, random_state=0)
    >>> model = model.fit(X, y)  # doctest: +SKIP
    >>> model.predict_proba(X)[:, 1]  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        mode: Literal["classification", "survival"] = "classification",
        horizons: Sequence[float] | None = None,
        time_budget_s: float = 300.0,
        metric: str | None = None,
        settings: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.mode = mode
        self.horizons = horizons
        self.time_budget_s = time_budget_s
        self.metric = metric
        self.settings = settings
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike | Survival, groups: ArrayLike | None = None) -> Self:
        """Search for the time budget, and keep the model.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            NaN where unknown. An array holds numbers; a DataFrame also booleans, categories or texts.
        y : array-like, shape = (n_patients,), or Survival
            The outcome: two different values, or in mode `survival` the follow-up.
        groups : array-like, shape = (n_patients,), or None
            Patients that must not be split over folds share a value: a hospital, a family.

        Returns
        -------
        AutoPrognosis
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter, the features or the outcome are invalid; names all faults.
        TypeError
            In mode `survival`, if `y` is no Survival.
        SearchFailedError
            If no pipeline could be evaluated in time.
        """
        began = time.monotonic()
        cohort = self._cohort(X, y, groups)
        found = search(cohort, self._settings(), self.n_jobs, began)
        self.model_, self.ensemble_, self.rules_, self.leaderboard_, self.warnings_ = found
        self.horizons_ = np.array(self.model_.horizons)
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of not having the outcome, and of having it.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `fit`; a DataFrame's columns in the same order.

        Returns
        -------
        ndarray, shape = (n_patients, 2)
            In the order of `classes_`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the features differ from those of `fit`, or in mode `survival`: see `predict_risk`.
        """
        check_is_fitted(self, "model_")
        if len(self.horizons_):
            msg = "the model is of event times, and has no classes: predict_risk gives the risk until every horizon"
            raise ValueError(msg)
        risks = self.predict_risk(X)
        return np.column_stack([1.0 - risks, risks])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable value of the outcome; in mode `survival` the risk until the last horizon.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `fit`.

        Returns
        -------
        ndarray, shape = (n_patients,)
            Values of `classes_`, or risks.

        Raises
        ------
        NotFittedError, ValueError
            As `predict_risk`.
        """
        risks = self.predict_risk(X)
        if risks.ndim > 1:
            last: NDArray[Any] = risks[:, -1]
            return last
        labels: NDArray[Any] = self.classes_[(risks > 0.5).astype(np.intp)]
        return labels

    def predict_risk(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of the outcome, or of the event of interest until each horizon.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `fit`.

        Returns
        -------
        ndarray, shape = (n_patients,) or (n_patients, n_horizons)
            In [0, 1]; in mode `survival` until the times in `horizons_`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the features differ from those of `fit`.
        """
        check_is_fitted(self, "model_")
        model: PrognosticModel = self.model_
        return model.risks(to_matrix(model, self._table(X, reset=False)))

    def score(self, X: ArrayLike, y: ArrayLike | Survival, sample_weight: ArrayLike | None = None) -> float:
        """Return the accuracy; in mode `survival` Uno's, with competing events Wolbers's concordance.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `fit`.
        y : array-like, shape = (n_patients,), or Survival
            The outcome of these patients.
        sample_weight : array-like, shape = (n_patients,), or None
            Weights for the accuracy.

        Returns
        -------
        float
            More is better; a concordance is until the last horizon.

        Raises
        ------
        NotFittedError, ValueError
            As `predict_risk`.
        """
        if not isinstance(y, Survival):
            return float(super().score(X, y, sample_weight))
        risks, time, event = self.predict(X), np.asarray(y.time), np.asarray(y.event)
        measure = uno_c if event.max() <= 1 else wolbers_c
        return float(measure(time, event, risks, float(self.horizons_[-1]), censoring_survival(time, event)).index)

    def _cohort(self, X: ArrayLike, y: ArrayLike | Survival, groups: ArrayLike | None) -> Cohort:
        if self.mode not in ("classification", "survival"):
            msg = (
                f"mode is 'classification' or 'survival', not {self.mode!r}; cohorts of visits are searched by the "
                "command line and the REST API"
            )
            raise ValueError(msg)
        if self.mode == "survival":
            return self._survival_cohort(X, y, groups)
        if self.horizons is not None:
            msg = "horizons are of mode 'survival'"
            raise ValueError(msg)
        frame = self._table(X, y)
        labels = column_or_1d(np.asarray(y), warn=True)
        check_consistent_length(frame, labels, groups)
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) > 2:
            kind = type_of_target(labels, input_name="y")
            msg = f"Only binary classification is supported. The type of the target is {kind}."
            raise ValueError(msg)
        if len(classes) < 2:
            msg = f"y holds one class only, {classes.tolist()}: an outcome takes patients with and without it"
            raise ValueError(msg)
        self.classes_ = classes
        return binary_cohort(frame, labels == classes[1], groups, all_numeric=not isinstance(X, pd.DataFrame))

    def _survival_cohort(self, X: ArrayLike, y: ArrayLike | Survival, groups: ArrayLike | None) -> Cohort:
        if not isinstance(y, Survival):
            msg = "with mode 'survival' y is Survival(time, event)"
            raise TypeError(msg)
        frame = self._table(X, np.asarray(y.event))
        check_consistent_length(frame, y.event, groups)
        return survival_cohort(frame, y, self.horizons, groups, all_numeric=not isinstance(X, pd.DataFrame))

    def _table(self, X: ArrayLike, y: object = "no_validation", *, reset: bool = True) -> pd.DataFrame:
        """Return the features by name, checked as scikit-learn does."""
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True, reset=reset)
            return to_frame(X)
        how = {"dtype": "numeric", "ensure_all_finite": "allow-nan", "reset": reset}
        if isinstance(y, str):
            return to_frame(validate_data(self, X, **how))
        checked, _ = validate_data(self, X, y, ensure_min_samples=2, **how)
        return to_frame(checked)

    def _settings(self) -> SearchSettings:
        asked = dict(self.settings or {})
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31)
        asked.setdefault("seed", int(seed))
        asked["budget"] = {"evaluations": 10_000, **asked.get("budget", {}), "time_s": self.time_budget_s}
        if self.metric is not None:
            asked["metric"] = self.metric
        try:
            return SearchSettings.model_validate(asked)
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            msg = f"settings that cannot be used: {'; '.join(faults)}"
            raise ValueError(msg) from None

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        if self.mode == "survival":
            tags.estimator_type, tags.classifier_tags = None, None
        # Without a seed, and with a time budget, no two searches are alike.
        tags.non_deterministic = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Store the model as its own file, whose types are checked when it is read."""
        state: dict[str, Any] = super().__getstate__()
        if "model_" in state:
            state = {**state, "model_": state["model_"].to_bytes()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("model_"), bytes):
            state = {**state, "model_": PrognosticModel.from_bytes(state["model_"])}
        super().__setstate__(state)
