"""Bedside engines of a server: test catalogues, test selection round by round, diagnosis question by question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from autoprog.client.connection import Connection, ServerError
from autoprog.client.resources import Resource


class Catalogue(Resource):
    """A catalogue of tests on a server, which never changes."""

    _path = "/v1/test-catalogues"

    @property
    def tests(self) -> list[dict[str, Any]]:
        """Each test with `name`, `cost`, `minutes`, `harm` and `features`."""
        return list(self.document["tests"])

    def delete(self) -> None:
        """Delete it; what was made from it keeps its tests. Raises ServerError."""
        self._connection.delete(self._url)


class SelectionRound(Resource):
    """One patient's round of test selection: the tests to order, then the prediction to act on."""

    def __init__(self, connection: Connection, document: dict[str, Any]) -> None:
        super().__init__(connection, document)
        self._path = f"/v1/test-selection/problems/{document['problem_id']}/rounds"

    @property
    def tests(self) -> tuple[str, ...]:
        """Names of the tests that were chosen for the patient."""
        return tuple(self.document["tests"])

    @property
    def next_test(self) -> str | None:
        """Name of the test to order next; None once all are done, or if the problem takes predictions."""
        test = self.document["next_test"]
        return None if test is None else str(test["name"])

    @property
    def is_closed(self) -> bool:
        """Whether the feedback is complete."""
        return bool(self.document["status"] == "closed")

    @property
    def prediction(self) -> int | None:
        """0 or 1, to act on; None until the round is closed."""
        prediction: int | None = self.document["prediction"]
        return prediction

    def measure(self, measurements: Mapping[str, Any]) -> Self:
        """Send what the tests measured, of one test or several, if the problem has classifiers of its own.

        Parameters
        ----------
        measurements : mapping
            A value for each feature; None if a test gave no value.

        Returns
        -------
        SelectionRound
            The round itself, with the next test or the prediction.

        Raises
        ------
        ServerError
            With every fault of the measurements.
        """
        return self._give({"measurements": dict(measurements)})

    def predict(self, predictions: Mapping[str, int]) -> Self:
        """Send predictions of classifiers outside the server: 0 or 1 by arm; raises ServerError."""
        return self._give({"predictions": dict(predictions)})

    def delete(self) -> None:
        """Delete it; raises ServerError if it is closed."""
        self._connection.delete(self._url)

    def _give(self, feedback: dict[str, Any]) -> Self:
        self.document = self._connection.post(f"{self._url}/feedback", feedback)
        return self


class SelectionProblem(Resource):
    """A problem of test selection on a server: which tests to order for each patient in turn."""

    _path = "/v1/test-selection/problems"

    @property
    def status(self) -> str:
        """`training`, `ready` or `failed`, as last read."""
        return str(self.document["status"])

    def wait(self, *, timeout_s: float | None = None, poll_s: float = 1.0) -> Self:
        """Wait until classifiers were trained on the problem's cohort.

        Parameters
        ----------
        timeout_s : float or None
            Most seconds to wait; None for no limit. The training goes on after that.
        poll_s : float
            Seconds between two looks.

        Returns
        -------
        SelectionProblem
            The problem itself, ready for rounds.

        Raises
        ------
        TimeoutError
            If it is not ready in time.
        ServerError
            If the training failed.
        """
        self._wait_until("ready", ("training",), timeout_s, poll_s)
        return self

    def open_round(self) -> SelectionRound:
        """Choose the tests for the next patient; raises ServerError while the problem is not ready."""
        return SelectionRound(self._connection, self._connection.post(f"{self._url}/rounds"))

    def round(self, round_id: str) -> SelectionRound:
        """Get a round by its identifier; raises ServerError."""
        return SelectionRound(self._connection, self._connection.get(f"{self._url}/rounds/{round_id}"))

    def rounds(self) -> list[SelectionRound]:
        """List all rounds, oldest first."""
        return [SelectionRound(self._connection, each) for each in self._connection.items(f"{self._url}/rounds")]

    def delete(self) -> None:
        """Delete it with its rounds; raises ServerError."""
        self._connection.delete(self._url)


