"""Meta-features: a description of a cohort in 40 statistical and 15 clinical numbers."""

from autoprog.metalearning.meta_features.catalogue import META_FEATURES, MetaFeature
from autoprog.metalearning.meta_features.clinical_terms import ClinicalGroup
from autoprog.metalearning.meta_features.computation import MetaFeatures, describe, meta_features
from autoprog.metalearning.meta_features.outcome import ObservedTimes, days_per_unit
from autoprog.metalearning.meta_features.recognition import Recognition, clinical_groups, describe_cohort, group_notes

__all__ = [
    "META_FEATURES",
    "ClinicalGroup",
    "MetaFeature",
    "MetaFeatures",
    "ObservedTimes",
    "Recognition",
    "clinical_groups",
    "days_per_unit",
    "describe",
    "describe_cohort",
    "group_notes",
    "meta_features",
]
