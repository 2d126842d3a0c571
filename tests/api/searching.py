"""Searches without an engine: what a runner would write, written through the real store."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from httpx2 import Response

from autoprog.cohort import cleveland
from autoprog.evaluation import CrossValidation, Evaluation, Plan, Status, cross_validate
from autoprog.interpreter import explain, make_strata
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator
from autoprog.optimizer.decomposition import Decomposition
from autoprog.optimizer.observations import Observations
from autoprog.optimizer.posterior import Posterior
from autoprog.performance import (
    METRICS,
    THRESHOLDS,
    compute_calibration,
    compute_performance,
    decision_curve,
    estimate_score,
)
from autoprog.search.ports import Claim, Phase, SearchResult
from autoprog.space import Configuration, Step, TableShape, build_pipeline
from autoprog.storage.database import Database
from autoprog.storage.files import Files
from autoprog.storage.store import DatabaseStore
from autoprog.validation import FeatureDistribution
from tests.cohorts import cleveland_cohort

LEASE_S = 60.0
SIMPLE = Configuration(Step("median"), Step("none"), Step("logistic_regression"), Step("none"))

SPEC = json.loads(cleveland()[1].model_dump_json(exclude_none=True))
FILE = cleveland()[0]


def table(*rows: str) -> bytes:
    """A file of these lines."""
    return "\n".join(rows).encode()


SMALL_SPEC = {"name": "small", "outcome": {"column": "died", "positive": 1}}
SMALL = ["age,sex,died", *(f"{50 + i},{'m' if i % 3 else 'f'},{i % 2}" for i in range(20))]


def pointers(response: Response) -> list[str]:
    """Where the faults of an answer are."""
    return [fault["pointer"] for fault in response.json()["errors"]]


def multipart(spec: object = SPEC, content: bytes = FILE, **documents: object) -> list[tuple[str, Any]]:
    """The parts of an upload."""
    parts: list[tuple[str, Any]] = [("file", ("patients.csv", content))]
    texts = {"spec": spec, **documents}
    return parts + [(name, (None, json.dumps(text), "application/json")) for name, text in texts.items()]


def make_cohort(client: TestClient) -> dict[str, Any]:
    """Post the bundled cohort."""
    response = client.post("/v1/cohorts", files=multipart())
    assert response.status_code == 201, response.text
    document: dict[str, Any] = response.json()
    return document


def make_search(client: TestClient, **settings: object) -> dict[str, Any]:
    """Post the bundled cohort and start a search on it."""
    response = client.post("/v1/searches", json={"cohort_id": make_cohort(client)["id"], **settings})
    assert response.status_code == 202, response.text
    document: dict[str, Any] = response.json()
    return document


def patient(**changes: object) -> dict[str, object]:
    """A patient as a client describes one."""
    cells: dict[str, object] = {
        "age": 63, "sex": 1, "cp": "1", "trestbps": 145, "chol": 233, "fbs": 1, "restecg": 2, "thalach": 150,
        "exang": 0, "oldpeak": 2.3, "slope": 3, "ca": 0, "thal": 6,
    }  # fmt: skip
    return {**cells, **changes}


@cache
def simple_result() -> tuple[SearchResult, CrossValidation]:
    """What a search delivers that has seen the simple pipeline alone."""
    cohort = cleveland_cohort()
    cv = cross_validate(SIMPLE, cohort, Plan("auc_roc", folds=5, repeats=1, seed=0))
    pipeline = build_pipeline(SIMPLE, cohort.features, TableShape.of(cohort, 5), 0).fit(cohort.X, cohort.y)
    risks = cv.risks.astype(np.float64)
    rules = explain(cohort, risks, make_strata(risks))
    member = Member(1.0, dump_estimator(pipeline))
    distribution = FeatureDistribution.fit(cohort.features, cohort.X)
    metadata = ModelMetadata.of(cohort)
    model = PrognosticModel(cohort.features, cohort.outcome, (member,), (rules,), metadata, distribution=distribution)
    score = estimate_score(METRICS["auc_roc"], cohort.y, risks).to_json()
    performance = compute_performance(cohort.y, risks, THRESHOLDS).to_json()
    ensemble = {
        "rule": "model_averaging",
        "subgroups": [],
        "scale": "risk",
        "members": [{"weight": 1.0, "configuration": SIMPLE.to_json(), "score": cv.score}],
        "score": score,
        "baseline": {"configuration": SIMPLE.to_json(), "score": score, "performance": performance},
        "calibration": compute_calibration(cohort.y, risks).to_json(),
        "performance": performance,
        "net_benefit": decision_curve(cohort.y, risks, risks, THRESHOLDS).to_json(),
    }
    algorithms = ("prediction/logistic_regression", "prediction/gaussian_nb")
    apart = Decomposition(tuple((name,) for name in algorithms))
    nothing = Observations((), np.zeros(0), 0.0, np.zeros(0), 1.0)
    posterior = Posterior(
        (0,), np.zeros((1, 1)), np.zeros((1, 1, 1)), (apart,), apart, algorithms, nothing, np.zeros((1, 1, 0))
    )
    return SearchResult(model, ensemble, rules.to_json(), posterior.to_json(), ("a warning of the end",)), cv


class Driver:
    """Plays the runner of searches.

    Parameters
    ----------
    database : Database
        Shared with the server.
    files : Files
        Shared with the server.
    """

    def __init__(self, database: Database, files: Files) -> None:
        self.store = DatabaseStore(database, files)

    def claim(self) -> Claim:
        claim = self.store.claim("test", LEASE_S)
        assert claim is not None
        return claim

    def explore(self, claim: Claim, *statuses: Status) -> None:
        """Write an evaluation a status; the succeeded ones score the less the later they come."""
        self.store.record_phase(claim, Phase.SEARCH)
        _, cv = simple_result()
        for number, status in enumerate(statuses):
            succeeded = status is Status.SUCCEEDED
            self.store.record_evaluation(
                claim,
                Evaluation(
                    number,
                    0,
                    SIMPLE,
                    status,
                    score=cv.score - 0.01 * number if succeeded else None,
                    fold_scores=cv.fold_scores if succeeded else (),
                    risks=cv.risks if succeeded else None,
                    duration_s=0.5,
                    reason=None if succeeded else "as the test says",
                ),
            )

    def finish(self, claim: Claim) -> None:
        self.store.finish(claim, simple_result()[0], cancelled=False)

    def run(self, *statuses: Status) -> None:
        """Carry the oldest queued search to its end."""
        claim = self.claim()
        self.explore(claim, *(statuses or (Status.SUCCEEDED,)))
        self.finish(claim)