class DiagnosisSession(Resource):
    """A session of diagnosis on a server: one question after another, until one candidate is left."""

    _path = "/v1/diagnosis/sessions"

    @property
    def is_done(self) -> bool:
        """Whether no question is left to ask."""
        return bool(self.document["done"])

    @property
    def question(self) -> str | None:
        """Name of the query to ask next; None once the session is done."""
        query = self.document["next_query"]
        return None if query is None else str(query["name"])

    @property
    def order(self) -> str | None:
        """Name of the catalogue's test to order for the answer; None if none is needed."""
        order = (self.document["next_query"] or {}).get("order")
        return None if order is None else str(order["test"])

    @property
    def remaining(self) -> list[dict[str, Any]]:
        """Candidates that are left, each with `object` or `group` and `probability`; the most probable first."""
        return list(self.document["remaining"])

    @property
    def result(self) -> dict[str, Any] | None:
        """`status`, `object` or `group`, `probability`; None until the session is done."""
        result: dict[str, Any] | None = self.document["result"]
        return result

    def answer(self, answer: bool | None, query: str | None = None, **options: Any) -> Self:  # noqa: ANN401, FBT001  REST
        """Answer a query.

        Parameters
        ----------
        answer : bool or None
            The answer; None if it cannot be had, so that it is not asked again.
        query : str or None
            Name of the query; None for the one that is asked.
        **options : object
            `volunteered` and `test`, as in the REST API.

        Returns
        -------
        DiagnosisSession
            The session itself, with the next question or the result.

        Raises
        ------
        ServerError
            If no such query is asked.
        """
        if query is None and (query := self.question) is None:
            raise ServerError("the session is done: it asks no question", problem="conflict")
        asked = {"query": query, "answer": answer, **options}
        self.document = self._connection.post(f"{self._url}/answers", asked)
        return self

    def batch(self, size: int = 3) -> list[dict[str, Any]]:
        """Questions to ask together, the next one first; answer each with `volunteered=True`."""
        return list(self._connection.get(f"{self._url}/batch", size=size)["queries"])

    def undo(self) -> Self:
        """Take the last answer back; raises ServerError if there is none, or if another one came meanwhile."""
        if not self.document["answers"]:
            raise ServerError("the session has no answer to take back", problem="conflict")
        self._connection.delete(f"{self._url}/answers/{self.document['answers'][-1]['number']}")
        return self.refresh()

    def delete(self) -> None:
        """Delete it with its answers; raises ServerError."""
        self._connection.delete(self._url)


class DiagnosisModel(Resource):
    """A model of diagnosis on a server: objects, queries, and what each object answers."""

    _path = "/v1/diagnosis/models"

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.document["name"])

    def open_session(self, **options: Any) -> DiagnosisSession:  # noqa: ANN401  fields of the request
        """Begin with a patient.

        Parameters
        ----------
        **options : object
            `certainty`, `known`, `catalogue_id` and `prices`, as in the REST API.

        Returns
        -------
        DiagnosisSession
            With its first question.

        Raises
        ------
        ServerError
            With every fault of the options.
        """
        return DiagnosisSession(self._connection, self._connection.post(f"{self._url}/sessions", options))

    def sessions(self) -> list[dict[str, Any]]:
        """List all sessions in short, oldest first; `Client.diagnosis_session` gets one."""
        return list(self._connection.items(f"{self._url}/sessions"))

    def tree(self) -> str:
        """The tree of all questions as text; raises ServerError if it is too large or was not built."""
        return self._connection.content(f"{self._url}/tree", format="text").decode()

    def delete(self) -> None:
        """Delete it with its sessions; raises ServerError."""
        self._connection.delete(self._url)
