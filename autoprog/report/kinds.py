"""What the report says of each kind of outcome, and of rows that are patients or visits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from autoprog.cohort import Binary, Outcome, TimeToEvent
from autoprog.endpoints import read_kind
from autoprog.performance import EVENT_METRICS, METRICS
from autoprog.report.digits import significant
from autoprog.report.phrases import estimate, listed, number, percent, plural, quoted, upper_first, were, with_bounds
from autoprog.report.references import cite
from autoprog.validation import MIN_MISSING

if TYPE_CHECKING:
    from autoprog.report.run import ReportedRun

Document = Mapping[str, Any]


class Rows:
    """Words for rows that are patients."""

    row, rows = "patient", "patients"
    of_file = "row"  # one that may hold no patient
    start = "The model predicts"
    after = ""  # after the time within which the outcome is predicted
    entered = ""  # after the values that users enter
    described = ""  # when the values that are described by outcome were measured
    missing_of = ""  # what a share of missing values is of
    limits: tuple[str, ...] = ()  # for whom the model is not

    def outcome(self, run: ReportedRun) -> str:
        """The outcome of the labels that are predicted."""
        return f"the outcome {run.outcome_text}"

    def until(self, run: ReportedRun) -> str:
        """Time within which the outcome is predicted, as a clause."""
        return run.kind.until(run)

    def characteristics(self, run: ReportedRun) -> tuple[str, ...]:
        """Notes to the table of the characteristics."""
        return run.kind.characteristics(run)

    def unit(self, run: ReportedRun) -> Literal["patient", "group"]:
        """What folds and intervals take as a whole."""
        n_groups = run.origin.get("n_groups")
        return "group" if n_groups and n_groups != run.cohort.get("n_sampled") else "patient"

    def unsplit(self, run: ReportedRun) -> str | None:
        """Sentence on rows that stay in one fold; None if rows are independent."""
        if self.unit(run) == "group":
            return "The patients of a group stayed in one fold."
        return "All those for whom a patient stands stayed in one fold." if run.is_weighted else None

    def with_visits(self, n_rows: int, joined: str = "with") -> str:
        """Number of visits, after that of patients."""
        return ""

    def counted(self, n_patients: int) -> str:
        """Number of the patients whom a rule describes."""
        return f"{n_patients:,} patients"

    def validated(self, run: ReportedRun, validation: Document) -> str:
        """Patients and events of a validation."""
        events = plural(validation["n_events"], "event")
        patients = plural(run.n_validated, "patient")
        if run.n_validated != validation["n_patients"]:  # by their weights
            patients = f"{patients} who stand for {validation['n_patients']:,}"
        return f"{patients} with {events}{run.kind.by_last(run, validation)}"

    def windows(self, lengths: Sequence[int]) -> str | None:
        """How visits became predictors."""
        return None

    def needs_imputation(self, run: ReportedRun) -> bool:
        """Whether values may be missing."""
        return bool(run.with_missing)

    def left_to_pipelines(self, run: ReportedRun) -> str | None:
        """Which missing values are left to the pipelines when the model is used; None if none is."""
        if not run.often_missing:
            return None
        names = listed([run.labels[feature["name"]] for feature in run.often_missing], "or")
        return (
            f"In use, a missing value of {names} is left to the pipelines, which learnt what its absence means from at "
            f"least {MIN_MISSING} training patients who lacked it."
        )


class Visits(Rows):
    """Words for rows that are visits."""

    row, rows, of_file = "visit", "visits", "visit"
    start = "At each visit the model predicts"
    after = " of a visit"
    entered = " of all visits so far"
    described = " at the first visit"
    missing_of = " of the visits"
    limits = ("Patients whose earlier visits are unknown, where these would matter.",)

    def outcome(self, run: ReportedRun) -> str:
        """The outcome, until the horizon."""
        return f"{run.outcome_text} within {run.horizons_text} after the visit"

    def until(self, run: ReportedRun) -> str:
        """Time from a visit."""
        return f" within {run.horizons_text} after a visit"

    def characteristics(self, run: ReportedRun) -> tuple[str, ...]:
        """What a patient's values are."""
        return ("Values are those of each patient's first visit; the outcome may have followed any visit.",)

    def unit(self, run: ReportedRun) -> Literal["patient", "group"]:
        """Patients are the groups of visits where the cohort has no others."""
        n_groups = run.origin.get("n_groups")
        return "group" if n_groups and n_groups < run.n_patients else "patient"

    def unsplit(self, run: ReportedRun) -> str:
        """Sentence on rows that stay in one fold; None if rows are independent."""
        return f"The visits of a {self.unit(run)} stayed in one fold."

    def with_visits(self, n_rows: int, joined: str = "with") -> str:
        """Count visits."""
        return f" {joined} {plural(n_rows, 'visit')}"

    def counted(self, n_patients: int) -> str:
        """Number of the patients whose visits a rule describes."""
        return f"visits of {n_patients:,} patients"

    def validated(self, run: ReportedRun, validation: Document) -> str:
        """Visits, their patients, and how many visits the event followed, which older documents tell alone."""
        patients, n_rows = plural(validation["n_patients"], "patient"), validation.get("n_rows")
        whose = (
            f"{plural(n_rows, 'visit')} of {patients}, {validation['n_events']:,} of them"
            if n_rows
            else (f"{patients} with {plural(validation['n_events'], 'visit')}")
        )
        return f"{whose} followed by the event within {run.time_text(run.horizons[-1])}"

    def windows(self, lengths: Sequence[int]) -> str:
        """How visits became predictors."""
        wanted = listed([str(w) for w in lengths], "or")
        used = "that visit alone" if wanted == "1" else f"the patient's last {wanted} visits, this one included"
        return (
            f"At a visit, the predictors were computed from {used}: the last value, change, slope, mean, minimum and "
            "maximum (of unordered levels the last one alone), the time since the last observation, the number of "
            "observations, and whether the value is missing now. The number of the visit and the times since the first "
            "and the previous visit were added. No later visit was used."
        )

    def needs_imputation(self, run: ReportedRun) -> bool:
        """Windows have gaps."""
        return True

    def left_to_pipelines(self, run: ReportedRun) -> str:
        """Name no features: documents do not count the gaps of windows."""
        return (
            f"In use, a missing value that at least {MIN_MISSING} training visits lacked, too, is left to the "
            "pipelines, which learnt what its absence means."
        )


