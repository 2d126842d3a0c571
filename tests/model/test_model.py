"""The model: what it says of patients, and that storage changes none of it."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import cross_val_predict

from autoprog.cohort import Cohort
from autoprog.errors import ArtifactError, InvalidInputError
from autoprog.interpreter import explain, make_strata, matching
from autoprog.model import Member, ModelMetadata, PrognosticModel, dump_estimator
from autoprog.model.serialization import pack, unpack
from autoprog.space import STAGES, Configuration, Space, TableShape, build_pipeline
from autoprog.validation import FeatureDistribution, PatientIntervals, Recalibration, Refit, fit_patient_intervals
from tests.cohorts import cleveland_cohort, mixed_cohort

PIPELINES = (
    ("median", "none", "logistic_regression", "none"),
    ("mice", "select_rates", "gaussian_nb", "sigmoid"),
    ("none", "none", "lightgbm", "isotonic"),
    ("none", "none", "xgboost", "none"),
)
WEIGHTS = (0.4, 0.3, 0.2, 0.1)


def _configuration(names: tuple[str, str, str, str]) -> Configuration:
    space = Space.full()
    return Configuration(*(space.algorithm(s, n).default_step() for s, n in zip(STAGES, names, strict=True)))


def _fitted(cohort: Cohort, names: tuple[str, str, str, str]) -> object:
    shape = TableShape.of(cohort, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return build_pipeline(_configuration(names), cohort.features, shape, 0).fit(cohort.X, cohort.y)


@cache
def _model(cohort_name: str = "cleveland") -> PrognosticModel:
    cohort = {"cleveland": cleveland_cohort, "mixed": mixed_cohort}[cohort_name]()
    estimators = [_fitted(cohort, names) for names in PIPELINES]
    risks = cross_val_predict(estimators[0], cohort.X, cohort.y, cv=5, method="predict_proba")[:, 1]
    members = tuple(Member(w, dump_estimator(e)) for w, e in zip(WEIGHTS, estimators, strict=True))
    rules = explain(cohort, risks, make_strata(risks))
    return PrognosticModel(cohort.features, cohort.outcome, members, (rules,), ModelMetadata.of(cohort))


def _patients(cohort: Cohort) -> list[dict[str, object]]:
    """The cohort's rows as a client would send them."""
    return [
        {
            feature.name: None if np.isnan(x) else (feature.levels[int(x)] if feature.levels else float(x))
            for feature, x in zip(cohort.features, row, strict=True)
        }
        for row in cohort.X
    ]


def test_the_risk_is_the_weighted_mean_of_the_members() -> None:
    model, X = _model(), cleveland_cohort().X
    by_member = [_fitted(cleveland_cohort(), names).predict_proba(X)[:, 1] for names in PIPELINES]
    np.testing.assert_allclose(model.risks(X), np.average(by_member, axis=0, weights=WEIGHTS), rtol=1e-12)


@pytest.mark.parametrize("cohort_name", ["cleveland", "mixed"])
def test_a_patient_gets_risk_stratum_and_rules(cohort_name: str) -> None:
    model = _model(cohort_name)
    cohort = {"cleveland": cleveland_cohort, "mixed": mixed_cohort}[cohort_name]()
    answers = model.predict(_patients(cohort))
    np.testing.assert_array_equal([a.risk for a in answers], model.risks(cohort.X))
    matches = [matching(rule, cohort.features, cohort.X) for rule in model.rule_sets[0].rules]
    for i, answer in enumerate(answers):
        stratum = next(s for s in model.rule_sets[0].strata if s.name == answer.stratum)
        assert stratum.lower <= answer.risk <= stratum.upper
        assert answer.rules == tuple(index for index, matched in enumerate(matches) if matched[i])
    assert any(answer.rules for answer in answers)


def test_a_patient_alone_is_told_what_he_is_told_among_others() -> None:
    model = _model()
    patients = _patients(cleveland_cohort())[:20]
    together = model.predict(patients)
    for patient, answer in zip(patients, together, strict=True):
        (alone,) = model.predict([patient])
        assert alone.risk == pytest.approx(answer.risk, abs=1e-12)


