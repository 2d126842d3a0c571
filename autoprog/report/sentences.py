"""What was done, in sentences of publication prose; the methods text, the checklists and the model card share them.

A sentence is written only if what it says was done in the run. Marks of `cite` are numbered, or left out, by the caller.
"""

from __future__ import annotations

from autoprog.report.phrases import (
    algorithm_name,
    estimate,
    figure,
    listed,
    parameters_text,
    percent,
    plural,
    quoted,
    with_bounds,
)
from autoprog.report.references import cite
from autoprog.report.run import Document, ReportedRun


def cohort_size(run: ReportedRun) -> str:
    """Patients, and the rows that were left out."""
    held = f"{plural(run.n_patients, 'patient')} and {plural(run.n_rows, 'visit')}" if run.has_visits else run.rows_text
    text = f"The cohort {quoted(run.cohort['name'])} holds {held} with a known outcome."
    if run.n_dropped:
        rows = plural(run.n_dropped, "visit" if run.has_visits else "row")
        text += f" {rows} of the file without a usable outcome {'was' if run.n_dropped == 1 else 'were'} left out."
    return text


def outcome_counts(run: ReportedRun) -> str:
    """How many had the outcome, and how those followed up ended."""
    if not run.has_times:
        rows = "visits" if run.has_visits else "patients"
        share = percent(run.cohort["event_rate"])
        return f"The outcome ({run.outcome_text}) was present in {run.n_with_outcome:,} of {run.n_rows:,} {rows} ({share})."
    counts = run.cohort["follow_up"]
    events = counts["events"]
    parts = [f"{plural(events[run.outcome['event_of_interest']], 'patient')} had the event {run.outcome_text}"]
    parts += [f"{events.get(cause, 0):,} had the competing event {quoted(cause)} first" for cause in run.competing]
    parts.append(f"{counts['n_censored']:,} {'was' if counts['n_censored'] == 1 else 'were'} censored")
    return f"{listed(parts)}."


def follow_up(run: ReportedRun) -> str | None:
    """Length of follow-up; None for outcomes without times."""
    found = run.cohort.get("follow_up")
    if not found:
        return None
    if found["median"] is None:
        length = "The median follow-up was not reached"
    else:
        length = f"The median follow-up by the reverse Kaplan-Meier estimate{cite('schemper')} was {found['median']:g}"
    return f"{length}; the observed time of all patients was {found['person_time']:,.0f} (times {run.time_unit})."


def prediction_target(run: ReportedRun) -> str:
    """What is predicted, and until when."""
    if run.kind == "binary":
        return f"The model predicts the probability of the outcome {run.outcome_text}."
    if run.kind == "visit_labels":
        return f"At each visit the model predicts the probability of {run.outcome_text} at this visit."
    start = "At each visit the model predicts the risk" if run.has_visits else "The model predicts the risk"
    text = f"{start} of the event {run.outcome_text} within {run.horizons_text}"
    if run.competing:
        causes = listed([quoted(cause) for cause in run.competing])
        return f"{text}; {causes} {'is a competing event' if len(run.competing) == 1 else 'are competing events'}."
    return f"{text}."


def censoring(run: ReportedRun) -> str | None:
    """How censored patients and competing events entered; None without event times."""
    if not run.has_times:
        return None
    reductions = {
        "discrete_time": "the hazards of intervals of time, in which a patient counts while under observation",
        "ipcw": "the event until each horizon, patients weighted by the inverse probability of censoring",
    }
    learners = set(run.member_algorithms("prediction"))
    parts = []
    if learners & _OF_TIMES:
        parts.append("regressions and forests of event times used their follow-up")
    if learners - _OF_TIMES:
        parts.append(f"classifiers learnt {reductions[run.settings['reduction']]}")
    text = f"Censored patients were kept: {listed(parts)}."
    if run.competing:
        text += (
            " Patients with a competing event were not treated as censored; the risks of all causes sum to at most 1."
        )
    return text


def predictors(run: ReportedRun) -> str:
    """Candidate predictors and the columns that they became."""
    text = f"There were {plural(len(run.features), 'candidate predictor')} ({run.kinds_of_features})"
    if run.sample_size.get("n_parameters"):
        text += f", or {run.sample_size['n_parameters']:,} columns of the design matrix"
    return text + "."