_ROWS = {"patient": Rows(), "visit": Visits()}


class Labels:
    """Words for an outcome without a time."""

    column, value = "column", "positive"  # keys of the outcome's column and of its value
    area, overall = "auc_roc", "performance"  # the area under the ROC curve, and the document of the measures
    metrics = tuple(METRICS)  # by which a search may choose
    riley = "riley_binary"  # reference of the minimum sample size
    rarer = "patients with the rarer outcome"  # whose number limits the predictors
    stratified_by = "outcome"
    subgroups: tuple[str, ...] = ()  # notes to the table of the subgroups
    recalibrated = ""  # how recalibration takes the outcome
    band_keys: tuple[str, ...] = ()  # keys by which strata are told apart, beside their names
    dots = ""  # in a calibration curve, for its caption
    last = ""  # until when slope, intercept and ratio are

    def until(self, run: ReportedRun) -> str:
        """Time within which the outcome is predicted, as a clause."""
        return ""

    def n_with_outcome(self, run: ReportedRun) -> int:
        """Count those with the outcome."""
        return round(float(run.cohort["event_rate"]) * run.n_rows)

    def carriers(self, run: ReportedRun) -> str:
        """Name who has the outcome, in the singular."""
        return run.words.row

    def counts(self, run: ReportedRun) -> str:
        """Tell how many had the outcome, and how those followed up ended."""
        share = percent(run.cohort["event_rate"])
        return (
            f"The outcome ({run.outcome_text}) was present in {run.n_with_outcome:,} of {run.n_rows:,} "
            f"{run.words.rows} ({share})."
        )

    def target(self, run: ReportedRun) -> str:
        """Tell the outcome."""
        return f"{run.words.start} the probability of {run.words.outcome(run)}."

    def definition(self, outcome: Document) -> str:
        """Tell the column and both values."""
        return f"{quoted(outcome['column'])}: {outcome['positive']} is the outcome, {outcome['negative']} its absence."

    def characteristics(self, run: ReportedRun) -> tuple[str, ...]:
        """Notes to the table of the characteristics."""
        return ()

    def limits(self, run: ReportedRun) -> tuple[str, ...]:
        """Times for which the model is not."""
        return ()

    def strata(self, run: ReportedRun) -> tuple[str, ...]:
        """Notes to the table of the strata."""
        return ()

    def if_timed(self, text: str) -> None:
        """Keep a text about follow-up."""

    def discrimination(self, run: ReportedRun) -> str:
        """Area and average precision."""
        return f"Discrimination was measured by the area under the ROC curve{cite('delong')} and the average precision."

    def calibration(self, run: ReportedRun) -> str:
        """By a smooth curve."""
        text = (
            "Calibration was measured by expected over observed events, calibration intercept and "
            f"slope{cite('calster')}, and the integrated calibration index with E50 and E90{cite('austin')}, from a "
            "smooth curve"
        )
        return f"{text}."

    def accuracy(self) -> str:
        """Brier score and logarithmic loss."""
        return (
            "Overall accuracy was measured by the Brier score, its skill against predicting the event rate for "
            f"everybody{cite('steyerberg')}, and the logarithmic loss."
        )

    def discrimination_figures(self, run: ReportedRun) -> str:
        """Area and average precision."""
        auc, precision = (_bounded(run.ensemble["performance"], name) for name in ("auc_roc", "auc_prc"))
        return f"Area under the ROC curve {auc}, average precision {precision}."

    def calibration_figures(self, run: ReportedRun) -> str:
        """Slope, intercept and ratio."""
        found = run.ensemble["calibration"]
        ratio = with_bounds(found["expected_observed"], found.get("expected_observed_interval"))
        return (
            f"Calibration slope {estimate(found['slope'])}, intercept {estimate(found['intercept'])}, expected over "
            f"observed events {ratio}."
        )

    def accuracy_figures(self, run: ReportedRun) -> str:
        """Brier score and its skill."""
        brier, skill = (_bounded(run.ensemble["performance"], name) for name in ("brier", "brier_skill"))
        return f"Brier score {brier}, Brier skill {skill}."

    def case_mix(self, run: ReportedRun, validation: Document, cohort: Document) -> str:
        """Share with the outcome, or its incidence, in both cohorts."""
        return (
            f"The share of {run.words.rows} with the outcome was {percent(run.cohort['event_rate'])} in development "
            f"and {percent(cohort['event_rate'])} in the validation."
        )

    def expected(self, run: ReportedRun, validation: Document) -> str:
        """Expected and observed events in other patients."""
        return (
            f"{significant(validation['expected_events'])} events were expected and {validation['n_events']:,} observed"
        )

    def by_last(self, run: ReportedRun, validation: Document) -> str:
        """Time until which events in other patients are counted, as a clause."""
        return ""


