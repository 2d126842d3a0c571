"""`Client`: the entrance to a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from autoprog.client.bedside import Catalogue, DiagnosisModel, DiagnosisSession, SelectionProblem
from autoprog.client.connection import Connection
from autoprog.client.resources import Cohort, Model, Search
from autoprog.client.tables import file_of, kinds_of

if TYPE_CHECKING:
    import httpx2
    import pandas as pd

_POLICY = "/v1/prediction-policy"


class Client:
    """A server of autoprog.

    Requests that get no answer, or that a busy server refuses, are repeated after a pause, which the server may set
    (`Retry-After`); each takes effect once. Close the client, or use it in a `with` block.

    Parameters
    ----------
    url : str
        Address of the server, such as `http://127.0.0.1:8000`.
    key : str or None
        API key; None for a server on this machine.
    timeout_s : float
        Most seconds to wait for an answer to one request.
    patience_s : float
        Most seconds to repeat a request that gets no answer, as while a server restarts.
    transport : httpx2.BaseTransport or None
        Carries the requests, as through a proxy; None for the network.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     cohort = client.create_cohort(patients, outcome={"column": "died", "positive": 1})
    ...     search = client.start_search(cohort, time_s=300).wait()
    ...     search.model.predict(new_patients)
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        timeout_s: float = 60.0,
        patience_s: float = 120.0,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(url, key, timeout_s=timeout_s, patience_s=patience_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def create_cohort(
        self,
        data: pd.DataFrame | str | Path | bytes,
        spec: Mapping[str, Any] | None = None,
        **fields: Any,  # noqa: ANN401  the spec's
    ) -> Cohort:
        """Upload patients.

        Parameters
        ----------
        data : DataFrame, str, Path or bytes
            Patients, one per row; or a file of them, or its content. A table's ordered categories keep their order, and
            numbers that are categories are not learnt as numbers, unless `features` says otherwise.
        spec : mapping or None
            What the columns mean, as in the REST API.
        **fields : object
            Fields of the spec, beside those of `spec`: `outcome`, `features`, `ignore`, `groups` and so on. The
            default of `name` is the file's; that of `mode` follows from the outcome.

        Returns
        -------
        Cohort
            What the server has read.

        Raises
        ------
        ServerError
            With every fault of file and spec.
        """
        name, content = file_of(data)
        asked = {"name": name.partition(".")[0] or "cohort", **(spec or {}), **fields}
        asked.setdefault("mode", _mode(asked.get("outcome")))
        if not isinstance(data, str | Path | bytes) and (kinds := kinds_of(data, asked)):
            asked["features"] = {**kinds, **asked.get("features", {})}
        parts: dict[str, tuple[str | None, bytes]] = {
            "file": (name, content),
            "spec": (None, json.dumps(asked).encode()),
        }
        return Cohort(self._connection, self._connection.post("/v1/cohorts", parts=parts))

    def start_search(
        self,
        cohort: Cohort | str,
        *,
        time_s: float | None = None,
        evaluations: int | None = None,
        **settings: Any,  # noqa: ANN401  the search's
    ) -> Search:
        """Queue a search.

        Parameters
        ----------
        cohort : Cohort or str
            The patients, or their identifier.
        time_s : float or None
            Seconds until the model is delivered; None for the server's default.
        evaluations : int or None
            Most pipelines; None for the server's default.
        **settings : object
            Other settings, as in the REST API.

        Returns
        -------
        Search
            The queued search; `wait` follows it.

        Raises
        ------
        ServerError
            With every fault of the settings.
        """
        limits = {"time_s": time_s, "evaluations": evaluations}
        budget = {
            **settings.pop("budget", {}), **{name: value for name, value in limits.items() if value is not None}
        }  # fmt: skip
        asked = {"cohort_id": cohort if isinstance(cohort, str) else cohort.id, **settings, "budget": budget}
        return Search(self._connection, self._connection.post("/v1/searches", asked))

    def cohort(self, cohort_id: str) -> Cohort:
        """Get a cohort by its identifier; raises ServerError."""
        return Cohort(self._connection, self._connection.get(f"/v1/cohorts/{cohort_id}"))

    def cohorts(self) -> list[Cohort]:
        """List all cohorts, oldest first."""
        return [Cohort(self._connection, each) for each in self._connection.items("/v1/cohorts")]

    def search(self, search_id: str) -> Search:
        """Get a search by its identifier; raises ServerError."""
        return Search(self._connection, self._connection.get(f"/v1/searches/{search_id}"))

    def searches(self) -> list[Search]:
        """List all searches, oldest first."""
        return [Search(self._connection, each) for each in self._connection.items("/v1/searches")]

    def model(self, model_id: str) -> Model:
        """Get a model by its identifier; raises ServerError."""
        return Model(self._connection, self._connection.get(f"/v1/models/{model_id}"))

    def models(self) -> list[Model]:
        """List all models, oldest first."""
        return [Model(self._connection, each) for each in self._connection.items("/v1/models")]

    @property
    def approved_only(self) -> bool:
        """Whether drafts refuse to predict for the key's owner, except for keys with the scope `approve`."""
        return bool(self._connection.get(_POLICY)["approved_only"])

    @approved_only.setter
    def approved_only(self, approved_only: bool) -> None:
        self._connection.put(_POLICY, {"approved_only": approved_only})

    def create_catalogue(self, name: str, tests: Sequence[Mapping[str, Any]]) -> Catalogue:
        """Store the tests of a hospital.

        Parameters
        ----------
        name : str
            Its name.
        tests : sequence of mapping
            `name` and `cost` of each, and if they matter `minutes`, `harm` and the `features` that it reveals.

        Returns
        -------
        Catalogue
            The stored one.

        Raises
        ------
        ServerError
            With every fault of the tests.
        """
        asked = {"name": name, "tests": list(map(dict, tests))}
        return Catalogue(self._connection, self._connection.post("/v1/test-catalogues", asked))

    def catalogue(self, catalogue_id: str) -> Catalogue:
        """Get a catalogue by its identifier; raises ServerError."""
        return Catalogue(self._connection, self._connection.get(f"/v1/test-catalogues/{catalogue_id}"))

    def catalogues(self) -> list[Catalogue]:
        """List all catalogues, oldest first."""
        return [Catalogue(self._connection, each) for each in self._connection.items("/v1/test-catalogues")]

    def create_selection_problem(
        self,
        name: str,
        cohort: Cohort | str | None = None,
        **fields: Any,  # noqa: ANN401  the request's
    ) -> SelectionProblem:
        """Create a problem of test selection.

        Parameters
        ----------
        name : str
            Its name.
        cohort : Cohort, str or None
            Patients to train a classifier for each choice of tests on, or their identifier; None if rounds take the
            predictions of classifiers outside the server.
        **fields : object
            `structure`, `tests` or `catalogue_id`, `trade_off`, `algorithm` and so on, as in the REST API.

        Returns
        -------
        SelectionProblem
            With a cohort, one that trains; `wait` follows it.

        Raises
        ------
        ServerError
            With every fault of the problem.
        """
        patients = {} if cohort is None else {"cohort_id": cohort if isinstance(cohort, str) else cohort.id}
        asked = {"name": name, **patients, **fields}
        return SelectionProblem(self._connection, self._connection.post("/v1/test-selection/problems", asked))

    def selection_problem(self, problem_id: str) -> SelectionProblem:
        """Get a problem of test selection by its identifier; raises ServerError."""
        return SelectionProblem(self._connection, self._connection.get(f"/v1/test-selection/problems/{problem_id}"))

    def selection_problems(self) -> list[SelectionProblem]:
        """List all problems of test selection, oldest first."""
        found = self._connection.items("/v1/test-selection/problems")
        return [SelectionProblem(self._connection, each) for each in found]

    def create_diagnosis_model(self, **fields: Any) -> DiagnosisModel:  # noqa: ANN401  the request's
        """Create a model of diagnosis.

        Parameters
        ----------
        **fields : object
            `name`, `objects`, `queries` and `responses`, or `name` and `cohort_id`, and so on, as in the REST API.

        Returns
        -------
        DiagnosisModel
            Ready for sessions.

        Raises
        ------
        ServerError
            With every fault of the model.
        """
        return DiagnosisModel(self._connection, self._connection.post("/v1/diagnosis/models", fields))

    def diagnosis_model(self, model_id: str) -> DiagnosisModel:
        """Get a model of diagnosis by its identifier; raises ServerError."""
        return DiagnosisModel(self._connection, self._connection.get(f"/v1/diagnosis/models/{model_id}"))

    def diagnosis_models(self) -> list[DiagnosisModel]:
        """List all models of diagnosis, oldest first."""
        return [DiagnosisModel(self._connection, each) for each in self._connection.items("/v1/diagnosis/models")]

    def diagnosis_session(self, session_id: str) -> DiagnosisSession:
        """Get a session of diagnosis by its identifier; raises ServerError."""
        return DiagnosisSession(self._connection, self._connection.get(f"/v1/diagnosis/sessions/{session_id}"))

    def erase_patient(
        self,
        identifier: str,
        *,
        models: Literal["keep", "delete_with_rows", "delete"] = "delete_with_rows",
        reference: str | None = None,
        preview: bool = False,
    ) -> dict[str, Any]:
        """Erase a patient from all cohorts with a column of identifiers.

        Parameters
        ----------
        identifier : str
            The patient's value in that column.
        models : {"keep", "delete_with_rows", "delete"}
            Which models fitted on the patient are deleted: none, those that keep rows of their patients, or all.
        reference : str or None
            Reference of the request, for the record; it must name no patient.
        preview : bool
            Tell what would be erased and change nothing.

        Returns
        -------
        dict
            Cohorts that had the patient; searches, models and validations computed from them, each deleted or kept;
            cohorts that could not be searched. Unless it is a preview, `id` and `created_at` of the record.

        Raises
        ------
        ServerError
            If a search on one of the cohorts is running, or the server refuses the request otherwise.
        """
        asked = {"identifier": identifier, "models": models, "reference": reference}
        return self._connection.post(f"/v1/patient-erasures{'/previews' if preview else ''}", asked)

    def patient_erasures(self) -> list[dict[str, Any]]:
        """List the records of all erasures of patients, oldest first."""
        return list(self._connection.items("/v1/patient-erasures"))


def _mode(outcome: object) -> str:
    """The mode that an outcome's keys tell of; a server names what is wrong with any other."""
    keys = set(outcome) if isinstance(outcome, Mapping) else set()
    if "patient" in keys:
        return "temporal"
    return "survival" if keys & {"time", "event"} else "classification"
