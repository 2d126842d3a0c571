"""How the model was built."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from autoprog.report.digits import decimal
from autoprog.report.phrases import algorithm_name, in_one, listed, number, parameters_text, plural, were
from autoprog.report.references import cite
from autoprog.report.run import Document, ReportedRun

METRIC_NAMES = {
    "auc_roc": "area under the ROC curve",
    "auc_prc": "average precision",
    "brier": "Brier score",
    "log_loss": "logarithmic loss",
    "net_benefit": "mean net benefit over the thresholds",
    "uno_c": "Uno's concordance until the last horizon",
    "wolbers_c": "Wolbers's concordance until the last horizon",
    "c_index": "Harrell's concordance",
    "time_dependent_auc": "mean time-dependent AUC over the horizons",
    "integrated_brier": "integrated Brier score",
}
"""Metrics of the setting `metric`, as a sentence names them."""


def metric_name(run: ReportedRun) -> str:
    """The metric of the search, as it was measured: with competing events Uno's concordance is Wolbers's."""
    metric = str(run.settings["metric"])
    return METRIC_NAMES["wolbers_c" if metric == "uno_c" and run.competing else metric]


def encoding(run: ReportedRun) -> str:
    """How predictors were coded."""
    kinds = {feature["kind"] for feature in run.features}
    parts = []
    if "numeric" in kinds:
        parts.append("Continuous predictors entered as measured, without categories that were fixed beforehand.")
    if "binary" in kinds:
        parts.append("Binary predictors entered as 0 and 1.")
    if "ordinal" in kinds:
        parts.append("Ordered levels entered as numbers in their order.")
    if "categorical" in kinds:
        ways = ["one indicator each"]
        if not _TAKE_CATEGORIES.isdisjoint(run.member_algorithms("prediction")):
            ways.append("codes for boosted trees, which split by sets of levels")
        if _encodes_by_outcome(run):
            ways.append("shares of the outcome for boosted trees, cross-fitted")
        parts.append(f"Unordered levels became {listed(ways, 'or')}.")
    return " ".join(parts)


def scaling(run: ReportedRun) -> str:
    """Rescaling and standardisation."""
    learners = run.member_algorithms("prediction")
    scaled = [algorithm_name(name) for name in learners if _FORMS.get(name) != _TREES]
    if not scaled and set(run.member_algorithms("features")) == {"none"}:
        return "No predictor was rescaled, as trees do not depend on scales."
    return "Columns were standardised by the training patients wherever a step of a pipeline depends on their scale."


def functional_forms(run: ReportedRun) -> str:
    """Functional form of the members' learners, and their feature processing."""
    forms: dict[str, list[str]] = {}
    for name in run.member_algorithms("prediction"):
        forms.setdefault(_FORMS.get(name, "a form that the plug-in defines"), []).append(algorithm_name(name))
    text = "; ".join(f"{listed(names)}: {form}" for form, names in forms.items())
    processing = [name for name in run.member_algorithms("features") if name != "none"]
    done = f" Features were processed by {listed([algorithm_name(n) for n in processing])} first." if processing else ""
    return f"Functional form of the ensemble's learners: {text}.{done}"


def learns_interactions(learner: str) -> bool:
    """Whether a learner can find interactions by itself."""
    return _FORMS.get(learner) in (_TREES, _SMOOTH)


def depends_on_outcome(run: ReportedRun) -> bool:
    """Whether a member selects or codes predictors by their association with the outcome."""
    return bool(_selections(run)) or _encodes_by_outcome(run)


def _encodes_by_outcome(run: ReportedRun) -> bool:
    has_levels = any(feature["kind"] == "categorical" for feature in run.features)
    steps = [member["configuration"]["prediction"] for member in run.members]
    return has_levels and any(step["parameters"].get("levels") == "outcomes" for step in steps)


def _selections(run: ReportedRun) -> list[str]:
    return [_SELECTIONS[name] for name in run.member_algorithms("features") if name in _SELECTIONS]


def _selection_text(selections: list[str]) -> str:
    return f"Within the pipelines, on training patients only, predictors were selected by {listed(selections)}."


