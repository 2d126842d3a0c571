"""The parts of the minute's benchmark whose mistakes would not show in its figures."""

from __future__ import annotations

import pytest

from benchmarks.minute.ranks import table


def row(peer: str, cohort: str, seed: int, auc: float | None) -> dict[str, object]:
    told = {"failed": "no"} if auc is None else {"auc": auc, "brier": 1 - auc, "logloss": 1 - auc, "seconds": 1.0}
    return {"peer": peer, "cohort": cohort, "seed": seed, **told}


def test_ranks_and_differences_of_a_table_by_hand() -> None:
    """Of a the one is better by .1 and .3, of b equal; of c the other failed, of d nobody knows the one."""
    rows = [row("one", "a", 0, 0.8), row("other", "a", 0, 0.7), row("one", "a", 1, 0.8), row("other", "a", 1, 0.5)]
    rows += [row("one", "b", 0, 0.6), row("other", "b", 0, 0.6), row("one", "c", 0, 0.5), row("other", "c", 0, None)]
    rows += [row("other", "d", 0, 0.9)]
    found = table(rows)
    assert (found["runs"], found["cohorts"]) == (4, 3)
    assert found["failed"] == {"one": 0, "other": 1}
    for ranks in found["mean_rank"].values():
        assert ranks == {"one": pytest.approx(1.125, abs=0.01), "other": pytest.approx(1.875, abs=0.01)}
    auc, brier = (found["difference"]["one less other"][measure] for measure in ("auc", "brier"))
    assert auc == {"mean": pytest.approx(0.1), "standard_error": pytest.approx(0.1)}
    assert brier["mean"] == pytest.approx(-0.1)
