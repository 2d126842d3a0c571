"""One search as the report sees it: its stored documents, and the facts that several sections ask of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from autoprog.endpoints import list_parts
from autoprog.report.kinds import OutcomeWords, Rows, read_words, times_of
from autoprog.report.phrases import listed, number, plural, quoted
from autoprog.validation import MIN_MISSING

Document = Mapping[str, Any]


@dataclass(frozen=True)
class ReportedRun:
    """Documents of a finished search, as the API shows them.

    Attributes
    ----------
    cohort : mapping
        `GET /v1/cohorts/{cohort_id}`.
    search : mapping
        `GET /v1/searches/{search_id}`.
    ensemble, rules : mapping
        Those of the search.
    evaluations : sequence of mapping
        Evaluations, best first; the best ones suffice.
    validation, validation_cohort : mapping or None
        A validation of the model and the cohort that it used; None in a report of the development alone.
    updated : mapping or None
        The model that was validated, if it is a later version than the search's: `id`, `version`, `created_at`,
        `recalibration`, and `cohort`, the name of the cohort that it was recalibrated to, None once that is deleted.
    explanation : mapping or None
        The result of `GET /v1/searches/{search_id}/explanation`; None if nobody has asked for it.
    """

    cohort: Document
    search: Document
    ensemble: Document
    rules: Document
    evaluations: Sequence[Document] = ()
    validation: Document | None = None
    validation_cohort: Document | None = None
    updated: Document | None = None
    explanation: Document | None = None

    @property
    def is_apparent(self) -> bool:
        """Whether the model was fitted on the patients of the validation."""
        return self.validation is not None and bool(self.validation.get("is_training_cohort"))

    @property
    def external(self) -> Document | None:
        """The validation, if its patients are others."""
        return None if self.is_apparent else self.validation

    @property
    def validated_patients(self) -> str:
        """The patients of the validation, in words."""
        if self.validation is None or not self.is_apparent:
            return "other patients"
        return "training patients" if self.validation["training_share"] == 1 else "training and other patients"

    @property
    def model_id(self) -> str | None:
        """Identifier of the model, or of the version that was validated; None once the model is deleted."""
        found: str | None = self.search["model_id"] if self.updated is None else self.updated["id"]
        return found

    @property
    def validated_model(self) -> str:
        """The model that was validated, as the subject of a sentence."""
        return "The model" if self.updated is None else f"Version {self.updated['version']} of the model"

    @cached_property
    def settings(self) -> Document:
        """Settings of the search."""
        found: Document = self.search["settings"]
        return found

    @cached_property
    def outcome(self) -> Document:
        """Outcome of the cohort."""
        found: Document = self.cohort["outcome"]
        return found

    @cached_property
    def kind(self) -> OutcomeWords:
        """Words for the kind of outcome."""
        return read_words(self.outcome)[0]

    @cached_property
    def words(self) -> Rows:
        """Words for rows."""
        return read_words(self.outcome)[1]

    @property
    def competing(self) -> Sequence[str]:
        """Competing causes, by their values in the file."""
        return self.outcome.get("competing") or ()

    @property
    def horizons(self) -> tuple[float, ...]:
        """Horizons of event times, or of visits; none for a binary outcome of patients."""
        return tuple(times_of(self.outcome))

    def with_unit(self, times: str) -> str:
        """Times with their unit: `5 years`, or `1,825 (unit of “time”)`."""
        unit = self.outcome.get("time_unit")
        column = self.outcome.get("time") or self.outcome.get("visit_time")
        return f"{times} {unit}" if unit else f"{times} (unit of {quoted(str(column))})"

    def time_text(self, time: float) -> str:
        """A time in the middle of a sentence, which names the unit if the author did."""
        return self.with_unit(number(time)) if self.outcome.get("time_unit") else number(time)

    @property
    def horizons_text(self) -> str:
        """Horizons with their unit."""
        return self.with_unit(listed([number(h) for h in self.horizons]))

    @cached_property
    def outcome_text(self) -> str:
        """The outcome as the author calls it, or as the file codes it."""
        label = self.outcome.get("label")
        if label:
            return str(label)
        return quoted(f"{self.outcome[self.kind.column]} = {self.outcome[self.kind.value]}")

    @property
    def outcome_with_horizon(self) -> str:
        """The outcome and the time within which it is predicted."""
        return f"{self.outcome_text}{self.words.until(self)}"

    @property
    def n_patients(self) -> int:
        """Number of patients with a known outcome; with weights, the sum of their weights."""
        return int(self.cohort["n_patients"])

    @property
    def n_sampled(self) -> int:
        """Number of patients with a known outcome, each counted once."""
        return int(self.cohort.get("n_sampled") or self.n_patients)

    @property
    def n_validated(self) -> int:
        """Number of patients of the validation, each counted once."""
        assert self.validation is not None  # noqa: S101  the caller has looked
        sampled = (self.validation_cohort or {}).get("n_sampled")
        return int(sampled or self.validation["n_patients"])

    @property
    def is_weighted(self) -> bool:
        """True if the cohort has weights."""
        return bool(self.cohort.get("n_sampled"))

    @property
    def n_rows(self) -> int:
        """Patients or visits that shares are of: rows of the file that were kept, with weights those they stand for."""
        return self.n_patients if self.is_weighted else int(self.cohort["n_rows"]) - int(self.cohort["n_dropped"])

    @property
    def n_dropped(self) -> int:
        """Rows of the file without a usable outcome."""
        return int(self.cohort["n_dropped"])

    @property
    def n_with_outcome(self) -> int:
        """Patients with the outcome; of labelled visits, visits."""
        return self.kind.n_with_outcome(self)

    @property
    def features(self) -> Sequence[Document]:
        """Candidate predictors."""
        found: Sequence[Document] = self.cohort["features"]
        return found

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Labels of the predictors by their names; a name where the spec gives no label."""
        return {f["name"]: f.get("label") or f["name"] for f in self.features}

    @cached_property
    def with_missing(self) -> tuple[Document, ...]:
        """Predictors with missing values, most of them first."""
        missing = [f for f in self.features if f["missing_fraction"] > 0]
        return tuple(sorted(missing, key=lambda f: -f["missing_fraction"]))

    @cached_property
    def often_missing(self) -> tuple[Document, ...]:
        """Predictors that enough patients lacked for the pipelines to learn what their absence means."""
        return tuple(f for f in self.with_missing if round(f["missing_fraction"] * self.n_rows) >= MIN_MISSING)

    @property
    def members(self) -> Sequence[Document]:
        """Pipelines of the ensemble, the heaviest first."""
        found: Sequence[Document] = self.ensemble["members"]
        return found

    def member_algorithms(self, stage: str) -> dict[str, Document]:
        """Algorithms of a stage that the ensemble uses, each with its parameters in the heaviest such member."""
        found: dict[str, Document] = {}
        for member in self.members:
            step = member["configuration"][stage]
            found.setdefault(step["algorithm"], step["parameters"])
        return found

    @property
    def baseline(self) -> Document | None:
        """The simple pipeline."""
        return self.ensemble.get("baseline")

    @property
    def is_simple(self) -> bool:
        """Whether the model is the simple pipeline and nothing else."""
        if self.baseline is None or len(self.members) != 1:
            return False
        return bool(self.members[0]["configuration"] == self.baseline["configuration"])

    @property
    def horizon_documents(self) -> Sequence[Document]:
        """Performance by horizon; none without event times."""
        return self.ensemble.get("horizons") or ()

    @property
    def instability(self) -> Document | None:
        """Instability; for event times at the last horizon."""
        return list_parts(self.ensemble)[-1][1].get("instability")

    @property
    def subgroups(self) -> Sequence[Document]:
        """Performance by subgroup."""
        return self.ensemble.get("subgroups") or ()

    @cached_property
    def subgroup_features(self) -> tuple[str, ...]:
        """Features that define the subgroups."""
        return tuple(dict.fromkeys(self.labels.get(g["feature"], g["feature"]) for g in self.subgroups))

    @property
    def origin(self) -> Document:
        """How the search was run; empty in searches that ended before this was stored."""
        return self.ensemble.get("run") or {}

    @property
    def software(self) -> Mapping[str, str]:
        """Versions of the software; empty where `origin` is."""
        return self.origin.get("software") or {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the patients, the search and, if there is one, the validation."""
        of_validation = () if self.validation is None else self.validation["warnings"]
        return (*self.cohort["warnings"], *self.search["warnings"], *of_validation)

    @cached_property
    def begun(self) -> int:
        """Number of evaluations that were begun."""
        counts = self.search["progress"]["evaluations"]
        return int(counts["succeeded"] + counts["failed"])

    @property
    def has_choice(self) -> bool:
        """True if several pipelines were scored, so that the model was chosen among them."""
        return int(self.search["progress"]["evaluations"]["succeeded"]) > 1

    @property
    def unit(self) -> str:
        """What folds and intervals take as a whole: a patient, or a group of patients."""
        return self.words.unit(self)

    @property
    def unsplit(self) -> str | None:
        """Sentence on rows that stay in one fold; None if rows are independent."""
        return self.words.unsplit(self)

    @property
    def sample_size(self) -> Document:
        """Whether the cohort is large enough."""
        found: Document = self.cohort["sample_size"]
        return found

    @property
    def rows_text(self) -> str:
        """Number of patients, and of visits if a row is one, or of those whom the patients stand for."""
        if self.is_weighted:
            return f"{plural(self.n_sampled, 'patient')} who stand for {self.n_patients:,}"
        return f"{plural(self.n_patients, 'patient')}{self.words.with_visits(self.n_rows)}"

    @cached_property
    def kinds_of_features(self) -> str:
        """Number of predictors of each kind, in words."""
        counts = Counter(f["kind"] for f in self.features)
        return listed([f"{n} {kind}" for kind, n in counts.items()])