def test_the_document_has_the_names_of_the_contract() -> None:
    (answer,) = _model().predict(_patients(cleveland_cohort())[:1])
    document = answer.to_json()
    names = ["risk", "horizons", "interval", "widened_most_by", "stratum", "rules", "warnings", "contributions"]
    assert list(document) == names
    assert document["contributions"] is None
    assert document["horizons"] == []
    assert document["interval"] is None
    assert _model().interval_document == {"level": 0.9, "method": "none was estimated when this model was made"}
    assert json.loads(json.dumps(document)) == document


@cache
def _intervals(cohort_name: str = "cleveland") -> PatientIntervals:
    """As if refits had been off by a fifth of the risk's room, of every patient in half of them."""
    model = _model(cohort_name)
    cohort = {"cleveland": cleveland_cohort, "mixed": mixed_cohort}[cohort_name]()
    p = np.array([member.estimator.predict_proba(cohort.X)[:, 1] for member in model.members], dtype=np.float64)
    rng = np.random.default_rng(0)
    q = np.array(WEIGHTS) @ p
    refits = [
        Refit(np.where(rng.random(len(q)) < 0.5, q + 0.2 * q * (1 - q) * rng.normal(size=len(q)), np.nan), q)
        for _ in range(20)
    ]
    covariance = np.array([[0.01, 0.0], [0.0, 0.01]])
    return fit_patient_intervals(
        cohort.features, cohort.X, p, np.array(WEIGHTS), q, refits, folds=5, covariance=covariance, lack_of_fit=0.1
    )


def test_a_model_that_has_intervals_tells_one_around_every_risk() -> None:
    model = dataclasses.replace(_model(), intervals=(_intervals(),), interval_method="as the test says")
    patients = _patients(cleveland_cohort())
    answers = model.predict(patients)
    risks, bounds = model.risks_with_intervals(cleveland_cohort().X)
    assert bounds is not None
    np.testing.assert_array_equal(risks, _model().risks(cleveland_cohort().X))
    assert all(a.interval is not None and a.interval[0] < a.risk < a.interval[1] for a in answers)
    np.testing.assert_array_equal([a.interval for a in answers], bounds)
    assert answers[0].to_json()["interval"] == list(bounds[0])
    unknown = dict.fromkeys((f.name for f in model.features), None)
    absurd = patients[0] | {"age": 9e99}
    for answer in model.predict([unknown, absurd]):
        assert answer.interval is not None
        assert 0 <= answer.interval[0] < answer.risk < answer.interval[1] <= 1


@pytest.mark.parametrize("cohort_name", ["cleveland", "mixed"])
def test_storage_keeps_intervals(cohort_name: str) -> None:
    model = dataclasses.replace(
        _model(cohort_name), intervals=(_intervals(cohort_name),), interval_method="as the test says"
    )
    loaded = PrognosticModel.from_bytes(model.to_bytes())
    X = {"cleveland": cleveland_cohort, "mixed": mixed_cohort}[cohort_name]().X
    np.testing.assert_array_equal(loaded.risks_with_intervals(X)[1], model.risks_with_intervals(X)[1])
    assert loaded.interval_document == {"level": 0.9, "method": "as the test says"}
    assert loaded.to_bytes() == model.to_bytes()


@pytest.mark.parametrize("written", [1, 2])
def test_files_of_older_formats_are_read(written: int) -> None:
    files = unpack(dataclasses.replace(_model(), recalibration=Recalibration(0.1, 1.1)).to_bytes())
    manifest = json.loads(files["manifest.json"])
    for absent in ("intervals", "interval_method", *(("scale",) if written == 1 else ())):
        del manifest[absent]
    files["manifest.json"] = json.dumps(manifest | {"format": written}).encode()
    loaded = PrognosticModel.from_bytes(pack(files, compress=False))
    assert loaded.intervals == ()
    assert loaded.scale == "risk"
    assert loaded.predict(_patients(cleveland_cohort())[:1])[0].interval is None