def no_preselection(run: ReportedRun) -> str:
    """Which selection of predictors took place."""
    selecting = [name for name in run.member_algorithms("features") if name in _SELECTIONS]
    text = "No predictor was chosen by its association with the outcome before model building."
    if selecting:
        names = listed([_SELECTIONS[name] for name in selecting])
        text += f" Within the pipelines, on training patients only, predictors were selected by {names}."
    return text


def visit_windows(run: ReportedRun) -> str | None:
    """How a patient's visits became predictors; None where a row is a patient."""
    if not run.has_visits:
        return None
    windows = run.settings["window"]
    lengths = [windows] if isinstance(windows, int) else sorted(set(windows))
    wanted = listed([str(w) for w in lengths], "or")
    return (
        f"At a visit, the predictors were computed from the patient's last {wanted} visits, this one included: last "
        "value, change, slope, mean, minimum, maximum, and the time since and the number of observations. A visit uses "
        "no later visit."
    )


def encoding(run: ReportedRun) -> str:
    """How predictors were coded and scaled."""
    text = (
        "Continuous predictors entered as measured, without categories that were fixed beforehand; ordered levels "
        "entered as numbers."
    )
    if any(f["kind"] == "categorical" for f in run.features):
        text += " Unordered levels became one indicator each, or stayed codes for boosted trees that split by sets of levels."
    return text


def scaling() -> str:
    """Rescaling and standardisation."""
    return (
        "Learners that need it, such as regressions and networks, standardised their columns by the training patients."
    )


def functional_forms(run: ReportedRun) -> str:
    """Functional form of the members' learners, and their feature processing."""
    forms: dict[str, list[str]] = {}
    for name in run.member_algorithms("prediction"):
        forms.setdefault(_FORMS.get(name, "a form that the plug-in defines"), []).append(algorithm_name(name))
    text = "; ".join(f"{listed(names)}: {form}" for form, names in forms.items())
    processing = [name for name in run.member_algorithms("features") if name != "none"]
    done = f" Features were processed by {listed([algorithm_name(n) for n in processing])} first." if processing else ""
    return f"Functional form of the ensemble's learners: {text}.{done}"


def missing_amount(run: ReportedRun) -> str:
    """How much is missing in the predictors."""
    if not run.with_missing:
        return f"No value of the {len(run.features)} predictors was missing."
    worst = run.with_missing[0]
    return (
        f"Values were missing in {len(run.with_missing)} of {len(run.features)} predictors, at most in "
        f"{percent(worst['missing_fraction'])} ({worst['name']})."
    )


def missing_handling(run: ReportedRun) -> str:
    """How missing predictor values were handled in training."""
    if not run.with_missing and not run.has_visits:
        return "No imputation was needed for development, as the predictors were complete."
    methods = run.member_algorithms("imputation")
    imputed = listed([algorithm_name(name) for name in methods if name != "none"])
    ways = [f"by imputation with {imputed}"] if imputed else []
    if "none" in methods:
        ways.append("by learners that take missing values")
    text = (
        f"Missing predictor values were handled within each pipeline, {listed(ways, 'or')}, fitted to its training patients "
        "only. No patient was excluded for a missing predictor value."
    )
    if run.settings.get("missing_indicators"):
        text += " An indicator for each incomplete predictor marked missing values."
    return text


def missing_outcome(run: ReportedRun) -> str:
    """How missing outcomes were handled."""
    rows = "visits" if run.has_visits else "rows"
    if not run.n_dropped:
        return "No outcome was missing, and none was imputed."
    return f"The {run.n_dropped:,} {rows} without a usable outcome were left out and not imputed."


def missing_at_use(run: ReportedRun) -> str:
    """How a missing value is handled when the model is used."""
    text = (
        "In use, a missing value is drawn many times from its distribution given the patient's known values, as estimated "
        "from the training patients; the risk is the mean over the draws"
    )
    return f"{text}, and its interval covers them." if run.instability else f"{text}."


def data_checks(run: ReportedRun) -> str:
    """Checks of the file, and what they found."""
    text = (
        "On reading, the file was checked for unreadable cells, words that mean missing, unknown values of the outcome, "
        "identifiers, constant and mostly missing columns, repeated rows, and columns that give the outcome away."
    )
    warnings = run.cohort["warnings"]
    found = (
        " It led to no warning."
        if not warnings
        else f" It led to {plural(len(warnings), 'warning')}: {'; '.join(warnings)}."
    )
    return text + found


