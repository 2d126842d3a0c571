"""What a fitted estimator shows, keeps and goes on with."""

from __future__ import annotations

import dataclasses
import io
import pickle
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from api.cohorts.schemas import CohortBody
from api.searches.schemas import EnsembleDocument, EvaluationDocument, RulesDocument, SearchDocument
from autoprog import AutoPrognosis
from autoprog.cohort import Binary
from autoprog.cohort.canonical import canonical_text
from autoprog.errors import ArtifactError
from tests.estimator.support import QUICK, followed, patients

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_documents_are_those_of_the_rest_api(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    for model in (fitted, fitted_survival):
        CohortBody.model_validate(model.cohort_)
        assert set(model.cohort_) == set(CohortBody.model_fields)
        search = {**model._search, "settings": model.settings_, "warnings": list(model.warnings_)}
        SearchDocument.model_validate(search)
        assert set(search) == set(SearchDocument.model_fields)
        EnsembleDocument.model_validate(model.ensemble_)
        RulesDocument.model_validate(model.rules_)
        for evaluation in model._evaluations:
            EvaluationDocument.model_validate(evaluation)
            assert set(evaluation) == set(EvaluationDocument.model_fields)


def test_summary_shows_score_beside_the_simple_model(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    text = str(fitted.summary())
    assert "died = yes" in text
    assert f"auc_roc       {fitted.ensemble_['score']['estimate']:.3f} [" in text
    assert f"simple model  {fitted.ensemble_['baseline']['score']['estimate']:.3f} [" in text
    assert "warning: prediction/cox is left out" in text
    assert "<table>" in fitted.summary()._repr_html_()
    text = str(fitted_survival.summary())
    assert "event = myeloma until 60, 120" in text
    assert "until 60  " in text


def test_representation_has_score_baseline_and_warnings(fitted: AutoPrognosis) -> None:
    first, second, third = repr(fitted).split("\n")
    assert first.startswith("AutoPrognosis(random_state=1, settings=")
    assert second.startswith(f"  auc_roc {fitted.ensemble_['score']['estimate']:.3f} [")
    assert "; simple model 0." in second
    assert third.endswith("see warnings_")
    shown = fitted._repr_mimebundle_()
    assert shown["text/plain"] == repr(fitted)
    assert "died = yes" in shown["text/html"]
    assert "sk-estimator" in shown["text/html"]


def test_unfitted_estimator_is_shown_as_scikit_learn_does() -> None:
    assert repr(AutoPrognosis(random_state=3)) == "AutoPrognosis(random_state=3)"
    assert repr(clone(AutoPrognosis(time_budget_s=9))) == "AutoPrognosis(time_budget_s=9)"
    shown = AutoPrognosis()._repr_mimebundle_()
    assert "sk-estimator" in shown["text/html"]
    assert "<table>" not in shown["text/html"].split("sk-top-container")[0]
    pipeline = make_pipeline(FunctionTransformer(), AutoPrognosis(random_state=3))
    assert "AutoPrognosis(random_state=3)" in repr(pipeline)


def test_report_has_the_form_that_its_suffix_names(
    fitted: AutoPrognosis, fitted_survival: AutoPrognosis, tmp_path: Path
) -> None:
    pytest.importorskip("docx")
    for model, what in ((fitted, "died = yes"), (fitted_survival, "event = myeloma")):
        for name in ("report.html", "report.md", "report.docx"):
            model.report(tmp_path / name)
        for name in ("report.html", "report.md"):
            assert what in (tmp_path / name).read_text()
        assert (tmp_path / "report.docx").read_bytes().startswith(b"PK")
    with pytest.raises(ValueError, match=r"a report is written as \.html, \.md or \.docx, not as \.txt"):
        fitted.report(tmp_path / "report.txt")


def test_report_describes_patients_where_their_rows_are_at_hand(fitted: AutoPrognosis, tmp_path: Path) -> None:
    fitted.report(tmp_path / "report.md")
    described = (tmp_path / "report.md").read_text()
    assert "age, mean (SD)" in described
    pickle.loads(pickle.dumps(fitted)).report(tmp_path / "report.md")  # noqa: S301  our own
    text = (tmp_path / "report.md").read_text()
    assert "age, mean (SD)" not in text
    assert "## TRIPOD+AI" in text


def test_tables_of_rules_and_evaluations(fitted: AutoPrognosis) -> None:
    assert len(fitted.rules_table_) == len(fitted.rules_["rules"])
    assert set(fitted.rules_table_["stratum"]) <= {"high", "medium", "low"}
    assert fitted.rules_table_["rule"].str.contains("age").any()
    assert len(fitted.leaderboard_) == 4


def test_figures_are_of_the_documents(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    ax = fitted.plot_calibration()
    curve = fitted.ensemble_["calibration_curve"]
    np.testing.assert_allclose(ax.lines[1].get_xdata(), curve["risks"])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), curve["observed"])
    ax = fitted.plot_decision_curve()
    assert [line.get_label() for line in ax.lines] == ["model", "simple model", "treat all", "treat none"]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), fitted.ensemble_["net_benefit"]["model"])
    first, last = fitted_survival.ensemble_["horizons"]
    ax = fitted_survival.plot_calibration(horizon=60)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), first["calibration_curve"]["observed"])
    ax = fitted_survival.plot_decision_curve()
    np.testing.assert_allclose(ax.lines[0].get_ydata(), np.array(last["net_benefit"]["model"], dtype=float))
    with pytest.raises(ValueError, match="horizon 7 is none of 60, 120"):
        fitted_survival.plot_calibration(horizon=7)
    with pytest.raises(ValueError, match="the outcome has no horizons"):
        fitted.plot_calibration(horizon=7)