def selection_in_modelling(run: ReportedRun) -> str:
    """Which selection of predictors was part of the pipelines."""
    parts = [_selection_text(selections)] if (selections := _selections(run)) else []
    steps = [member["configuration"]["prediction"] for member in run.members]
    sparse = dict.fromkeys(s["algorithm"] for s in steps if s["parameters"].get("l1_ratio", 0) > 0)
    if sparse:
        names = listed([algorithm_name(name) for name in sparse])
        parts.append(f"The l1 penalty of {names} can leave predictors out.")
    return " ".join(parts) or "No predictor was selected during modelling."


def no_preselection(run: ReportedRun) -> str:
    """Which selection of predictors took place."""
    text = "No predictor was chosen by its association with the outcome before model building."
    if selections := _selections(run):
        text += f" {_selection_text(selections)}"
    return text


def missing_handling(run: ReportedRun) -> str:
    """How missing predictor values were handled in training."""
    if not run.words.needs_imputation(run):
        return "No imputation was needed for development, as the predictors were complete."
    methods = run.member_algorithms("imputation")
    imputed = listed([algorithm_name(name) for name in methods if name != "none"])
    ways = [f"by {imputed}"] if imputed else []
    if "none" in methods:
        ways.append("by learners that take missing values")
    text = (
        f"Missing predictor values were handled within each pipeline, {listed(ways, 'or')}, fitted to its training "
        "patients only. No patient was excluded for a missing predictor value."
    )
    if run.settings.get("missing_indicators"):
        text += " An indicator for each incomplete predictor marked missing values."
    return text


def missing_at_use(run: ReportedRun) -> str:
    """How a missing value is handled when the model is used."""
    # Models from before searches stored how they were run draw all missing values.
    left = run.words.left_to_pipelines(run) if run.origin else None
    which = "Any other missing value" if left else "In use, a missing value"
    drawn = (
        f"{which} is drawn many times from its distribution given the patient's known values, as estimated from the "
        "training patients; the risk is the mean over the draws."
    )
    interval = "The interval of the risk covers what all missing values may be." if run.instability else None
    are_all_left = left and run.words.row == "patient" and len(run.often_missing) == len(run.features)
    return in_one(left, None if are_all_left else drawn, interval)


def censoring(run: ReportedRun) -> str | None:
    """How censored patients and competing events entered; None without event times."""
    reductions = {
        "discrete_time": "the hazards of intervals of time, in which a patient counts while under observation",
        "ipcw": "the event until each horizon, patients weighted by the inverse probability of censoring",
    }
    learners = set(run.member_algorithms("prediction"))
    parts = []
    if learners & _OF_TIMES:
        parts.append("regressions and forests of event times used their follow-up")
    if learners - _OF_TIMES:
        parts.append(f"classifiers learnt {reductions[run.settings.get('reduction', 'discrete_time')]}")
    text = f"Censored patients were kept: {listed(parts)}."
    if run.competing:
        text += (
            " Patients with a competing event were not treated as censored; the risks of all causes sum to at most 1."
        )
    return run.kind.if_timed(text)


def candidate_space(run: ReportedRun) -> str:
    """The pipelines that the search could choose from."""
    text = "A candidate pipeline chains imputation, feature processing, a learner and a calibration of its risks"
    space = run.settings["space"]
    if space:
        limits = "; ".join(
            f"{stage}: {listed([algorithm_name(n) for n in names])}" for stage, names in space.items() if names
        )
        return f"{text}{cite('alaa')}. The candidates were limited to {limits}."
    return (
        f"{text}{cite('alaa')}. All algorithms of the software that suit the outcome and the size of the cohort were "
        "candidates."
    )


def search_steps(run: ReportedRun) -> str | None:
    """Who proposed the pipelines that were evaluated; None in searches that did not store this."""
    origin = run.origin
    if not origin:
        return None
    parts = []
    if origin["n_opening"]:
        parts.append(f"{plural(origin['n_opening'], 'pipeline')} of a list that was fixed beforehand")
    if origin["n_proposed"]:
        parts.append(f"{plural(origin['n_proposed'], 'pipeline')} {_proposer(run)}")
    text = f"The search tried {' and then '.join(parts)}." if parts else ""
    if run.search.get("continues"):
        text += " It continued an earlier search on the same cohort, whose evaluations are among these."
    if origin["n_explored_rows"]:
        text += (
            f" Exploration used a random sample of {origin['n_explored_rows']:,} of {run.n_rows:,} rows that keeps "
            "the share of events"
        )
        finals = origin["n_finalists"]
        text += f"; {plural(finals, 'pipeline')} {were(finals)} then evaluated on all." if finals else "."
    return text.strip()