def candidate_space(run: ReportedRun) -> str:
    """The pipelines that the search could choose from."""
    text = "A candidate pipeline chains imputation, feature processing, a learner and a calibration of its risks"
    space = run.settings["space"]
    if space:
        limits = "; ".join(
            f"{stage}: {listed([algorithm_name(n) for n in names])}" for stage, names in space.items() if names
        )
        return f"{text}{cite('alaa')}. The candidates were limited to {limits}."
    return f"{text}{cite('alaa')}. All algorithms of the software that suit the outcome and the size of the cohort were candidates."


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
    text = f"The search evaluated {' and then '.join(parts)}." if parts else ""
    if origin["n_explored_rows"]:
        text += (
            f" Exploration used a random sample of {origin['n_explored_rows']:,} of {run.n_rows:,} rows that keeps the share "
            f"of events"
        )
        finals = origin["n_finalists"]
        text += f"; {plural(finals, 'pipeline')} were then evaluated on all." if finals else "."
    return text.strip()


def _proposer(run: ReportedRun) -> str:
    preset = run.settings["optimizer"]["preset"]
    if preset == "random":
        return "drawn at random"
    if preset == "paper":
        return f"that Bayesian optimisation with structured kernels proposed{cite('alaa')}"
    return f"that Bayesian optimisation with structured kernels{cite('alaa')} proposed by expected improvement{cite('ament')}"


def search_budget(run: ReportedRun) -> str:
    """Budget of the search and what became of it."""
    budget, account, spent = run.settings["budget"], run.search["account"], run.search["progress"]["elapsed_s"]
    succeeded = run.search["progress"]["evaluations"]["succeeded"]
    text = (
        f"The budget was {budget['time_s']:g} s and {budget['evaluations']:,} evaluations; the search took {spent:.0f} s. Of "
        f"{plural(run.begun, 'pipeline')} begun, {succeeded:,} {_were(succeeded)} scored on all folds"
    )
    reasons = [f"{account[key]:,} {why(account[key])}" for key, why in _REASONS.items() if account[key]]
    return f"{text}, {listed(reasons)}." if reasons else f"{text}."


def racing(run: ReportedRun) -> str | None:
    """How hopeless pipelines were stopped; None if none was."""
    if not run.search["account"]["raced_out"]:
        return None
    return (
        "After each fold from the second on, a pipeline was stopped if its probability of beating the best one was below "
        f"5 %{cite('maron', 'nadeau')}."
    )


def warm_start(run: ReportedRun) -> str | None:
    """What earlier cohorts contributed; None if nothing."""
    start = run.search.get("start")
    if not start or not start["n_cohorts"]:
        return None
    return f"The optimizer began from what {plural(start['n_cohorts'], 'earlier cohort')} had taught, with a weight of {start['trust']:.2f} in its prior."


def tuning(run: ReportedRun) -> str:
    """How hyperparameters were tuned and by which criterion."""
    metric = METRIC_NAMES.get(run.settings["metric"], run.settings["metric"])
    return (
        "Hyperparameters were part of a pipeline and chosen with it, by the mean cross-validated score over the folds, "
        f"measured by {metric}."
    )


def folds(run: ReportedRun) -> str:
    """How patients were split for internal validation."""
    k, repeats = run.settings["folds"], run.settings["repeats"]
    times = "" if repeats == 1 else (", made twice" if repeats == 2 else f", made {repeats} times")  # noqa: PLR2004
    by = "time and kind of event" if run.has_times else "outcome"
    text = f"All pipelines were compared by {k}-fold cross-validation on the same folds{times}, stratified by {by}"
    whole = f"; the {run.grouped_by} stayed in one fold" if run.grouped_by else ""
    text = f"{text}{whole}. Every step of a pipeline was fitted to the training folds alone."
    if any(e.get("out_of_bag") for e in run.evaluations):
        text += " Random forests were scored by each patient's out-of-bag risk, from trees grown without that patient."
    return text


def fold_considerations(run: ReportedRun) -> str:
    """How the size of the cohort bore on the partition."""
    text = (
        "No patients were set aside as a test set, so that all served for development and, out of fold, for evaluation."
    )
    reduced = [w for w in run.search["warnings"] if "folds in place of" in w]
    if reduced:
        text += f" The number of folds was lowered: {reduced[0]}."
    if run.settings["repeats"] > 1:
        text += " Folds were made repeatedly, as with few patients the luck of one split outweighs differences between pipelines."
    return text


