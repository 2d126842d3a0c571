"""`AutoPrognosis`: `fit` searches, `predict_proba` predicts with the model."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from autoprog.estimator.modes import MODES, choose_mode
from autoprog.estimator.results import ResultsMixin
from autoprog.estimator.targets import SamplingDesign, Survival
from autoprog.estimator.unusual import warn_of_unusual
from autoprog.extras import require
from autoprog.fork_server import start_fork_server

# What a search and a model need is imported when it is first used: with the learning libraries it takes seconds.
if TYPE_CHECKING:
    from autoprog.estimator.archive import SearchArchive
    from autoprog.estimator.search import Effort, SearchResult
    from autoprog.estimator.tables import CohortTable
    from autoprog.model import PrognosticModel
    from autoprog.search.settings import SearchSettings

# Frames from the warning to the caller of a method that predicts.
_CALLER = 3


class AutoPrognosis(ResultsMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
    positive : object
        Mode `classification`: the value of `y` whose risk is predicted; None for the second of the sorted values.
    settings : mapping or None
        Further settings of the search, named as in the REST API: `{"folds": 10, "ensemble": "greedy"}`. A `budget` may
        limit evaluations; its time is `time_budget_s`. Open cohorts that autoprog has learnt from are recognised by
        their column names; for an array of one of them, as in a benchmark, pass `{"warm_start": False}`.
    n_jobs : int or None
        Evaluations at once; None or -1 for one per core.
    random_state : int, RandomState or None
        Seeds folds, proposals and pipelines. With the same seed and a budget of evaluations,
        `settings={"budget": {"evaluations": 40}}`, the result is the same as long as the time suffices.
    verbose : int or None
        Whether `fit` shows its progress on stderr or in the notebook's cell: 0 for never, 1 for always, None only
        in an interactive terminal or a notebook.

    Attributes
    ----------
    model_ : PrognosticModel
        The fitted model; `model_.predict` also returns strata, rules and intervals of single patients.
    classes_ : ndarray, shape = (2,)
        The values of the outcome, sorted. Absent in mode `survival`.
    horizons_ : ndarray, shape = (n_horizons,)
        Times of the predicted risks; empty in mode `classification`.
    ensemble_ : dict
        Members, the honest score with its interval, calibration and all measures, as in the REST API.
    rules_ : dict
        Risk strata, and the rules that describe them.
    rules_table_ : DataFrame
        The rules, one per row, as text with their numbers.
    leaderboard_ : DataFrame
        All evaluations, the best first.
    warnings_ : tuple of str
        What to know before trusting the model.
    cohort_ : dict
        The patients as they were read: features, outcome, sample size, warnings, as in the REST API.
    settings_ : dict
        All settings of the search, as in the REST API.
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

    def __init__(  # noqa: PLR0913  scikit-learn has parameters nowhere else
        self,
        *,
        mode: Literal["classification", "survival"] = "classification",
        horizons: Sequence[float] | None = None,
        time_budget_s: float = 300.0,
        metric: str | None = None,
        positive: object = None,
        settings: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int | None = None,
    ) -> None:
        self.mode = mode
        self.horizons = horizons
        self.time_budget_s = time_budget_s
        self.metric = metric
        self.positive = positive
        self.settings = settings
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | Survival,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Search for the time budget, and keep the model.

        An interruption (Ctrl-C, or the notebook's stop) ends the search early: what was found so far becomes the model,
        with its score and baseline, but without intervals of patients' risks. Another one ends it at once without a
        model.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            NaN where unknown. An array holds numbers; a DataFrame also booleans, categories or texts.
        y : array-like, shape = (n_patients,), or Survival
            The outcome: two different values. In mode `survival` the follow-up, also as a tuple (time, event) or a
            structured array of scikit-survival.
        groups : array-like, shape = (n_patients,), or None
            Patients that must not be split over folds share a value: a hospital, a family.
        sample_weight : array-like of int, shape = (n_patients,), or None
            How many patients each stands for, as in case-control and survey samples; with 0 one is left out. Pipelines,
            scores and reports are weighted, intervals are those of the patients sampled.

        Returns
        -------
        AutoPrognosis
            The estimator itself.

        Raises
        ------
        ValueError
            If a parameter, the features or the outcome are invalid; names all faults.
        TypeError
            In mode `survival`, if `y` is no follow-up.
        SearchFailedError
            If no pipeline could be evaluated in time.
        KeyboardInterrupt
            If it was interrupted before a pipeline was evaluated, or twice.
        """
        began = time.monotonic()
        require("autoprog.estimator.search", "a search")
        start_fork_server()
        from autoprog.estimator.search import search  # noqa: PLC0415  see the head
        from autoprog.estimator.words import python_words  # noqa: PLC0415

        table = self._cohort(X, y, groups, sample_weight)
        with python_words():
            return self._take(search(table, self._settings(), self._effort(began)))

    def continue_for(self, seconds: float, evaluations: int | None = None) -> Self:
        """Resume the search for more time, keeping its evaluations, and replace the model.

        Parameters
        ----------
        seconds : float
            Seconds by the clock until the new model, at least 1.
        evaluations : int or None
            Most further pipelines; 0 uses the time for the intervals of patients' risks, None sets no limit.

        Returns
        -------
        AutoPrognosis
            The estimator itself.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the search was left out when the estimator was pickled or saved, or an argument is invalid.
        SearchFailedError, KeyboardInterrupt
            As `fit`; the former model stays.
        """
        began = time.monotonic()
        archive = self._archived()
        if not 1 <= seconds < math.inf or (evaluations is not None and evaluations < 0):
            msg = f"seconds must be at least 1 and evaluations at least 0, not {seconds!r} and {evaluations!r}"
            raise ValueError(msg)
        require("autoprog.estimator.search", "a search")
        from autoprog.estimator.search import continue_search  # noqa: PLC0415  see the head

        return self._take(continue_search(archive, seconds, evaluations, self._effort(began)))

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of not having the outcome, and of having it.

        Warns with an ExtrapolationWarning of values that the training patients did not have.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `fit`; a DataFrame's columns in any order.

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
        return choose_mode(self.mode).probabilities(self, self._model.risks(self._matrix(X, warn=True)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable value of the outcome; in mode `survival` the risk until the last horizon.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `predict_proba`.

        Returns
        -------
        ndarray, shape = (n_patients,)
            Values of `classes_`, or risks.

        Raises
        ------
        NotFittedError, ValueError
            As `predict_risk`.
        """
        return choose_mode(self.mode).labels(self, self._model.risks(self._matrix(X, warn=True)))

    def predict_risk(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of the outcome, or of the event of interest until each horizon.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `predict_proba`.

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
        return self._model.risks(self._matrix(X, warn=True))

    def predict_interval(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the 90 % intervals of the risks; `ensemble_["interval"]` says how they were estimated.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `predict_proba`.

        Returns
        -------
        ndarray, shape = (n_patients, 2) or (n_patients, n_horizons, 2)
            Lower and upper end, around the risks of `predict_risk`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the features differ from those of `fit`, or the model has no intervals; says why.
        """
        _, bounds = self._model.risks_with_intervals(self._matrix(X, warn=True))
        if bounds is None:
            method = self._model.interval_method
            msg = f"the model has no intervals: {method}; continue_for(seconds, evaluations=0) may estimate them"
            raise ValueError(msg)
        return bounds

    def score(self, X: ArrayLike, y: ArrayLike | Survival, sample_weight: ArrayLike | None = None) -> float:
        """Return the AUC-ROC; in mode `survival` Uno's, with competing events Wolbers's concordance.

        Unlike other classifiers of scikit-learn it is not the accuracy, which for a rare outcome does not tell a good
        model from a useless one; `make_scorer(accuracy_score)` gives that.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `predict_proba`; no value is warned of.
        y : array-like, shape = (n_patients,), or Survival
            The outcome of these patients, as for `fit`.
        sample_weight : array-like, shape = (n_patients,), or None
            Weights of these patients in the AUC-ROC.

        Returns
        -------
        float
            More is better, 0.5 is chance; a concordance is until the last horizon.

        Raises
        ------
        NotFittedError, ValueError
            As `predict_risk`; in mode `survival` also if weights are given.
        """
        risks = self._model.risks(self._matrix(X, warn=False))
        return choose_mode(self.mode).score(self, risks, y, sample_weight)

    @property
    def _model(self) -> PrognosticModel:
        check_is_fitted(self, "model_")
        model: PrognosticModel = self.model_
        return model

    def _matrix(self, X: ArrayLike, *, warn: bool) -> NDArray[np.float64]:
        """Return the patients as the model takes them."""
        model = self._model
        from autoprog.estimator.tables import to_matrix  # noqa: PLC0415  see the head

        matrix, unusual = to_matrix(model, self._table(_in_pandas(X), reset=False))
        if warn:
            warn_of_unusual(unusual, _CALLER)
        return matrix

    def _take(self, result: SearchResult) -> Self:
        self.model_ = result.model
        self.horizons_ = np.array(result.model.horizons)
        self._archive = result.archive
        self._keep_documents({name: getattr(result, name) for name in self._DOCUMENTS})
        return self

    def _archived(self) -> SearchArchive:
        check_is_fitted(self, "model_")
        archive: SearchArchive | None = getattr(self, "_archive", None)
        if archive is None:
            msg = (
                "the search is not at hand: it holds the patients' rows, which a pickle leaves out, and a file that "
                "was saved without search=True"
            )
            raise ValueError(msg)
        return archive

    def _effort(self, began: float) -> Effort:
        from autoprog.estimator.search import Effort  # noqa: PLC0415  see the head

        return Effort(self.n_jobs, self.verbose, began)

    def _cohort(
        self,
        X: ArrayLike,
        y: ArrayLike | Survival,
        groups: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> CohortTable:
        return choose_mode(self.mode).cohort(self, _in_pandas(X), y, SamplingDesign(groups, weights))

    def _table(self, X: ArrayLike, y: object = "no_validation", *, reset: bool = True) -> pd.DataFrame:
        """Return the features by name, in the order of `fit`, checked as scikit-learn does."""
        from autoprog.estimator.tables import name_columns, to_frame  # noqa: PLC0415  see the head

        names = None if reset else getattr(self, "feature_names_in_", None)
        if names is not None and not isinstance(X, pd.DataFrame) and np.ndim(X) == 2:
            X = to_frame(np.asarray(X), self._checked_names(np.shape(X)[1]))
        if isinstance(X, pd.DataFrame):
            if not reset and names is None:  # fitted to an array: places are all that is known of the columns
                validate_data(self, X, skip_check_array=True, reset=False)
                return to_frame(X, [f"x{j}" for j in range(X.shape[1])])
            X = name_columns(X)
            if names is not None and len(X.columns) == len(names) and set(X.columns) == set(names):
                X = X[list(names)]
            validate_data(self, X, skip_check_array=True, reset=reset)
            return to_frame(X)
        how = {"dtype": "numeric", "ensure_all_finite": "allow-nan", "reset": reset}
        if isinstance(y, str):
            return to_frame(validate_data(self, X, **how))
        checked, _ = validate_data(self, X, y, ensure_min_samples=2, **how)
        return to_frame(checked)

    def _checked_names(self, n_columns: int) -> list[str]:
        """The names of the columns that `fit` has seen, for an array; raises ValueError if it has more or fewer."""
        if n_columns != self.n_features_in_:
            msg = f"X has {n_columns} features, but AutoPrognosis is expecting {self.n_features_in_} features as input"
            raise ValueError(msg)
        return list(self.feature_names_in_)

    def _settings(self) -> SearchSettings:
        from pydantic import ValidationError  # noqa: PLC0415  see the head

        from autoprog.estimator.words import settings_error  # noqa: PLC0415
        from autoprog.search.settings import SearchSettings  # noqa: PLC0415

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
            raise settings_error(error) from None

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_class = False
        MODES.get(self.mode, MODES["classification"]).tag(tags)
        # Without a seed, and with a time budget, no two searches are alike.
        tags.non_deterministic = True
        return tags

    def save(self, path: str | Path, *, search: bool = False) -> None:
        """Write the estimator as one file, which `load` and `autoprog predict` read.

        Unlike a pickle, it is checked before anything of it is run, and later versions read it.

        Parameters
        ----------
        path : str or Path
            The file.
        search : bool
            Whether to keep the search too, so that `continue_for` and `to_server` work after `load`. The file then
            holds the rows of all patients.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the search is to be kept and is not at hand.
        """
        from autoprog.estimator.files import write_estimator  # noqa: PLC0415  see the head

        content = write_estimator(self, self._model, self._archived() if search else None)
        Path(path).write_bytes(content)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read an estimator, or the model of a command line's search.

        Parameters
        ----------
        path : str or Path
            What `save` wrote, or a `model.autoprog`, which can predict but knows nothing of its search.

        Returns
        -------
        AutoPrognosis
            Ready to predict.

        Raises
        ------
        ArtifactError
            If the file is damaged, of a newer format, or holds a type that is not allowed.
        """
        from autoprog.estimator.files import read_estimator  # noqa: PLC0415  see the head

        return read_estimator(cls, Path(path).read_bytes())

    def __getstate__(self) -> dict[str, Any]:
        """Store the model as its own file, whose types are checked when it is read; leave out the patients' rows."""
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_archive", None)
        state.pop("_explained", None)
        if "model_" in state:
            state["model_"] = state["model_"].to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state.get("model_"), bytes):
            from autoprog.model import PrognosticModel  # noqa: PLC0415  see the head

            state = {**state, "model_": PrognosticModel.from_bytes(state["model_"])}
        super().__setstate__(state)


def _in_pandas(X: ArrayLike) -> ArrayLike:
    """Tables of other libraries, such as polars, as those of pandas; anything else as it is."""
    converted: ArrayLike = X.to_pandas() if hasattr(X, "to_pandas") else X
    return converted
