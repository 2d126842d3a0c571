"""`autoprog predict` for models of event times and of visits."""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from autoprog.cohort import WindowSchema
from autoprog.evaluation import Plan
from tests.cli.answer import CommandLine
from tests.cohorts import event_cohort, event_file
from tests.event_models import WINDOW, cox_model


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_a_patient_and_horizon(autoprog: CommandLine, tmp_path: Path) -> None:
    cohort = event_cohort("veteran")
    model = cox_model(cohort)
    (tmp_path / "model.autoprog").write_bytes(model.to_bytes())
    (tmp_path / "patients.csv.gz").write_bytes(event_file("veteran"))
    answer = autoprog("predict", tmp_path / "model.autoprog", tmp_path / "patients.csv.gz")
    assert answer.code == 0, answer.err
    told = rows_of(answer.out)
    assert len(told) == cohort.n_rows * len(cohort.horizons)
    assert [row["horizon"] for row in told[:3]] == [f"{h:g}" for h in cohort.horizons]
    risks = np.array([float(row["risk"]) for row in told]).reshape(cohort.n_rows, -1)
    np.testing.assert_array_equal(risks, model.risks(cohort.X))
    assert {row["stratum"] for row in told} <= {"high", "medium", "low"}


def test_predict_reads_a_sheet_and_the_missing_values_of_training(autoprog: CommandLine, tmp_path: Path) -> None:
    cohort = replace(event_cohort("veteran"), na_values=("999", "unk"))
    (tmp_path / "model.autoprog").write_bytes(cox_model(cohort).to_bytes())
    frame = pd.read_csv(io.BytesIO(gzip.decompress(event_file("veteran"))))[:4].astype(object)
    name = next(feature.name for feature in cohort.features if feature.kind == "numeric")
    frame.loc[:1, name] = [999, "unk"]
    with pd.ExcelWriter(tmp_path / "book.xlsx") as book:
        frame[:2].to_excel(book, sheet_name="2019", index=False)
        frame[2:].to_excel(book, sheet_name="2020", index=False)
    first = autoprog("predict", tmp_path / "model.autoprog", tmp_path / "book.xlsx")
    assert first.code == 0, first.err
    assert "warning: the workbook has 2 sheets: the first, '2019', was read" in first.err
    assert {row["warnings"] for row in rows_of(first.out)} == {f"{name} was imputed"}
    second = autoprog("predict", tmp_path / "model.autoprog", tmp_path / "book.xlsx", "--sheet", "2020")
    assert (second.code, second.err) == (0, "")
    assert {row["warnings"] for row in rows_of(second.out)} == {""}


def test_a_row_a_patient_whose_visits_stand_in_any_order(autoprog: CommandLine, tmp_path: Path) -> None:
    cohort = event_cohort("pbcseq")
    model = cox_model(cohort, windows=WindowSchema.of(cohort))
    (tmp_path / "model.autoprog").write_bytes(model.to_bytes())
    header, *lines = gzip.decompress(event_file("pbcseq")).decode().splitlines()
    few = [line for line in lines if line.split(",")[0] in {"1", "2", "3"}]
    for name, order in (("as_they_are", few), ("backwards", few[::-1])):
        (tmp_path / f"{name}.csv").write_text("\n".join([header, *order]) + "\n", encoding="utf-8")
    told = {}
    for name in ("as_they_are", "backwards"):
        answer = autoprog("predict", tmp_path / "model.autoprog", tmp_path / f"{name}.csv")
        assert answer.code == 0, answer.err
        told[name] = {row["patient"]: float(row["risk"]) for row in rows_of(answer.out)}
    assert told["as_they_are"] == pytest.approx(told["backwards"])
    assert cohort.visits is not None
    last = np.flatnonzero(np.diff(cohort.visits.patient, append=-1))
    risks = model.risks({WINDOW: Plan("uno_c", 5, 1, 0, window=WINDOW).sample(cohort).X})[:, 0]
    assert sorted(told["as_they_are"].values()) == pytest.approx(sorted(risks[last[:3]].tolist()))