def ensemble_rule(run: ReportedRun) -> str:
    """How the members and their weights were chosen."""
    refit = f"refitted to all {run.rows_text}"
    if run.search["progress"]["evaluations"]["succeeded"] == 1:
        return f"The model is the only pipeline that was scored on all folds, {refit}."
    scale = " on the scale of log odds" if run.ensemble.get("scale") == "log_odds" else ""
    n = len(run.members)
    what = "one pipeline" if n == 1 else f"a weighted average of {n} pipelines{scale}"
    return f"The model is {what}, chosen by {_RULES[run.ensemble['rule']]()}, {refit}."


def members_text(run: ReportedRun) -> str:
    """Every member with its weight, stages and hyperparameters."""
    return "; ".join(
        f"weight {member['weight']:.3f}: {pipeline_text(member['configuration'])}" for member in run.members
    )


def pipeline_text(configuration: Document) -> str:
    """A pipeline, stage by stage; stages that do nothing are left out."""
    parts = []
    for stage, step in configuration.items():
        if step["algorithm"] == "none":
            continue
        name = algorithm_name(step["algorithm"])
        inside = parameters_text(step["parameters"])
        label = {"imputation": "imputation by ", "features": "features by ", "calibration": "calibrated by "}.get(
            stage, ""
        )
        parts.append(f"{label}{name}" + (f" ({inside})" if inside else ""))
    return ", ".join(parts)


def recalibration(run: ReportedRun) -> str:
    """The recalibration of the averaged risks."""
    text = (
        "The averaged out-of-fold risks were recalibrated by a logistic regression on their log odds, with intercept and "
        f"slope shrunk towards no change{cite('cox')}"
    )
    found = run.ensemble["calibration"].get("recalibration")
    if found:
        text += f" (intercept {found['intercept']:.3f}, slope {found['slope']:.3f})"
    if run.competing:
        text += "; the risks of the competing causes were recalibrated with them"
    return text + "."


def performance_data(_run: ReportedRun) -> str:
    """Which risks the measures are of."""
    return (
        "All measures are of out-of-fold risks: each risk is by pipelines that did not use the patient, averaged by the "
        "weights of the ensemble; where a measure depends on calibration, recalibrated on other patients."
    )


def optimism(run: ReportedRun) -> str:
    """How the score was corrected for the choice of the ensemble by the same patients."""
    made = run.ensemble["score"].get("resamples")
    if not made:
        return "The score of the ensemble is of out-of-fold risks and was not corrected further."
    return (
        f"The score of the ensemble was corrected for the choice of its weights by the same patients: in "
        f"{plural(made, 'bootstrap resample')} of the patients the weights were chosen anew and scored on the patients left "
        f"out{cite('tsamardinos')}."
    )


def discrimination(run: ReportedRun) -> str:
    """Measures of discrimination."""
    if not run.has_times:
        return f"Discrimination was measured by the area under the ROC curve{cite('delong')} and the average precision."
    if run.competing:
        concordance = f"Wolbers's concordance{cite('wolbers')}"
    else:
        concordance = f"Uno's concordance{cite('uno')}"
    return (
        f"Discrimination was measured by {concordance} until the last horizon and, at every horizon, by the area under the "
        f"time-dependent ROC curve{cite('blanche')}."
    )


def calibration(run: ReportedRun) -> str:
    """Measures of calibration."""
    if not run.has_times:
        text = (
            "Calibration was measured by expected over observed events, calibration intercept and slope"
            f"{cite('calster')}, and the integrated calibration index with E50 and E90{cite('austin')}, from a smooth curve"
        )
        return f"{text}."
    text = (
        "Calibration was measured at every horizon against the Aalen-Johansen incidence"
        f"{cite('aalen')} by expected over observed, and by intercept, slope and integrated calibration index"
        f"{cite('austin')} from pseudo-values{cite('andersen')}"
    )
    if run.ensemble.get("d_calibration"):
        text += f"; D-calibration tested whole curves{cite('haider')}"
    return f"{text}."


def overall_accuracy(run: ReportedRun) -> str:
    """Measures of overall accuracy."""
    if run.has_times:
        return (
            f"Overall accuracy was measured by the Brier score, weighted by the inverse probability of censoring{cite('gerds')}, "
            "at every horizon and integrated over time, and its skill against predicting the incidence for everybody."
        )
    return (
        "Overall accuracy was measured by the Brier score, its skill against predicting the event rate for everybody"
        f"{cite('steyerberg')}, and the logarithmic loss."
    )