def test_what_is_unusual_gets_a_risk_and_a_warning() -> None:
    model = _model()
    usual = dict(_patients(cleveland_cohort())[0])
    (plain,) = model.predict([usual])
    assert plain.warnings == ()
    unseen, missing, outside = model.predict([usual | {"cp": "9"}, usual | {"chol": None}, usual | {"age": 97}])
    assert "cp" in unseen.warnings[0]
    assert "never seen" in unseen.warnings[0]
    assert missing.warnings == ("chol was imputed",)
    assert outside.warnings == ("age 97 is outside the training range 29 to 77",)
    assert all(0 <= answer.risk <= 1 for answer in (unseen, missing, outside))


def test_nothing_known_at_all_and_absurd_numbers_still_get_a_risk() -> None:
    model = _model()
    unknown = dict.fromkeys((f.name for f in model.features), None)
    absurd = dict(_patients(cleveland_cohort())[0]) | {"age": 9e99, "chol": -9e99}
    for answer in model.predict([unknown, absurd]):
        assert 0 <= answer.risk <= 1
        assert answer.warnings


def test_a_missing_column_is_a_named_error() -> None:
    patients = [dict(patient) for patient in _patients(cleveland_cohort())[:3]]
    del patients[2]["age"]
    with pytest.raises(InvalidInputError) as caught:
        _model().predict(patients)
    assert [fault.pointer for fault in caught.value.faults] == ["/patients/2/age"]


@pytest.mark.parametrize("predictor", ["logistic_regression", "gaussian_nb", "k_nearest_neighbours", "random_forest"])
def test_a_model_of_a_cohort_without_missing_cells_bears_them_in_patients(predictor: str) -> None:
    cohort = cleveland_cohort()
    complete = ~np.isnan(cohort.X).any(axis=1)
    cohort = dataclasses.replace(cohort, X=cohort.X[complete], y=cohort.y[complete])
    estimator = _fitted(cohort, ("none", "none", predictor, "none"))
    risks = estimator.predict_proba(cohort.X)[:, 1]
    rules = explain(cohort, risks, make_strata(risks))
    members = (Member(1.0, dump_estimator(estimator)),)
    model = PrognosticModel(cohort.features, cohort.outcome, members, (rules,), ModelMetadata.of(cohort))
    (answer,) = model.predict([dict(_patients(cohort)[0]) | {"chol": None, "cp": "9"}])
    assert 0 <= answer.risk <= 1
    assert len(answer.warnings) == 2