def _proposer(run: ReportedRun) -> str:
    preset = run.settings["optimizer"]["preset"]
    if preset == "random":
        return "drawn at random"
    if preset == "paper":
        return f"that Bayesian optimisation with structured kernels proposed{cite('alaa')}"
    return (
        f"that Bayesian optimisation with structured kernels{cite('alaa')} proposed by expected "
        f"improvement{cite('ament')}"
    )


def search_budget(run: ReportedRun) -> str:
    """Budget of the search and what became of it."""
    budget, account, spent = run.settings["budget"], run.search["account"], run.search["progress"]["elapsed_s"]
    succeeded = run.search["progress"]["evaluations"]["succeeded"]
    ends = [f"{succeeded:,} {were(succeeded)} scored on all folds"]
    ends += [f"{account[key]:,} {why(account[key])}" for key, why in _REASONS.items() if account[key]]
    text = (
        f"The budget was {number(budget['time_s'])} s and {budget['evaluations']:,} evaluations; the search took "
        f"{spent:.0f} s. Of {plural(run.begun, 'pipeline')} begun, {listed(ends)}."
    )
    return f"{text} It was stopped by the user." if run.search["status"] == "cancelled" else text


def racing(run: ReportedRun) -> str | None:
    """How hopeless pipelines were stopped; None if none was."""
    if not run.search["account"]["raced_out"]:
        return None
    return (
        "After each fold from the second on, a pipeline was stopped if its probability of beating the best one was "
        f"below 5 %{cite('maron', 'nadeau')}."
    )


def warm_start(run: ReportedRun) -> str | None:
    """What earlier cohorts contributed; None if nothing."""
    start = run.search.get("start")
    if not start or not start["n_cohorts"]:
        return None
    return (
        f"The optimizer began from what {plural(start['n_cohorts'], 'earlier cohort')} had taught, with a weight of "
        f"{start['trust']:.2f} in its prior."
    )


def tuning(run: ReportedRun) -> str:
    """How hyperparameters were tuned and by which criterion."""
    return (
        "Hyperparameters were part of a pipeline and chosen with it, by the mean cross-validated score over the folds, "
        f"measured by {metric_name(run)}."
    )


def folds(run: ReportedRun) -> str:
    """How patients were split for internal validation."""
    k, repeats = run.settings["folds"], run.settings["repeats"]
    times = "" if repeats == 1 else (", made twice" if repeats == 2 else f", made {repeats} times")
    is_out_of_bag = any(e.get("out_of_bag") for e in run.evaluations)
    return in_one(
        f"All pipelines were compared by {k}-fold cross-validation on the same folds{times}, stratified by "
        f"{run.kind.stratified_by}.",
        run.unsplit,
        "Every step of a pipeline was fitted to the training folds alone.",
        "Random forests were scored by each patient's out-of-bag risk, from trees grown without that patient."
        if is_out_of_bag
        else None,
    )


def fold_considerations(run: ReportedRun) -> str:
    """How the size of the cohort bore on the partition."""
    text = (
        "No patients were set aside as a test set, so that all served for development and, out of fold, for evaluation."
    )
    reduced = [w for w in run.search["warnings"] if "folds in place of" in w]
    if reduced:
        text += f" The number of folds was lowered: {reduced[0]}."
    if run.settings["repeats"] > 1:
        text += (
            " Folds were made repeatedly, as with few patients the luck of one split outweighs differences between "
            "pipelines."
        )
    return text


def ensemble_rule(run: ReportedRun) -> str:
    """How the members and their weights were chosen."""
    refit = f"refitted to all {run.rows_text}"
    if not run.has_choice:
        return f"The model is the only pipeline that was scored on all folds, {refit}."
    scale = " on the scale of log odds" if run.ensemble.get("scale") == "log_odds" else ""
    n = len(run.members)
    what = "one pipeline, chosen by" if n == 1 else f"an average of {n} pipelines{scale}, with weights by"
    return f"The model is {what} {_RULES[run.ensemble['rule']]}, {refit}."


def members_text(run: ReportedRun) -> str:
    """Every member with its weight, stages and hyperparameters."""
    return "; ".join(
        f"weight {member['weight']:.3f}: {pipeline_text(member['configuration'])}" for member in run.members
    )


