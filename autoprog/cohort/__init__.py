"""The input of AutoProg: the cohort, its features and its outcome; reading and checking files."""

from autoprog.cohort.alignment import align
from autoprog.cohort.canonical import canonical_text
from autoprog.cohort.checks import classified
from autoprog.cohort.cohort import Cohort
from autoprog.cohort.columns import (
    ColumnDescription,
    FileDescription,
    OutcomeGuess,
    describe_file,
    guess_censored,
    guess_outcome,
    guess_positive,
)
from autoprog.cohort.description import (
    MIN_COUNTED,
    CohortDescription,
    FeatureSummary,
    GroupSummary,
    NumberSummary,
    describe_by_outcome,
)
from autoprog.cohort.follow_up import FollowUpSummary, follow_up
from autoprog.cohort.grouped_folds import grouped_splits
from autoprog.cohort.identifiers import PatientIdentifiers
from autoprog.cohort.inference import cleveland
from autoprog.cohort.outcome import Binary, TimeToEvent, Visits, outcome_from_json, outcome_to_json
from autoprog.cohort.outcome_spec import BinaryOutcomeSpec, TimeToEventSpec, VisitEventSpec, VisitLabelSpec
from autoprog.cohort.parquet import from_parquet, to_parquet
from autoprog.cohort.patients import (
    EncodedPatients,
    encode_patients,
    read_named,
    read_patients,
)
from autoprog.cohort.reading import CohortReadResult, file_faults, read_cohort, reduce_cohort
from autoprog.cohort.removal import without_rows
from autoprog.cohort.sample_size import SampleSize, Verdict, riley_minimum, riley_minimum_of_times, sample_size
from autoprog.cohort.schema import Feature, FeatureKind
from autoprog.cohort.spec import CohortSpec, FeatureSpec, judge_spec, parse_spec
from autoprog.cohort.strata import event_strata, stratified_rows, stratified_sample
from autoprog.cohort.table import ReadLimits
from autoprog.cohort.target import Mode, Outcome, Target, units_differ
from autoprog.cohort.visit_histories import encode_visits
from autoprog.cohort.visits import EarlierVisits, VisitTable
from autoprog.cohort.windows import WindowSchema, windowed

__all__ = [
    "MIN_COUNTED",
    "Binary",
    "BinaryOutcomeSpec",
    "Cohort",
    "CohortDescription",
    "CohortReadResult",
    "CohortSpec",
    "ColumnDescription",
    "EarlierVisits",
    "EncodedPatients",
    "Feature",
    "FeatureKind",
    "FeatureSpec",
    "FeatureSummary",
    "FileDescription",
    "FollowUpSummary",
    "GroupSummary",
    "Mode",
    "NumberSummary",
    "Outcome",
    "OutcomeGuess",
    "PatientIdentifiers",
    "ReadLimits",
    "SampleSize",
    "Target",
    "TimeToEvent",
    "TimeToEventSpec",
    "Verdict",
    "VisitEventSpec",
    "VisitLabelSpec",
    "VisitTable",
    "Visits",
    "WindowSchema",
    "align",
    "canonical_text",
    "classified",
    "cleveland",
    "describe_by_outcome",
    "describe_file",
    "encode_patients",
    "encode_visits",
    "event_strata",
    "file_faults",
    "follow_up",
    "from_parquet",
    "grouped_splits",
    "guess_censored",
    "guess_outcome",
    "guess_positive",
    "judge_spec",
    "outcome_from_json",
    "outcome_to_json",
    "parse_spec",
    "read_cohort",
    "read_named",
    "read_patients",
    "reduce_cohort",
    "riley_minimum",
    "riley_minimum_of_times",
    "sample_size",
    "stratified_rows",
    "stratified_sample",
    "to_parquet",
    "units_differ",
    "windowed",
    "without_rows",
]