def utility(run: ReportedRun) -> str:
    """Measure of clinical utility and its range of thresholds."""
    low, high = run.settings["thresholds"]
    against = ["treating everybody", "treating nobody", *(["the simple pipeline"] if run.baseline else [])]
    return (
        f"Clinical utility was measured by net benefit and decision curves{cite('vickers')}, over thresholds of "
        f"{100 * low:g} to {100 * high:g} %, against {listed(against)}."
    )


def plots(run: ReportedRun) -> str:
    """Plots of the report."""
    shown = ["calibration curves", "distributions of the risks", "decision curves"]
    if run.instability:
        shown.append("instability plots")
    return f"The results are shown as {listed(shown)}."


def comparison(run: ReportedRun) -> str | None:
    """The simple pipeline that the ensemble is compared with; None if there is none."""
    if not run.baseline:
        return None
    simple = pipeline_text(run.baseline["configuration"])
    return (
        f"For comparison, a simple pipeline ({simple}) was evaluated on the same folds, and differences were estimated on the "
        "same patients."
    )


def intervals(run: ReportedRun) -> str:
    """How intervals of the measures were made."""
    unit = {"visits of a patient": "patients", "patients of a group": "groups"}.get(run.grouped_by or "")
    text = "Measures have 95 % intervals, by the influence of each patient on the measure or by the bootstrap"
    return f"{text}; {unit} and not rows were the unit." if unit else f"{text}."


def patient_intervals(run: ReportedRun) -> str | None:
    """Intervals of patients' risks; None if none was estimated."""
    found, instability = run.ensemble.get("interval"), run.instability
    if not found or not instability:
        return None
    return (
        f"Each patient's risk has a {100 * found['level']:.0f} % interval, from {instability['n_refits']} refits of the ensemble "
        "to bootstrap samples."
    )


def instability(run: ReportedRun) -> str | None:
    """How stable the risks are; None if this was not examined."""
    found = run.instability
    if not found:
        return None
    return (
        f"Instability was examined by {found['n_refits']} refits of the ensemble to bootstrap samples{cite('stability')}: for "
        f"patients that a refit did not use, its risks differed from the model's by {figure(found['mape'])} on average "
        f"(90th percentile over patients {figure(found['mape_90'])}). The refits did not repeat the search."
    )


def subgroup_methods(run: ReportedRun) -> str | None:
    """How subgroups were examined; None if they were not."""
    if not run.subgroups:
        return None
    return (
        f"Performance was also measured in subgroups by {listed(list(run.subgroup_features))}: discrimination, Brier score and "
        "expected over observed events, where at least 10 patients had and 10 did not have the outcome."
    )


def strata(run: ReportedRun) -> str | None:
    """How risk strata and rules were made; None without strata."""
    found = run.rules["strata"]
    if len({s["name"] for s in found}) < 2:  # noqa: PLR2004  one stratum is none
        return None
    how = "thresholds that the author set" if run.settings["strata"] else "the thirds of the out-of-fold risks"
    text = f"For description, risk strata were formed by {how}"
    mined = [rule for rule in run.rules["rules"] if not rule.get("prior")]
    if mined:
        text += (
            f", and association rules describe who is placed in them; they were tested on patients who were not used to find "
            f"them, at a false-discovery rate of 10 %{cite('benjamini')}"
        )
    return f"{text}. The strata are no recommendation for treatment."


def sample_size(run: ReportedRun) -> str:
    """Riley's minimum and what the cohort has."""
    found = run.sample_size
    source = "riley_times" if run.has_times else "riley_binary"
    compared = "reaches" if run.n_patients >= found["riley_minimum"] else "does not reach"
    return (
        f"The minimum for a regression with all candidate predictors is {found['riley_minimum']:,} patients{cite(source)}; the "
        f"cohort of {run.n_patients:,} {compared} it."
    )


def sample_size_criteria(run: ReportedRun) -> str:
    """Criteria of the calculation of the sample size."""
    n = run.sample_size.get("n_parameters")
    columns = f"{n:,} parameters, " if n else ""
    return (
        f"The calculation assumed {columns}an anticipated Nagelkerke R² of 0.15, and asked for a shrinkage of at least 0.9, an "
        "optimism in R² of at most 0.05, and the overall risk within 0.05."
    )