_CALIBRATION = ("expected_observed", "slope", "intercept")


class EventTimes:
    """Words for an event that is followed up."""

    column, value, area, overall = "event", "event_of_interest", "auc", "overall"
    metrics = EVENT_METRICS
    riley, rarer, stratified_by = "riley_times", "events", "time and kind of event"
    subgroups: tuple[str, ...] = ("Until the last horizon.",)
    recalibrated = ", at all times at once and weighted by the inverse probability of censoring"
    band_keys: tuple[str, ...] = ("horizon",)
    dots = " Dots: groups of equal size by predicted risk, with the Aalen-Johansen estimate."
    last = " until the last horizon"

    def until(self, run: ReportedRun) -> str:
        """Name the horizons."""
        return f" by {run.horizons_text}"

    def n_with_outcome(self, run: ReportedRun) -> int:
        return int(run.cohort["follow_up"]["events"][run.outcome["event_of_interest"]])

    def carriers(self, run: ReportedRun) -> str:
        return "patient"

    def counts(self, run: ReportedRun) -> str:
        """Tell the events."""
        counts = run.cohort["follow_up"]
        events = counts["events"]
        parts = [f"{plural(events[run.outcome['event_of_interest']], 'patient')} had the event {run.outcome_text}"]
        parts += [f"{events.get(cause, 0):,} had the competing event {quoted(cause)} first" for cause in run.competing]
        parts.append(f"{counts['n_censored']:,} {were(counts['n_censored'])} censored")
        return f"{listed(parts)}."

    def target(self, run: ReportedRun) -> str:
        """Tell the event, the horizons and the competing events."""
        text = f"{run.words.start} the risk of the event {run.outcome_text} within {run.horizons_text}"
        if run.competing:
            causes = listed([quoted(cause) for cause in run.competing])
            return f"{text}; {causes} {'is a competing event' if len(run.competing) == 1 else 'are competing events'}."
        return f"{text}."

    def definition(self, outcome: Document) -> str:
        """Tell the columns and all values."""
        text = (
            f"{quoted(outcome['event'])} with the time {quoted(outcome['time'])}: {outcome['event_of_interest']} is "
            f"the event, {outcome['censored']} censoring"
        )
        competing = outcome.get("competing")
        return f"{text}, and {listed(list(competing))} competing." if competing else f"{text}."

    def characteristics(self, run: ReportedRun) -> tuple[str, ...]:
        """Definition of patients with and without the outcome."""
        without = "censored, or with a competing event" if run.competing else "censored"
        return (f"With the outcome: during follow-up, however long. Without: {without}.",)

    def limits(self, run: ReportedRun) -> tuple[str, ...]:
        return (f"Times after the last horizon, {run.with_unit(number(run.horizons[-1]))}.",)

    def strata(self, run: ReportedRun) -> tuple[str, ...]:
        """Say why rows of a group have no interval."""
        if run.unsplit is None:
            return ()
        alone = run.is_weighted and run.unit == "patient"
        rows = "Those for whom a patient stands" if alone else f"{upper_first(run.words.rows)} of a {run.unit}"
        return (
            f"{rows} are correlated: an interval that takes them as independent would be too narrow, and is not given.",
        )

    def if_timed(self, text: str) -> str:
        return text

    def discrimination(self, run: ReportedRun) -> str:
        """Concordance and areas."""
        concordance = f"Wolbers's concordance{cite('wolbers')}" if run.competing else f"Uno's concordance{cite('uno')}"
        return (
            f"Discrimination was measured by {concordance} until the last horizon and, at every horizon, by the area "
            f"under the time-dependent ROC curve{cite('blanche')}."
        )

    def calibration(self, run: ReportedRun) -> str:
        """By pseudo-values."""
        text = (
            "Calibration was measured at every horizon against the Aalen-Johansen incidence"
            f"{cite('aalen')} by expected over observed, and by intercept, slope and integrated calibration index"
            f"{cite('austin')} from pseudo-values{cite('andersen')}"
        )
        if run.ensemble.get("d_calibration"):
            text += f"; D-calibration tested whole curves{cite('haider')}"
        return f"{text}."

    def accuracy(self) -> str:
        """Brier score, weighted."""
        return (
            "Overall accuracy was measured by the Brier score, weighted by the inverse probability of "
            f"censoring{cite('gerds')}, at every horizon and integrated over time, and its skill against predicting "
            "the incidence for everybody."
        )

    def discrimination_figures(self, run: ReportedRun) -> str:
        """Concordance and areas."""
        overall = run.ensemble["overall"]
        title, name = ("Wolbers's", "wolbers_c") if run.competing else ("Uno's", "uno_c")
        until = run.time_text(overall["until"])
        text = f"{title} concordance until {until} {_bounded(overall, name)}; time-dependent AUC "
        return text + _by_horizon(run, "auc") + "."

    def calibration_figures(self, run: ReportedRun) -> str:
        """Ratio, slope and intercept at every horizon."""
        parts = []
        for each in run.horizon_documents:
            ratio, slope, intercept = (estimate(each["performance"][key]) for key in _CALIBRATION)
            where = run.time_text(each["horizon"])
            parts.append(f"at {where}: expected over observed {ratio}, slope {slope}, intercept {intercept}")
        return f"Calibration {'; '.join(parts)}."

    def accuracy_figures(self, run: ReportedRun) -> str:
        """Brier score and its skill at every horizon."""
        return f"Brier score {_by_horizon(run, 'brier')}; Brier skill {_by_horizon(run, 'brier_skill')}."

    def case_mix(self, run: ReportedRun, validation: Document, cohort: Document) -> str:
        """Incidences by the last horizon."""
        here, there = (docs[-1]["performance"]["observed"] for docs in (run.horizon_documents, validation["horizons"]))
        return (
            f"The incidence of the event by {run.time_text(run.horizons[-1])} was {percent(here['estimate'])} in "
            f"development and {percent(there['estimate'])} in the validation."
        )

    def expected(self, run: ReportedRun, validation: Document) -> str:
        """Ratio of the incidences: whoever is censored has a risk, but no event that was observed."""
        last = validation["horizons"][-1]
        found = last["performance"]
        return (
            f"the incidence by {run.time_text(last['horizon'])} was {percent(found['observed']['estimate'])}, expected "
            f"over observed {estimate(found['expected_observed'])}"
        )

    def by_last(self, run: ReportedRun, validation: Document) -> str:
        return f" by {run.time_text(validation['horizons'][-1]['horizon'])}"


def _bounded(found: Document, name: str) -> str:
    return with_bounds(found[name], (found.get("intervals") or {}).get(name))


def _by_horizon(run: ReportedRun, name: str) -> str:
    return listed(
        [f"{_bounded(doc['performance'], name)} at {run.time_text(doc['horizon'])}" for doc in run.horizon_documents]
    )


OutcomeWords: TypeAlias = Labels | EventTimes
"""Words for a kind of outcome; both have the same names."""

_WORDS: dict[type[Outcome], OutcomeWords] = {Binary: Labels(), TimeToEvent: EventTimes()}


def read_words(outcome: Document) -> tuple[OutcomeWords, Rows]:
    """Words for the outcome of a cohort's document, and for its rows."""
    target, row = read_kind(outcome)
    return _WORDS[target], _ROWS[row]


def times_of(outcome: Document) -> Sequence[float]:
    """Horizons of a cohort's document: of event times, or of visits; none for a binary outcome of patients."""
    return outcome.get("horizons") or [outcome[key] for key in ("horizon",) if key in outcome]
