"""What comes in: the cohort, its features and its outcome; reading and checking files."""

from autoprog.cohort.alignment import align
from autoprog.cohort.canonical import canonical_text
from autoprog.cohort.cohort import Cohort, Mode
from autoprog.cohort.examples import cleveland
from autoprog.cohort.outcome import Binary
from autoprog.cohort.parquet import from_parquet, to_parquet
from autoprog.cohort.patients import EncodedPatients, encode_patients, read_patients
from autoprog.cohort.reading import Intake, read_cohort
from autoprog.cohort.sample_size import SampleSize, riley_minimum, sample_size
from autoprog.cohort.schema import Feature, FeatureKind
from autoprog.cohort.spec import BinaryOutcomeSpec, CohortSpec, FeatureSpec, parse_spec
from autoprog.cohort.table import ReadLimits

__all__ = [
    "Binary",
    "BinaryOutcomeSpec",
    "Cohort",
    "CohortSpec",
    "EncodedPatients",
    "Feature",
    "FeatureKind",
    "FeatureSpec",
    "Intake",
    "Mode",
    "ReadLimits",
    "SampleSize",
    "align",
    "canonical_text",
    "cleveland",
    "encode_patients",
    "from_parquet",
    "parse_spec",
    "read_cohort",
    "read_patients",
    "riley_minimum",
    "sample_size",
    "to_parquet",
]