def test_importance_and_learning_curve_are_of_the_refits(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    table = fitted.importance()
    assert set(table["feature"]) == set(patients()[0].columns)
    assert table["auc_loss"].is_monotonic_decreasing
    assert (table["lower"] <= table["auc_loss"]).all()
    assert fitted.explanation() is fitted.explanation()  # computed once
    ax = fitted.plot_importance(most=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == table["feature"].head(2).tolist()[::-1]
    ax = fitted.plot_learning_curve()
    np.testing.assert_allclose(ax.lines[0].get_ydata()[-1], fitted.explanation().learning_curve[-1].estimate)
    early, late = fitted_survival.importance(horizon=60), fitted_survival.importance()
    assert not np.allclose(early["auc_loss"], late["auc_loss"])
    with pytest.raises(ValueError, match="horizon 7 is none of 60, 120"):
        fitted_survival.importance(horizon=7)
    with pytest.raises(ValueError, match="the search is not at hand"):
        pickle.loads(pickle.dumps(fitted)).importance()  # noqa: S301  our own


def test_contributions_are_the_models(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    X = patients()[0].iloc[:3]
    found = fitted.explain(X)
    assert found.index.equals(X.index)
    assert list(found.columns) == list(X.columns)
    assert (found.isna() == X.isna()).to_numpy().all()
    some = followed()[0].iloc[:3]
    early, late = fitted_survival.explain(some, horizon=60), fitted_survival.explain(some)
    assert not np.allclose(early, late, equal_nan=True)


def test_roc_curve_is_the_documents(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    roc = fitted.ensemble_["operating"]["roc"]
    np.testing.assert_allclose(fitted.plot_roc().lines[1].get_ydata(), roc["sensitivity"])
    first = fitted_survival.ensemble_["horizons"][0]["operating"]["roc"]
    np.testing.assert_allclose(fitted_survival.plot_roc(horizon=60).lines[1].get_ydata(), first["sensitivity"])


def test_figures_are_drawn_on_axes_that_are_given(fitted: AutoPrognosis) -> None:
    from matplotlib import pyplot as plt  # noqa: PLC0415  after its backend is chosen

    _, ax = plt.subplots()
    assert fitted.plot_calibration(ax=ax) is ax
    assert fitted.plot_decision_curve(ax=ax) is ax


def test_risks_by_time_are_drawn_for_some_patients(fitted: AutoPrognosis, fitted_survival: AutoPrognosis) -> None:
    X, _, _ = followed()
    some = X[:3].set_axis(["ada", "bob", "eve"])
    ax = fitted_survival.plot_survival(some)
    assert [line.get_label() for line in ax.lines] == ["ada", "bob", "eve"]
    ends = [line.get_ydata()[-1] for line in ax.lines]
    np.testing.assert_allclose(ends, fitted_survival.predict_risk(some)[:, 1])
    assert all((np.diff(line.get_ydata()) >= -1e-12).all() for line in ax.lines)
    with pytest.raises(ValueError, match="at most 20 patients"):
        fitted_survival.plot_survival(X[:21])
    with pytest.raises(ValueError, match="no time"):
        fitted.plot_survival(patients()[0][:3])


def test_figures_without_matplotlib_say_what_to_install(fitted: AutoPrognosis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'autoprog\[plots\]'"):
        fitted.plot_calibration()


def test_saved_estimator_is_read_again(fitted: AutoPrognosis, fitted_survival: AutoPrognosis, tmp_path: Path) -> None:
    for model, X in ((fitted, patients()[0]), (fitted_survival, followed()[0])):
        model.save(tmp_path / "model.autoprog")
        again = AutoPrognosis.load(tmp_path / "model.autoprog")
        np.testing.assert_array_equal(again.predict_risk(X[X.columns[::-1]]), model.predict_risk(X))
        assert again.get_params() == model.get_params()
        assert repr(again) == repr(model)
        assert str(again.summary()) == str(model.summary())
        pd.testing.assert_frame_equal(again.leaderboard_, model.leaderboard_)
        pd.testing.assert_frame_equal(again.rules_table_, model.rules_table_)
        with pytest.raises(ValueError, match="the search is not at hand"):
            again.continue_for(10)
    again = AutoPrognosis.load(tmp_path / "model.autoprog")
    assert again.horizons_.tolist() == [60, 120]
    again.set_params(horizons=range(60, 121, 60), settings=MappingProxyType(QUICK)).save(tmp_path / "model.autoprog")
    parameters = AutoPrognosis.load(tmp_path / "model.autoprog").get_params()
    assert (parameters["horizons"], parameters["settings"]) == ([60, 120], QUICK)


def test_saved_file_holds_no_patient_unless_asked(fitted: AutoPrognosis, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.autoprog")
    fitted.save(tmp_path / "search.autoprog", search=True)
    assert b"PAR1" not in (tmp_path / "model.autoprog").read_bytes()
    assert b"PAR1" in (tmp_path / "search.autoprog").read_bytes()
    assert b"PAR1" not in pickle.dumps(fitted)


def test_command_line_predicts_with_a_saved_estimator(fitted: AutoPrognosis, tmp_path: Path) -> None:
    X, _ = patients()
    fitted.save(tmp_path / "model.autoprog")
    X.to_csv(tmp_path / "patients.csv", index=False)
    command = [sys.executable, "-m", "autoprog.cli", "predict", "model.autoprog", "patients.csv"]
    told = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    risks = pd.read_csv(io.StringIO(told.stdout))["risk"]
    np.testing.assert_allclose(risks, fitted.predict_risk(X), atol=1e-6)


def test_model_of_a_server_is_read_and_predicts(fitted: AutoPrognosis, tmp_path: Path) -> None:
    X, _ = patients()
    (tmp_path / "model.autoprog").write_bytes(fitted.model_.to_bytes())
    model = AutoPrognosis.load(tmp_path / "model.autoprog")
    np.testing.assert_array_equal(model.predict_proba(X), fitted.predict_proba(X))
    assert set(model.predict(X)) == {"no", "yes"}
    assert repr(model) == "AutoPrognosis(positive='yes')"
    with pytest.raises(ValueError, match="the file held the model alone"):
        model.summary()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive"])
def test_file_that_is_no_model_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.autoprog").write_bytes(content)
    with pytest.raises(ArtifactError):
        AutoPrognosis.load(tmp_path / "model.autoprog")


def test_search_goes_on_where_it_ended(fitted: AutoPrognosis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fitted.save(tmp_path / "search.autoprog", search=True)
    model = AutoPrognosis.load(tmp_path / "search.autoprog")
    before = model.leaderboard_
    assert model.continue_for(60, evaluations=3) is model
    after = model.leaderboard_
    assert len(after) == len(before) + 3
    assert set(before["score"].dropna()) <= set(after["score"].dropna())
    assert model.settings_["budget"]["evaluations"] == 7
    assert model.warnings_[0].startswith("prediction/cox is left out")
    monkeypatch.setattr("autoprog.search.clock.MORE_REFITS", 15)
    assert model.continue_for(60, evaluations=0) is model
    assert len(model.leaderboard_) == len(after)
    refits = int(model.ensemble_["interval"]["method"].split(" refits")[0].rsplit(" ", 1)[-1])
    assert refits > 10  # all the time is for the intervals
    for arguments in ((0.5, None), (np.nan, None), (np.inf, None), (10, -1)):
        with pytest.raises(ValueError, match="seconds must be at least 1"):
            model.continue_for(*arguments)


def test_before_fit_there_is_nothing_to_show() -> None:
    model = AutoPrognosis()
    for ask in (
        model.summary, model.plot_calibration, model.plot_decision_curve, model.plot_roc, model.importance,
        model.plot_learning_curve, lambda: model.explain(np.zeros((1, 1))), lambda: model.continue_for(10),
    ):  # fmt: skip
        with pytest.raises(NotFittedError):
            ask()


@pytest.mark.parametrize(("negative", "positive"), [(0, 1), (False, True), ("no", "yes")])
def test_score_of_a_model_without_its_search_knows_the_classes(
    fitted: AutoPrognosis, tmp_path: Path, negative: object, positive: object
) -> None:
    """A model's file holds them as texts."""
    X, y = patients()
    outcome = Binary("died", canonical_text(positive), canonical_text(negative))
    (tmp_path / "model.autoprog").write_bytes(dataclasses.replace(fitted.model_, outcome=outcome).to_bytes())
    model = AutoPrognosis.load(tmp_path / "model.autoprog")
    assert model.score(X, y.map({"no": negative, "yes": positive})) == fitted.score(X, y)
    if positive != "yes":
        assert model.score(X, y == "yes") == model.score(X, (y == "yes").astype(int)) == fitted.score(X, y)


def test_labels_that_are_no_class_have_no_score(fitted: AutoPrognosis) -> None:
    X, y = patients()
    for label in ("lost", None, np.nan):
        with pytest.raises(ValueError, match=f"y holds '{label}'; the classes are \\['no', 'yes'\\]"):
            fitted.score(X, np.where(np.arange(len(y)) < 3, label, y))