def pipeline_text(configuration: Document) -> str:
    """A pipeline, stage by stage; stages that do nothing are left out."""
    parts = []
    for step in configuration.values():
        if step["algorithm"] == "none":
            continue
        name = algorithm_name(step["algorithm"])
        inside = parameters_text(step["parameters"])
        parts.append(f"{name} ({inside})" if inside else name)
    return ", ".join(parts)


def recalibration(run: ReportedRun) -> str:
    """The recalibration of the averaged risks."""
    averaged = "" if len(run.members) == 1 else "averaged "
    text = (
        f"The {averaged}out-of-fold risks were recalibrated by a logistic regression on their log odds, with intercept "
        f"and slope shrunk towards no change{cite('cox')}"
    )
    text += run.kind.recalibrated
    found = run.ensemble["calibration"].get("recalibration")
    if found:
        text += f" (intercept {decimal(found['intercept'])}, slope {decimal(found['slope'])})"
    if run.competing:
        text += "; the risks of the competing causes were recalibrated with them"
    return text + "."


def software(run: ReportedRun) -> str | None:
    """Versions and seed; None in searches that did not store the versions."""
    if not run.software:
        return None
    own = run.software.get("autoprog", "")
    others = [f"{name} {version}" for name, version in run.software.items() if name not in ("autoprog", "python")]
    return (
        f"The analysis was run with autoprog {own} under Python {run.software['python']} ({listed(others)}), with seed "
        f"{run.settings['seed']}."
    )


_REASONS: Mapping[str, Callable[[int], str]] = {
    "raced_out": lambda n: f"{were(n)} stopped early for having lost against the best one",
    "timeout": lambda _: "exceeded the time limit",
    "memory": lambda _: "exceeded the memory limit",
    "crashed": lambda _: "crashed",
    "invalid": lambda _: "failed with an error",
    "cancelled": lambda n: f"{were(n)} undecided when the search ended",
}


_RULES = {
    "pseudo_bma": f"the log scores of their out-of-fold risks{cite('yao')}",
    "linear_pool": f"the average that gives the outcomes most probability out of fold{cite('yao')}",
    "blend": (
        "a mixture of stacking of predictive distributions and log scores, both of their out-of-fold "
        f"risks{cite('yao')}"
    ),
    "model_averaging": f"the probability of each to be the best{cite('alaa')}",
    "greedy": f"greedy selection with bagging by the Brier score of the average{cite('caruana')}",
    "stacking": f"stacking, with coefficients of at least 0 shrunk to the plain average{cite('wolpert', 'breiman')}",
    "best": "the largest posterior mean of the score",
}


_TAKE_CATEGORIES = frozenset(("lightgbm", "stochastic_boosting", "xgboost"))

_OF_TIMES = frozenset(
    ("cox", "penalised_cox", "spline_cox", "fine_gray", "accelerated_failure_time", "survival_forest")
)


_SELECTIONS = {
    "linear_svm_selection": "a sparse linear support vector machine",
    "select_rates": "univariate tests",
}


_LINEAR = "linear in the predictors"


_TREES = "steps and interactions that trees learn from the data"


_SMOOTH = "smooth non-linear functions of all predictors"


_SPLINES = "restricted cubic splines of the predictors"


_FORMS = {
    **dict.fromkeys(
        (
            "logistic_regression", "ridge", "lda", "linear_svm", "penalised_logistic", "cox", "penalised_cox",
            "fine_gray", "accelerated_failure_time",
        ),
        _LINEAR,
    ),
    **dict.fromkeys(("spline_logistic", "spline_cox"), _SPLINES),
    **dict.fromkeys(
        (
            "decision_tree", "random_forest", "extra_trees", "bagging", "ada_boost", "gradient_boosting", "xgboost",
            "lightgbm", "stochastic_boosting", "survival_forest",
        ),
        _TREES,
    ),
    **dict.fromkeys(
        ("kernel_logistic", "gaussian_process", "neural_network", "mlp", "k_nearest_neighbours"),
        _SMOOTH,
    ),
    **dict.fromkeys(
        ("gaussian_nb", "multinomial_nb", "bernoulli_nb"), "predictors taken as independent given the outcome"
    ),
}  # fmt: skip
