"""Learning from earlier cohorts."""

from autoprog.metalearning.cohort_statistics import AlgorithmGain, CohortStatistics, TriedConfiguration
from autoprog.metalearning.meta_features import (
    META_FEATURES,
    ClinicalGroup,
    MetaFeatures,
    Recognition,
    clinical_groups,
    describe_cohort,
    group_notes,
    meta_features,
)
from autoprog.metalearning.outlook import Expectation, NearCohort, Outlook, outlook
from autoprog.metalearning.prior import CalibratedPrior, calibrated_prior, comparable_statistics
from autoprog.metalearning.search_statistics import learn_statistics
from autoprog.metalearning.shipped import (
    OpenCohort,
    open_cohorts,
    plain_names,
    shipped_statistics,
    write_open_cohorts,
)
from autoprog.metalearning.similarity import Similarity, similarity
from autoprog.metalearning.warm_start import greedy_portfolio, reference_pipelines, warm_start

__all__ = [
    "META_FEATURES",
    "AlgorithmGain",
    "CalibratedPrior",
    "ClinicalGroup",
    "CohortStatistics",
    "Expectation",
    "MetaFeatures",
    "NearCohort",
    "OpenCohort",
    "Outlook",
    "Recognition",
    "Similarity",
    "TriedConfiguration",
    "calibrated_prior",
    "clinical_groups",
    "comparable_statistics",
    "describe_cohort",
    "greedy_portfolio",
    "group_notes",
    "learn_statistics",
    "meta_features",
    "open_cohorts",
    "outlook",
    "plain_names",
    "reference_pipelines",
    "shipped_statistics",
    "similarity",
    "warm_start",
    "write_open_cohorts",
]