def flexible_sample_size(run: ReportedRun) -> str | None:
    """The larger minimum of flexible learners; None in older cohorts."""
    least = run.sample_size.get("flexible_minimum")
    if least is None:
        return None
    compared = "reaches" if run.n_patients >= least else "does not reach"
    return f"Forests, boosting and networks need about {least:,} patients to be stable{cite('ploeg')}, which the cohort {compared}."


def events_per_parameter(run: ReportedRun) -> str:
    """Events per candidate predictor parameter."""
    who = "events" if run.has_times else "patients with the rarer outcome"
    return f"There were {run.sample_size['events_per_predictor']:.1f} {who} per candidate parameter."


def validation_sample_size(run: ReportedRun) -> str | None:
    """Patients that an external validation needs; None in older cohorts."""
    least = run.sample_size.get("validation_minimum")
    if least is None:
        return None
    return f"An external validation needs about {least:,} patients{cite('riley_validation')}."


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


def performance_figures(run: ReportedRun) -> str:
    """Discrimination of the delivered model, corrected, beside that of the simple pipeline."""
    score = run.ensemble["score"]
    metric = METRIC_NAMES.get(run.settings["metric"], run.settings["metric"])
    text = f"The {metric} of the model was {estimate(score)}"
    if run.baseline:
        text += f"; that of the simple pipeline was {estimate(run.baseline['score'])}"
    return f"{text}."


def discrimination_figures(run: ReportedRun) -> str:
    """Discrimination, out of fold."""
    if not run.has_times:
        found, bounds = run.ensemble["performance"], run.ensemble["performance"].get("intervals") or {}
        auc = with_bounds(found["auc_roc"], bounds.get("auc_roc"))
        return (
            f"Area under the ROC curve {auc}, average precision {with_bounds(found['auc_prc'], bounds.get('auc_prc'))}."
        )
    overall = run.ensemble["overall"]
    name, value = ("Wolbers's", overall["wolbers_c"]) if run.competing else ("Uno's", overall["uno_c"])
    text = f"{name} concordance until {overall['until']:g} {figure(value)}; time-dependent AUC "
    return text + _by_horizon(run, "auc") + "."


def calibration_figures(run: ReportedRun) -> str:
    """Calibration of the delivered model."""
    if not run.has_times:
        found = run.ensemble["calibration"]
        ratio = with_bounds(found["expected_observed"], found.get("expected_observed_interval"))
        return (
            f"Calibration slope {estimate(found['slope'])}, intercept {estimate(found['intercept'])}, expected over observed "
            f"events {ratio}."
        )
    parts = [
        f"at {doc['horizon']:g}: expected over observed {estimate(doc['performance']['expected_observed'])}, slope "
        f"{estimate(doc['performance']['slope'])}, intercept {estimate(doc['performance']['intercept'])}"
        for doc in run.horizon_documents
    ]
    return f"Calibration {'; '.join(parts)}."


def accuracy_figures(run: ReportedRun) -> str:
    """Brier score and its skill."""
    if run.has_times:
        return f"Brier score {_by_horizon(run, 'brier')}; Brier skill {_by_horizon(run, 'brier_skill')}."
    found, bounds = run.ensemble["performance"], run.ensemble["performance"].get("intervals") or {}
    brier = with_bounds(found["brier"], bounds.get("brier"))
    return f"Brier score {brier}, Brier skill {with_bounds(found['brier_skill'], bounds.get('brier_skill'))}."


def utility_figures(run: ReportedRun) -> str:
    """Net benefit at the ends of the range of thresholds; the mean over it where it was measured."""
    if run.has_times:
        curves = [(f"at {doc['horizon']:g} ", doc["net_benefit"]) for doc in run.horizon_documents]
    else:
        curves = [("", run.ensemble["net_benefit"])]
    return f"Net benefit {'; '.join(where + _net_benefit(curve) for where, curve in curves)}."


def _net_benefit(curve: Document) -> str:
    """Net benefit of the model and of treating everybody at the ends of the range of thresholds."""
    parts = []
    for end in dict.fromkeys(curve["range"]):
        k = min(range(len(curve["thresholds"])), key=lambda i: abs(curve["thresholds"][i] - end))
        model, everybody = (curve[name][k] for name in ("model", "treat_all"))
        if model is None or everybody is None:
            continue
        ends = curve.get("model_interval")
        bounds = None if ends is None else {"lower": ends["lower"][k], "upper": ends["upper"][k]}
        parts.append(
            f"{with_bounds(model, bounds)} at a threshold of {100 * curve['thresholds'][k]:g} % (treating everybody "
            f"{figure(everybody)})"
        )
    return ", ".join(parts)


