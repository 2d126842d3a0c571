"""Answers of which 5 % are flipped: how certain sessions say they are, how often they are right, how much they ask.

On many_diseases (305 objects, 41 diseases, 132 findings): 3,000 sessions at certainty .95, the object drawn from the
prior and every answer flipped with probability .05. Beside them, sessions on the same model that take every answer for
right. Prints JSON.

    python -m benchmarks.diagnosis_noise
"""

from __future__ import annotations

import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from autoprog.diagnosis import DiagnosisModel, Session, Sessions, build_model

DATA = Path(__file__).parent.parent / "tests" / "data" / "many_diseases.csv.gz"
SESSIONS, FLIPPED, SEED = 3000, 0.05, 0
CERTAINTIES = (0.8, 0.9, 0.95, 0.99)


def the_model() -> DiagnosisModel:
    table = pd.read_csv(DATA)
    findings = table.drop(columns="group")
    rates = [FLIPPED] * findings.shape[1]
    return build_model(
        findings.to_numpy(),
        queries=list(findings.columns),
        groups=list(table["group"]),
        false_positive_rates=rates,
        false_negative_rates=rates,
    )


def told(sessions: Sessions, model: DiagnosisModel, certainty: float, number: int) -> tuple[Session, int]:
    """A session with a patient whose answers are flipped by chance, and its object."""
    rng = np.random.default_rng([SEED, number])
    patient = int(rng.integers(model.n_objects))
    flips = rng.random(model.n_queries) < FLIPPED
    session = sessions.open(certainty=certainty)
    while session.next_query is not None:
        query = session.next_query.query
        answer = bool(model.responses.at(np.array([patient]), query)[0]) ^ bool(flips[query])
        session = sessions.answer(session, session.next_query.name, answer)
    return session, patient


def measured(sessions: Sessions, model: DiagnosisModel, certainty: float) -> dict[str, Any]:
    start = time.process_time()
    stated, hits, asked, undecided = [], [], [], 0
    for number in range(SESSIONS):
        session, patient = told(sessions, model, certainty, number)
        best = session.remaining(1)
        asked.append(len(session.answers))
        stated.append(best[0].probability if best else 0.0)
        hits.append(bool(best) and best[0].name == model.targets[model.target_of[patient]])
        undecided += session.status != "identified"
    return {
        "certainty": certainty,
        "stated": round(float(np.mean(stated)), 4),
        "hit_rate": round(float(np.mean(hits)), 4),
        "difference_points": round(100 * float(np.mean(stated) - np.mean(hits)), 2),
        "se_points": round(100 * float(np.std(np.array(stated) - np.array(hits))) / SESSIONS**0.5, 2),
        "queries_mean": round(float(np.mean(asked)), 2),
        "queries_95": float(np.quantile(asked, 0.95)),
        "not_identified": undecided,
        "seconds": round(time.process_time() - start, 1),
    }


def main() -> None:
    model = the_model()
    sessions = Sessions(model, capacity=200_000)
    exact = Sessions(model.without_noise())
    document = {
        "benchmark": "diagnosis_noise",
        "sessions": SESSIONS,
        "flipped": FLIPPED,
        "seed": SEED,
        "posterior": [measured(sessions, model, certainty) for certainty in CERTAINTIES],
        "elimination": measured(exact, model, 1.0),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("autoprog", "numpy", "scipy")},
        },
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
