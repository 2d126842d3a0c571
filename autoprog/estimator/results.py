"""Results of a fitted estimator besides predictions: summary, report, figures, tables, a search on a server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from autoprog.estimator.summary import Summary, summarise
from autoprog.extras import require
from autoprog.frames import leaderboard_table, rules_table, score_text
from autoprog.report.forms import find_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from autoprog.client import Search
    from autoprog.estimator.archive import SearchArchive
    from autoprog.explanation import Explanation
    from autoprog.model import PrognosticModel

_POINTS = 100


class ResultsMixin:
    """Everything that `AutoPrognosis` shows of a search that has ended."""

    # Documents as the REST API shows them.
    _DOCUMENTS = ("cohort", "search", "settings", "ensemble", "rules", "evaluations", "warnings")

    def _keep_documents(self, documents: dict[str, Any]) -> None:
        self.cohort_, self.settings_ = documents["cohort"], documents["settings"]
        self.ensemble_, self.rules_ = documents["ensemble"], documents["rules"]
        self.warnings_ = tuple(documents["warnings"])
        self._search, self._evaluations = documents["search"], documents["evaluations"]
        self.leaderboard_, self.rules_table_ = leaderboard_table(self._evaluations), rules_table(self.rules_)

    def _documents(self) -> dict[str, Any]:
        """All documents; raises NotFittedError, and ValueError if only the model is known."""
        check_is_fitted(self, "model_")
        if not hasattr(self, "ensemble_"):
            msg = "nothing is known of the search: the file held the model alone"
            raise ValueError(msg)
        return {
            "cohort": self.cohort_,
            "search": self._search,
            "settings": self.settings_,
            "ensemble": self.ensemble_,
            "rules": self.rules_,
            "evaluations": self._evaluations,
            "warnings": self.warnings_,
        }

    def summary(self) -> Summary:
        """Summarise the model: patients, score next to the simple model's, calibration, warnings.

        Returns
        -------
        Summary
            Its `str` is a table of text; a notebook shows it formatted.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the estimator was loaded from a model alone.
        """
        found = self._documents()
        del found["search"], found["evaluations"]
        return summarise(**found)

    def report(self, path: str | Path) -> None:
        """Write the report: tables, figures, text for the methods of a paper, TRIPOD+AI, PROBAST+AI, a model card.

        The patients by outcome are described only where their rows are at hand: after `fit`, and in an estimator that
        was saved with `search=True`.

        Parameters
        ----------
        path : str or Path
            The file to write, `.html`, `.md` or `.docx`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the suffix is another, or the estimator was loaded from a model alone.
        ImportError
            For `.docx` without the extra `report`.
        """
        found = self._documents()
        require("autoprog.report.files", "a report")
        from autoprog.estimator.reporting import estimator_report  # noqa: PLC0415  asked for by few
        from autoprog.report.files import write_report  # noqa: PLC0415  loads the template engine

        find_format(path)  # before the work
        of_model, explained = getattr(self, "_explained", (None, None))
        explanation = explained.to_json() if explained is not None and of_model is self.model_ else None
        write_report(estimator_report(found, getattr(self, "_archive", None), explanation), Path(path))

    def plot_calibration(self, *, horizon: float | None = None, ax: Axes | None = None) -> Axes:
        """Plot the calibration curve of the out-of-fold risks.

        Parameters
        ----------
        horizon : float or None
            Mode `survival`: one of `horizons_`; None for the last.
        ax : Axes or None
            Axes to draw on; None for a new figure.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ImportError
            Without matplotlib, the extra `plots`.
        NotFittedError, ValueError
            As `summary`; if there is no such horizon, or no curve.
        """
        from autoprog.estimator.plots import at_horizon, plot_calibration  # noqa: PLC0415  asked for by few

        return plot_calibration(at_horizon(self._documents()["ensemble"], horizon), ax)

    def plot_decision_curve(self, *, horizon: float | None = None, ax: Axes | None = None) -> Axes:
        """Plot the decision curve: net benefit of the model, the simple model, treating all and treating none.

        Parameters
        ----------
        horizon : float or None
            Mode `survival`: one of `horizons_`; None for the last.
        ax : Axes or None
            Axes to draw on; None for a new figure.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ImportError
            Without matplotlib, the extra `plots`.
        NotFittedError, ValueError
            As `summary`; if there is no such horizon.
        """
        from autoprog.estimator.plots import at_horizon, plot_decision_curve  # noqa: PLC0415  asked for by few

        return plot_decision_curve(at_horizon(self._documents()["ensemble"], horizon), ax)

    def plot_roc(self, *, horizon: float | None = None, ax: Axes | None = None) -> Axes:
        """Plot sensitivity by false positive rate, out of fold, with a pointwise band.

        Parameters
        ----------
        horizon : float or None
            Mode `survival`: one of `horizons_`; None for the last.
        ax : Axes or None
            Axes to draw on; None for a new figure.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ImportError
            Without matplotlib, the extra `plots`.
        NotFittedError, ValueError
            As `summary`; if there is no such horizon.
        """
        from autoprog.estimator.plots import at_horizon, plot_roc  # noqa: PLC0415  asked for by few

        return plot_roc(at_horizon(self._documents()["ensemble"], horizon), ax)

    def explanation(self) -> Explanation:
        """Return importance and effects of the inputs and the learning curve, computed when first asked for.

        Every member is refitted to each training fold, and to shares of it: some seconds to some minutes, in this
        process.

        Returns
        -------
        autoprog.explanation.Explanation
            Explanation of the ensemble's out-of-fold risks before recalibration.

        Raises
        ------
        NotFittedError, ValueError
            As `continue_for`: the search must be at hand.
        """
        documents, archive = self._documents(), self._archived()
        if getattr(self, "_explained", (None, None))[0] is not self.model_:
            require("autoprog.search", "an explanation")
            from autoprog.estimator.tables import CohortTable  # noqa: PLC0415  loads the learning libraries
            from autoprog.search.explaining import explain_ensemble, plan_explanation  # noqa: PLC0415  as above
            from autoprog.search.settings import SearchSettings  # noqa: PLC0415  as above

            cohort = CohortTable.of(archive.source, archive.spec).cohort
            plan = plan_explanation(SearchSettings.model_validate(documents["settings"]), cohort)
            self._explained = (self.model_, explain_ensemble(cohort, documents["ensemble"], plan))
        found: Explanation = self._explained[1]
        return found

    def importance(self, *, horizon: float | None = None) -> pd.DataFrame:
        """Return the permutation importance of each input, out of fold, in descending order.

        Parameters
        ----------
        horizon : float or None
            Mode `survival`: one of `horizons_`; None for the last.

        Returns
        -------
        DataFrame, shape = (n_features, 5)
            `feature`, `auc_loss` with its 95 % interval `lower` and `upper`, `brier_rise`.

        Raises
        ------
        NotFittedError, ValueError
            As `explanation`; if there is no such horizon.
        """
        from autoprog.estimator.tables import importance_table  # noqa: PLC0415  loads the learning libraries

        return importance_table(self.explanation(), horizon)

    def plot_importance(self, *, horizon: float | None = None, most: int = 15, ax: Axes | None = None) -> Axes:
        """Plot the loss of the AUC with each input shuffled, out of fold, with its interval.

        Parameters
        ----------
        horizon : float or None
            Mode `survival`: one of `horizons_`; None for the last.
        most : int
            Inputs to show.
        ax : Axes or None
            Axes to draw on; None for a new figure.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ImportError
            Without matplotlib, the extra `plots`.
        NotFittedError, ValueError
            As `importance`.
        """
        from autoprog.estimator.plots import plot_importance  # noqa: PLC0415  asked for by few

        return plot_importance(self.importance(horizon=horizon), most, ax)

    def plot_learning_curve(self, *, ax: Axes | None = None) -> Axes:
        """Plot the search's metric, out of fold, by the number of patients that the ensemble is fitted to.

        Parameters
        ----------
        ax : Axes or None
            Axes to draw on; None for a new figure.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ImportError
            Without matplotlib, the extra `plots`.
        NotFittedError, ValueError
            As `explanation`.
        """
        from autoprog.estimator.plots import plot_learning_curve  # noqa: PLC0415  asked for by few

        found = self.explanation()
        return plot_learning_curve(found.metric, [point.to_json() for point in found.learning_curve], ax)

    def explain(self, X: ArrayLike, *, horizon: float | None = None) -> pd.DataFrame:
        """Return how much each finding of some patients changes their risk.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `predict_proba`.
        horizon : float or None
            Mode `survival`: one of `horizons_`; None for the last.

        Returns
        -------
        DataFrame, shape = (n_patients, n_features)
            Risk with the finding less the risk without it, in [-1, 1]; NaN for unknown findings.

        Raises
        ------
        NotFittedError, ValueError
            As `predict_risk`; if there is no such horizon.
        """
        from autoprog.estimator.tables import place_of_horizon  # noqa: PLC0415  loads the learning libraries

        check_is_fitted(self, "model_")
        found = self.model_.contributions(self._matrix(X, warn=True))
        risks = found.risks
        if risks.ndim == 3:
            risks = risks[:, :, place_of_horizon(self.model_.horizons, horizon)]
        return pd.DataFrame(risks, columns=list(found.features), index=X.index if isinstance(X, pd.DataFrame) else None)

    def plot_survival(self, X: ArrayLike, *, ax: Axes | None = None) -> Axes:
        """Plot the risks of some patients by time, up to the last horizon; mode `survival`.

        Where events compete, it is the cumulative incidence of the event of interest.

        Parameters
        ----------
        X : DataFrame or array-like, shape = (n_patients, n_features)
            As for `predict_proba`; at most 20 patients. A DataFrame's index names them.
        ax : Axes or None
            Axes to draw on; None for a new figure.

        Returns
        -------
        Axes
            The axes.

        Raises
        ------
        ImportError
            Without matplotlib, the extra `plots`.
        NotFittedError, ValueError
            As `predict_risk`; if the outcome has no time, or there are too many patients.
        """
        from autoprog.estimator.plots import plot_risks  # noqa: PLC0415  asked for by few

        check_is_fitted(self, "model_")
        self.model_.outcome.target.require_times()
        times = np.linspace(0, self.model_.horizons[-1], _POINTS + 1)[1:]
        names = X.index.tolist() if isinstance(X, pd.DataFrame) else list(range(len(np.asarray(X))))
        return plot_risks(times, self.model_.risks_until(self._matrix(X, warn=True), times.tolist()), names, ax)

    def to_server(self, url: str, key: str | None = None, *, name: str = "cohort") -> Search:
        """Upload the patients to a server and start the same search there, for those who use its pages.

        A server takes no models from outside, since a model is code in effect: it searches again, by the same settings
        and seed. With a budget of evaluations that the time allows, the result is the same model.

        Parameters
        ----------
        url : str
            Address of the server, such as `https://autoprog.example.org`.
        key : str or None
            API key; None for a server on this machine.
        name : str
            Name of the cohort there.

        Returns
        -------
        autoprog.client.Search
            The queued search; `wait()` follows it to its model.

        Raises
        ------
        NotFittedError, ValueError
            As `continue_for`: the search must be at hand.
        autoprog.client.ServerError
            If the server cannot be reached or refuses.
        """
        from autoprog.client import Client  # noqa: PLC0415  asked for by few

        archive = self._archived()
        client = Client(url, key)  # the search goes on using it
        cohort = client.create_cohort(archive.source, {**archive.spec, "name": name})
        # The settings have the time that was left to the search or to its continuation.
        budget = self.settings_["budget"]
        return client.start_search(
            cohort, **{**self.settings_, "budget": {**budget, "time_s": max(budget["time_s"], self.time_budget_s)}}
        )

    if TYPE_CHECKING:
        model_: PrognosticModel
        time_budget_s: float

        def _archived(self) -> SearchArchive: ...

        def _matrix(self, X: ArrayLike, *, warn: bool) -> Any: ...  # noqa: ANN401  as in the estimator

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        text: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]  # scikit-learn's
        if not hasattr(self, "ensemble_"):
            return text
        baseline = self.ensemble_.get("baseline")
        beside = "" if baseline is None else f"; simple model {score_text(baseline['score'])}"
        n = len(self.warnings_)
        warned = f"\n  {n} warning{'s' if n > 1 else ''}, see warnings_" if n else ""
        return f"{text}\n  {self.settings_['metric']} {score_text(self.ensemble_['score'])}{beside}{warned}"

    def _html_repr(self) -> str:
        """What a notebook shows: the summary above scikit-learn's diagram of the parameters."""
        diagram: str = super()._html_repr()  # type: ignore[misc]
        return (self.summary()._repr_html_() if hasattr(self, "ensemble_") else "") + diagram