def _by_horizon(run: ReportedRun, name: str) -> str:
    parts = []
    for doc in run.horizon_documents:
        found = doc["performance"]
        parts.append(f"{with_bounds(found[name], (found.get('intervals') or {}).get(name))} at {doc['horizon']:g}")
    return listed(parts)


def gain_figures(run: ReportedRun) -> str | None:
    """Difference to the simple pipeline; None if there is none."""
    if run.has_times:
        gains = [(f" at {d['horizon']:g}", d.get("gain_over_baseline") or {}, "auc") for d in run.horizon_documents]
    else:
        gains = [("", run.ensemble.get("gain_over_baseline") or {}, "auc_roc")]
    known = [f"{estimate(gain[name])}{where}" for where, gain, name in gains if gain]
    return f"Difference in AUC to the simple pipeline {listed(known)}." if known else None


def subgroup_figures(run: ReportedRun) -> str | None:
    """Discrimination and calibration by subgroup; None if no subgroup was large enough."""
    if not run.subgroups:
        return None
    name = "auc" if run.has_times else "auc_roc"
    rows = "visits" if run.has_visits else "patients"
    parts = [
        f"{group['feature']} {group['label']} ({group['n']:,} {rows}): AUC {estimate(group[name])}, expected over observed "
        f"{estimate(group['expected_observed'])}"
        for group in run.subgroups
        if group.get(name) is not None
    ]
    return f"{'; '.join(parts)}." if parts else None


def cause_figures(run: ReportedRun) -> str | None:
    """Discrimination for the competing causes at the last horizon; None without them."""
    if not run.competing or not run.horizon_documents:
        return None
    found = run.horizon_documents[-1].get("causes") or ()
    parts = []
    for cause in found:
        if cause["performance"] is not None:
            bounds = (cause["performance"].get("intervals") or {}).get("auc")
            parts.append(f"{quoted(cause['cause'])} {with_bounds(cause['performance']['auc'], bounds)}")
    return f"AUC for the competing causes at the last horizon: {listed(parts)}." if parts else None


def learns_interactions(learner: str) -> bool:
    """Whether a learner can find interactions by itself."""
    return _FORMS.get(learner) in (_TREES, _SMOOTH)


METRIC_NAMES = {
    "auc_roc": "area under the ROC curve",
    "auc_prc": "average precision",
    "brier": "Brier score",
    "log_loss": "logarithmic loss",
    "net_benefit": "mean net benefit over the thresholds",
    "uno_c": "concordance until the last horizon",
    "wolbers_c": "Wolbers's concordance until the last horizon",
    "c_index": "Harrell's concordance",
    "time_dependent_auc": "mean time-dependent AUC over the horizons",
    "integrated_brier": "integrated Brier score",
}
"""Metrics of the setting `metric`, as a sentence names them."""


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


_REASONS = {
    "raced_out": lambda n: f"{_were(n)} stopped early for having lost against the best one",
    "timeout": lambda _: "exceeded the time limit",
    "memory": lambda _: "exceeded the memory limit",
    "crashed": lambda _: "crashed",
    "invalid": lambda _: "failed with an error",
    "cancelled": lambda n: f"{_were(n)} undecided when the search ended",
}

_RULES = {
    "pseudo_bma": lambda: f"weights after the log scores of their out-of-fold risks{cite('yao')}",
    "linear_pool": lambda: f"the average that gives the outcomes most probability out of fold{cite('yao')}",
    "blend": lambda: (
        f"a mixture of stacking of predictive distributions and weights after log scores of the out-of-fold risks{cite('yao')}"
    ),
    "model_averaging": lambda: f"weights after the probability of each to be the best{cite('alaa')}",
    "greedy": lambda: f"greedy selection with bagging by the Brier score of the average{cite('caruana')}",
    "stacking": lambda: (
        f"stacking, with coefficients of at least 0 shrunk to the plain average{cite('wolpert', 'breiman')}"
    ),
    "best": lambda: "the largest posterior mean of the score",
}

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
            "logistic_regression", "ridge", "lda", "linear_svm", "penalised_logistic", "cox", "penalised_cox", "fine_gray",
            "accelerated_failure_time",
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