def test_another_process_predicts_the_same_with_columns_shuffled(tmp_path: Path) -> None:
    model = _model()
    patients = _patients(cleveland_cohort())
    expected = [answer.to_json() for answer in model.predict(patients)]
    shuffler = random.Random(0)
    shuffled = [dict(shuffler.sample(sorted(p.items()), len(p))) for p in patients]
    (tmp_path / "model").write_bytes(model.to_bytes())
    script = (
        "import json, sys; from pathlib import Path; from autoprog.model import PrognosticModel\n"
        "model = PrognosticModel.from_bytes(Path(sys.argv[1]).read_bytes())\n"
        "answers = model.predict(json.load(sys.stdin))\n"
        "print(json.dumps([[a.to_json() for a in answers], 'torch' in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, str(tmp_path / "model")],
        input=json.dumps(shuffled), capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers, torch_was_imported = json.loads(done.stdout)
    assert answers == expected
    assert not torch_was_imported


def test_storage_keeps_everything_and_gives_the_same_bytes() -> None:
    model = _model("mixed")
    content = model.to_bytes()
    loaded = PrognosticModel.from_bytes(content)
    assert loaded.features == model.features
    assert loaded.outcome == model.outcome
    assert loaded.rule_sets == model.rule_sets
    assert loaded.metadata == model.metadata
    assert loaded.members == model.members
    assert loaded.to_bytes() == content
    assert loaded.metadata.versions["scikit-learn"]


def test_storage_keeps_what_meant_missing_and_older_files_have_none() -> None:
    model = _model()
    metadata = dataclasses.replace(model.metadata, na_values=("999", "unk"))
    loaded = PrognosticModel.from_bytes(dataclasses.replace(model, metadata=metadata).to_bytes())
    assert loaded.metadata == metadata
    assert "na_values" not in json.loads(unpack(model.to_bytes())["manifest.json"])["metadata"]


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    model = _model()
    with pytest.raises(ValueError, match=r"not to 0\.4"):
        dataclasses.replace(model, members=model.members[:1])


def _altered(**changes: object) -> bytes:
    files = unpack(_model().to_bytes())
    manifest = json.loads(files["manifest.json"])
    files["manifest.json"] = json.dumps(manifest | changes).encode()
    return pack(files, compress=False)


def _without(name: str) -> bytes:
    files = unpack(_model().to_bytes())
    del files[name]
    return pack(files, compress=False)


def _with_member(member: bytes) -> bytes:
    return pack(unpack(_model().to_bytes()) | {"members/1.skops": member}, compress=False)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (lambda: b"no archive", "damaged"),
        (lambda: pack({"other": b""}, compress=False), "no manifest"),
        (lambda: _altered(format=4), r"format 4; this version reads formats \(1, 2, 3\)"),
        (lambda: _altered(intervals=[{"cut": 0.1}]), "damaged"),
        (lambda: _without("members/1.skops"), "members/1.skops"),
        (lambda: _altered(weights=[0.5, 0.3]), "sum to 1"),
        (lambda: _altered(weights="many"), "damaged"),
        (lambda: _altered(outcome={"column": "y"}), "missing 2 required"),
        (lambda: _altered(features=None), "damaged"),
        (lambda: _with_member(b"no skops file"), "damaged"),
        (lambda: _with_member(dump_estimator(np.arange(3.0))), "no fitted pipeline"),
    ],
)
def test_an_odd_file_is_an_artifact_error(content: object, text: str) -> None:
    with pytest.raises(ArtifactError, match=text):
        PrognosticModel.from_bytes(content())


def test_nobody_is_surer_of_a_patient_of_whom_less_is_known() -> None:
    """Of the same patients ever more values are withheld; the named one is among them."""
    cohort = cleveland_cohort()
    model = dataclasses.replace(
        _model(), intervals=(_intervals(),), distribution=FeatureDistribution.fit(cohort.features, cohort.X)
    )
    X = cohort.X[~np.isnan(cohort.X).any(axis=1)]
    order = np.random.default_rng(0).random(X.shape).argsort(axis=1).argsort(axis=1)
    widths, risks = [], []
    for k in (0, 1, 3, 6, 9, X.shape[1]):
        q, bounds = model.risks_with_intervals(np.where(order < k, np.nan, X))
        assert bounds is not None
        assert ((bounds[:, 0] <= q) & (q <= bounds[:, 1])).all()
        widths.append(float(np.median(np.ptp(bounds, axis=1))))
        risks.append(q)
    assert widths == sorted(widths)
    assert widths[-1] > 3 * widths[0]
    # Of whom nothing is known the risk is that of the cohort, for everybody the same.
    assert np.ptp(risks[-1]) == 0
    assert risks[-1][0] == pytest.approx(risks[0].mean(), abs=0.05)


def test_the_value_that_widens_the_interval_most_is_named() -> None:
    cohort = cleveland_cohort()
    model = dataclasses.replace(
        _model(), intervals=(_intervals(),), distribution=FeatureDistribution.fit(cohort.features, cohort.X)
    )
    (patient,) = _patients(cohort)[:1]
    (known,) = model.predict([patient])
    assert known.widened_most_by is None
    (answer,) = model.predict([patient | {"ca": None, "fbs": None}])
    assert answer.widened_most_by is not None
    # The vessels that fluoroscopy shows say much, fasting sugar next to nothing.
    assert answer.widened_most_by.feature == "ca"
    assert 0 < answer.widened_most_by.variance_share < 1
    assert answer.to_json()["widened_most_by"] == answer.widened_most_by.to_json()
