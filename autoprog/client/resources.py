"""Cohorts, searches, models and validations on a server."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from autoprog.client.connection import Connection, ServerError
from autoprog.client.tables import chunks, patients_of, prediction_table
from autoprog.frames import leaderboard_table, rules_table, score_text
from autoprog.progress import open_progress
from autoprog.report.forms import find_format

if TYPE_CHECKING:
    import pandas as pd


class Resource:
    """A resource on a server, as it was last read.

    Parameters
    ----------
    connection : Connection
        To the server.
    document : dict
        What the server told of it.

    Attributes
    ----------
    id : str
        Its identifier.
    document : dict
        All that the server told of it; `refresh` reads it anew.
    """

    _path: str

    def __init__(self, connection: Connection, document: dict[str, Any]) -> None:
        self._connection = connection
        self.id: str = document["id"]
        self.document = document

    @property
    def _url(self) -> str:
        return f"{self._path}/{self.id}"

    def refresh(self) -> Self:
        """Read it anew; raises ServerError."""
        self.document = self._connection.get(self._url)
        return self

    def _wait_until(self, status: str, busy: tuple[str, ...], timeout_s: float | None, poll_s: float) -> None:
        """Refresh while a job works on it; raises TimeoutError, and ServerError if it ends in another status."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        while self.refresh().document["status"] in busy:
            if end is not None and time.monotonic() + poll_s > end:
                msg = f"{type(self).__name__} {self.id} is {self.document['status']} after {timeout_s:g} s"
                raise TimeoutError(msg)
            time.sleep(poll_s)
        if self.document["status"] != status:
            detail = (self.document["error"] or {}).get("detail") or f"it ended as {self.document['status']}"
            raise ServerError(str(detail), problem="job-failed")

    def _write_report(self, path: str | Path) -> None:
        Path(path).write_bytes(self._connection.content(f"{self._url}/report", format=find_format(path)))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class Cohort(Resource):
    """A cohort on a server: patients with an outcome."""

    _path = "/v1/cohorts"

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document["name"])

    @property
    def n_patients(self) -> int:
        """Patients with a known outcome."""
        return int(self.document["n_patients"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """Doubtful columns and rows."""
        return tuple(self.document["warnings"])

    def delete(self, *, models: Literal["keep", "delete"] = "keep") -> None:
        """Delete it with its searches, and on request its models; raises ServerError."""
        self._connection.delete(self._url, models=models)


class Validation(Resource):
    """Performance of a model in another cohort."""

    def __init__(self, connection: Connection, document: dict[str, Any]) -> None:
        super().__init__(connection, document)
        self._path = f"/v1/models/{document['model_id']}/validations"

    @property
    def scores(self) -> dict[str, dict[str, Any]]:
        """Each metric's estimate with its interval."""
        return dict(self.document["scores"])

    @property
    def warnings(self) -> tuple[str, ...]:
        """How these patients differ from those that the model was fitted to."""
        return tuple(self.document["warnings"])

    def report(self, path: str | Path) -> None:
        """Write the report as .html, .md or .docx; raises ValueError, and ServerError if the search was deleted."""
        self._write_report(path)

    def delete(self) -> None:
        """Delete it; raises ServerError."""
        self._connection.delete(self._url)


class Model(Resource):
    """A fitted model on a server."""

    _path = "/v1/models"

    @property
    def status(self) -> str:
        """`draft`, `approved` or `retired`, as last read."""
        return str(self.document["status"])

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that a patient needs."""
        return tuple(feature["name"] for feature in self.document["features"])

    @property
    def horizons(self) -> tuple[float, ...]:
        """Times until which risks are predicted; empty for an outcome without a time."""
        return tuple(self.document["horizons"])

    def predict(self, patients: pd.DataFrame | Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Predict the risks of patients, with their intervals.

        Parameters
        ----------
        patients : DataFrame or sequence of mapping
            A column or key for each feature; others of a DataFrame are left out. Of visits, mappings as in the REST
            API.

        Returns
        -------
        DataFrame
            A row for each patient, with the index of `patients`: `risk`, `lower`, `upper`, `stratum`, with several
            horizons such as `risk_365`; `rules` and `warnings`.

        Raises
        ------
        ServerError
            With the faults of all patients of a request.
        """
        if isinstance(patients, Sequence):
            return prediction_table(self.predict_documents(patients))
        known = [name for name in patients.columns if name in self.features]
        return prediction_table(self.predict_documents(patients_of(patients[known])), patients.index)

    def predict_documents(self, patients: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Predict as `predict` does, and return the documents of the REST API; raises ServerError."""
        items: list[dict[str, Any]] = []
        for start, some in chunks(patients_of(patients)):
            try:
                items += self._connection.post(f"{self._url}/predictions", {"patients": list(some)})["items"]
            except ServerError as error:
                raise _moved(error, start) from error.__cause__
        return items

    def next_tests(self, patient: Mapping[str, Any], **options: Any) -> dict[str, Any]:  # noqa: ANN401  as below
        """Rank the tests that a patient has not had; `catalogue_id`, `test_names`, `prices` are as in the REST API."""
        return self._connection.post(f"{self._url}/next-tests", {"patient": dict(patient), **options})

    def validate(self, cohort: Cohort | str, **options: Any) -> Validation:  # noqa: ANN401  fields of the request
        """Measure the model in another cohort; `thresholds`, `subgroups` and `seed` are as in the REST API."""
        asked = {"cohort_id": _id(cohort), **options}
        return Validation(self._connection, self._connection.post(f"{self._url}/validations", asked))

    def compare(self, other: Model | str, cohort: Cohort | str, **options: Any) -> dict[str, Any]:  # noqa: ANN401  as above
        """Measure the model and another one on the same patients; `thresholds` and `seed` are as in the REST API."""
        asked = {"other_model_id": _id(other), "cohort_id": _id(cohort), **options}
        return self._connection.post(f"{self._url}/comparisons", asked)

    def validations(self) -> list[Validation]:
        """List the model's validations, oldest first."""
        return [Validation(self._connection, each) for each in self._connection.items(f"{self._url}/validations")]

    def recalibrate(
        self, cohort: Cohort | str, method: Literal["intercept", "intercept_and_slope"] = "intercept_and_slope"
    ) -> Model:
        """Update the model to another cohort; returns the new version."""
        asked = {"cohort_id": _id(cohort), "method": method}
        return Model(self._connection, self._connection.post(f"{self._url}/recalibrations", asked))

    def change_status(
        self,
        status: Literal["draft", "approved", "retired"],
        note: str | None = None,
        *,
        replaces: Model | str | None = None,
    ) -> Self:
        """Approve or retire the model; the key needs the scope `approve`.

        Parameters
        ----------
        status : {"draft", "approved", "retired"}
            The status that it shall have. A retired model does not predict.
        note : str or None
            Why, for those who ask later.
        replaces : Model, str or None
            Another model, which is retired in the same step. To roll back, approve the former model like this.

        Returns
        -------
        Model
            The model itself.

        Raises
        ------
        ServerError
            If the key may not approve, or one of the models has the status already.
        """
        other = None if replaces is None else _id(replaces)
        self._connection.post(f"{self._url}/status-changes", {"status": status, "note": note, "replaces": other})
        return self.refresh()

    def status_changes(self) -> list[dict[str, Any]]:
        """List who approved or retired the model, when and why, oldest first."""
        return list(self._connection.items(f"{self._url}/status-changes"))

    def delete(self) -> None:
        """Delete it; its search stays. Raises ServerError."""
        self._connection.delete(self._url)


class Frontier(Resource):
    """Performance by the cost of tests, for groups of a search's features."""

    def __init__(self, connection: Connection, document: dict[str, Any]) -> None:
        super().__init__(connection, document)
        self._path = f"/v1/searches/{document['search_id']}/test-frontiers"

    def wait(self, *, timeout_s: float | None = None, poll_s: float = 1.0) -> Self:
        """Wait until all groups are evaluated.

        Parameters
        ----------
        timeout_s : float or None
            Most seconds to wait; None for no limit. The job goes on after that.
        poll_s : float
            Seconds between two looks.

        Returns
        -------
        Frontier
            The frontier itself, with its points.

        Raises
        ------
        TimeoutError
            If it has not ended in time.
        ServerError
            If it failed.
        """
        self._wait_until("succeeded", ("queued", "running"), timeout_s, poll_s)
        return self

    @property
    def points(self) -> pd.DataFrame:
        """A row for each group of tests, ascending by cost; empty until the job has succeeded."""
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame((self.document["result"] or {"points": []})["points"])

    def missing_tests(self, patient: Mapping[str, Any]) -> dict[str, Any]:
        """Rank the tests that a patient has not had, by expected change of the risk per cost; raises ServerError."""
        return self._connection.post(f"{self._url}/missing-tests", {"patient": dict(patient)})

    def delete(self) -> None:
        """Delete it; a running job is abandoned. Raises ServerError."""
        self._connection.delete(self._url)


class Search(Resource):
    """A search on a server, queued, running or ended."""

    _path = "/v1/searches"

    @property
    def status(self) -> str:
        """`queued`, `running`, `succeeded`, `failed` or `cancelled`, as last read."""
        return str(self.document["status"])

    @property
    def is_finished(self) -> bool:
        """Whether it had ended when it was last read."""
        return self.document["finished_at"] is not None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before trusting the model."""
        return tuple(self.document["warnings"])

    def wait(self, *, timeout_s: float | None = None, poll_s: float = 1.0, verbose: int | None = None) -> Self:
        """Wait for the end of the search, and show its progress; a server may restart meanwhile.

        Parameters
        ----------
        timeout_s : float or None
            Most seconds to wait; None for no limit. The search goes on after that.
        poll_s : float
            Seconds between two looks.
        verbose : int or None
            Whether to show the progress on stderr or in the notebook's cell: 0 for never, 1 for always, None only
            in an interactive terminal or a notebook.

        Returns
        -------
        Search
            The search itself, with a model.

        Raises
        ------
        TimeoutError
            If it has not ended in time.
        ServerError
            If it ended without a model, was deleted, or the server is away for longer than the client's patience.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        with open_progress(verbose) as line:
            while not self.refresh().is_finished:
                progress = self.document["progress"]
                line.update(_text(self.document), progress["elapsed_s"], self.document["settings"]["budget"]["time_s"])
                if end is not None and time.monotonic() + poll_s > end:
                    msg = f"search {self.id} is {self.status} after {timeout_s:g} s"
                    raise TimeoutError(msg)
                time.sleep(poll_s)
        if self.document["model_id"] is None:
            error = self.document["error"] or {}
            detail = error.get("detail") or f"it ended as {self.status}"
            raise ServerError(
                f"the search has no model: {detail}", problem=str(error.get("type", "")).rsplit("/", 1)[-1]
            )
        return self

    @property
    def model(self) -> Model:
        """The delivered model; raises ServerError if there is none."""
        if self.document["model_id"] is None:
            self.refresh()
        if (model_id := self.document["model_id"]) is None:
            raise ServerError(f"the search has no model: it is {self.status}", problem="conflict")
        return Model(self._connection, self._connection.get(f"/v1/models/{model_id}"))

    @property
    def ensemble(self) -> dict[str, Any]:
        """Members, score, baseline, calibration and all measures; raises ServerError before the end."""
        return self._connection.get(f"{self._url}/ensemble")

    @property
    def score(self) -> dict[str, Any]:
        """The model's score: `estimate`, `lower`, `upper`, and how they were estimated."""
        return dict(self.ensemble["score"])

    @property
    def baseline(self) -> dict[str, Any] | None:
        """The simple model's score; None if it could not be evaluated."""
        baseline = self.ensemble["baseline"]
        return None if baseline is None else dict(baseline["score"])

    @property
    def rules(self) -> pd.DataFrame:
        """The rules of the risk strata, one per row."""
        return rules_table(self._connection.get(f"{self._url}/rules"))

    @property
    def strata(self) -> list[dict[str, Any]]:
        """The risk strata."""
        return list(self._connection.get(f"{self._url}/rules")["strata"])

    @property
    def leaderboard(self) -> pd.DataFrame:
        """All evaluations, the best first."""
        return leaderboard_table(list(self._connection.items(f"{self._url}/evaluations", sort="score")))

    def summary(self) -> str:
        """The score beside that of the simple model, and the warnings, as text."""
        found = self.ensemble
        baseline = found["baseline"]
        beside = "" if baseline is None else f", simple model {score_text(baseline['score'])}"
        metric = self.document["settings"]["metric"]
        return "\n".join([f"{metric} {score_text(found['score'])}{beside}", *(f"warning: {w}" for w in self.warnings)])

    def report(self, path: str | Path) -> None:
        """Write the report as .html, .md or .docx; raises ValueError, and ServerError before the end."""
        self._write_report(path)

    def explain(self, *, timeout_s: float | None = None, poll_s: float = 1.0) -> dict[str, Any]:
        """Compute importance, effects and learning curve on the server; return when they are there.

        Parameters
        ----------
        timeout_s : float or None
            Most seconds to wait; None for no limit. The server goes on after that, and a later call takes the result.
        poll_s : float
            Seconds between two looks.

        Returns
        -------
        dict
            `importance`, `effects`, `learning_curve`, `typical` and how they were measured, as in the REST API.

        Raises
        ------
        TimeoutError
            If it has not ended in time.
        ServerError
            If the search has no ensemble, or the explanation failed.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        found = self._connection.post(f"{self._url}/explanation")
        while found["status"] in {"queued", "running"}:
            if end is not None and time.monotonic() + poll_s > end:
                msg = f"the explanation of search {self.id} is {found['status']} after {timeout_s:g} s"
                raise TimeoutError(msg)
            time.sleep(poll_s)
            found = self._connection.get(f"{self._url}/explanation")
        if found["result"] is None:
            error = found["error"] or {}
            raise ServerError(str(error.get("detail") or "the explanation failed"), problem="job-failed")
        return dict(found["result"])

    def create_frontier(self, **fields: Any) -> Frontier:  # noqa: ANN401  fields of the request
        """Queue an evaluation of the best pipeline on groups of tests.

        Parameters
        ----------
        **fields : object
            `tests`, each with `name`, `cost` and `features`, or `catalogue_id` and so on, as in the REST API.

        Returns
        -------
        Frontier
            The queued one; `wait` follows it.

        Raises
        ------
        ServerError
            With every fault of the tests, or if the search has no result.
        """
        return Frontier(self._connection, self._connection.post(f"{self._url}/test-frontiers", fields))

    def frontiers(self) -> list[Frontier]:
        """List all frontiers of the search, oldest first; `refresh` reads the points of one."""
        return [Frontier(self._connection, each) for each in self._connection.items(f"{self._url}/test-frontiers")]

    def cancel(self) -> Self:
        """Ask the search to end; what it has evaluated becomes the model."""
        self.document = self._connection.post(f"{self._url}/cancel")
        return self

    def continue_for(self, seconds: float, evaluations: int = 100) -> Search:
        """Start a new search that goes on where this one has ended."""
        asked = {"time_s": seconds, "evaluations": evaluations}
        return Search(self._connection, self._connection.post(f"{self._url}/continuations", asked))

    def delete(self) -> None:
        """Delete it with its evaluations; its model stays. Raises ServerError while it runs."""
        self._connection.delete(self._url)


def _moved(error: ServerError, start: int) -> ServerError:
    """The error of a request that begins with this patient, with the patients' places among all."""

    def move(pointer: str) -> str:
        return re.sub(r"(?<=^/patients/)\d+", lambda match: str(int(match[0]) + start), pointer)

    faults = tuple(replace(fault, pointer=move(fault.pointer)) for fault in error.faults)
    return ServerError(str(error).partition("\n")[0], problem=error.problem, status=error.status, faults=faults)


def _id(resource: Resource | str) -> str:
    return resource if isinstance(resource, str) else resource.id


def _text(search: Mapping[str, Any]) -> str:
    counts, best = search["progress"]["evaluations"], search["progress"]["best_score"]
    text = f"{search['phase'] or search['status']}: {counts['succeeded'] + counts['failed']} pipelines"
    return text if best is None else f"{text}, best {search['settings']['metric']} {best:.3f}"
