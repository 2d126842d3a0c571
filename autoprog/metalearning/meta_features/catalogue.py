"""The table of meta-features, with scales and references.

A meta-feature of scale `share` lies in [0, 1] and is compared as it is. One of scale `count` is at least 0, unbounded,
and compared by log1p. A cohort that lacks what is measured (no numeric column, no follow-up) has 0; landmarks have 0.5
where nothing can be learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Group = Literal["statistical", "clinical"]
Scale = Literal["share", "count"]


@dataclass(frozen=True, slots=True)
class MetaFeature:
    """One entry of the table."""

    name: str
    scale: Scale
    meaning: str  # the measured quantity, and its unit
    reference: str  # definition of it, or of its parts
    group: Group = "statistical"  # a clinical one depends on what a column means

    @property
    def range(self) -> str:
        """Range, in words."""
        return "0 to 1" if self.scale == "share" else "0 and above"


_STATLOG = "Michie, Spiegelhalter & Taylor (1994), Machine Learning, Neural and Statistical Classification, ch. 7"
_MFE = "Rivolli et al. (2022), Knowl.-Based Syst. 240:108101"
_FEURER = "Feurer et al. (2015), NIPS 28, supplement, table 1"
_RILEY = "Riley et al. (2020), BMJ 368:m441"
_RUBIN = "Little & Rubin, Statistical Analysis with Missing Data, 2nd ed. 2002, ch. 1"
_TUKEY = "Tukey (1977), Exploratory Data Analysis, ch. 2"
_BRETHERTON = "Bretherton et al. (1999), J. Climate 12:1990-2009"
_CASTIELLO = "Castiello, Castellano & Fanelli (2005), MDAI; bias: Miller (1955)"
_LANDMARKS = "Pfahringer, Bensusan & Giraud-Carrier (2000), ICML; Feurer et al. (2015), NIPS 28"
_PSCP = "Alaa & van der Schaar (2018), ICML, section 4.1; the groups are ours"
_SCHEMPER = "Schemper & Smith (1996), Control. Clin. Trials 17:343-346"

_SIZES = (
    MetaFeature("n_patients", "count", "patients with a known outcome", _STATLOG),
    MetaFeature("n_features", "count", "features", _STATLOG),
    MetaFeature("n_columns", "count", "columns of the design matrix, dummies counted", _FEURER),
    MetaFeature("patients_per_column", "count", "patients per column of the design matrix", _FEURER),
    MetaFeature("numeric_share", "share", "numeric features, of all", _STATLOG),
    MetaFeature("binary_share", "share", "features of two levels, of all", _STATLOG),
    MetaFeature("categorical_share", "share", "features of unordered levels, of all", _STATLOG),
    MetaFeature("ordinal_share", "share", "features of ordered levels, of all", _STATLOG),
    MetaFeature("levels_mean", "count", "mean number of levels, of features that have levels", _FEURER),
    MetaFeature("levels_max", "count", "largest number of levels", _FEURER),
    MetaFeature("rare_level_share", "share", "levels that fewer than 1 % of the patients have, of all levels", _MFE),
)
_OUTCOME = (
    MetaFeature("event_rate", "share", "patients with the outcome; with the event of interest observed", _STATLOG),
    MetaFeature("minority_share", "share", "patients of the rarer outcome; at most 0.5", _FEURER),
    MetaFeature("outcome_entropy", "share", "entropy of the outcome, in bits", _STATLOG),
    MetaFeature("events_per_column", "count", "patients of the rarer outcome per column of the design matrix", _RILEY),
)
_MISSINGNESS = (
    MetaFeature("missing_share", "share", "missing cells, of all", _FEURER),
    MetaFeature("incomplete_feature_share", "share", "features with a missing cell, of all", _FEURER),
    MetaFeature("complete_patient_share", "share", "patients without a missing cell", _FEURER),
    MetaFeature("missing_max", "share", "missing cells of the feature that lacks most", _MFE),
    MetaFeature(
        "missing_informative", "share", "largest absolute phi coefficient of being missing and the outcome", _RUBIN
    ),
)
_MOMENTS = (
    MetaFeature("skewness_mean", "count", "mean absolute skewness of the numeric features", _STATLOG),
    MetaFeature("skewness_max", "count", "largest absolute skewness", _FEURER),
    MetaFeature("kurtosis_mean", "count", "mean kurtosis of the numeric features; 3 where they are normal", _STATLOG),
    MetaFeature("kurtosis_max", "count", "largest kurtosis", _FEURER),
    MetaFeature("outlier_share", "share", "numeric cells beyond 1.5 interquartile ranges of the quartiles", _TUKEY),
    MetaFeature("zero_share", "share", "numeric cells that are exactly 0", _MFE),
    MetaFeature("distinct_share", "share", "distinct values an observed cell, mean over numeric features", _MFE),
)
_CORRELATION = (
    MetaFeature("correlation_mean", "share", "mean absolute correlation of two features", _STATLOG),
    MetaFeature("correlation_max", "share", "largest absolute correlation of two features", _MFE),
    MetaFeature("correlated_share", "share", "pairs of features with an absolute correlation above 0.5", _MFE),
    MetaFeature(
        "effective_dimension", "share", "p / sum of the squared correlations: 1 where none, 1/p where all", _BRETHERTON
    ),
    MetaFeature("components_95", "share", "principal components that hold 95 % of the variance, of all", _FEURER),
)
_INFORMATION = (
    MetaFeature("feature_entropy", "share", "mean entropy of a feature, of the most it could have", _CASTIELLO),
    MetaFeature(
        "mutual_information_mean", "share", "mean information of a feature on the outcome, of the entropy", _CASTIELLO
    ),
    MetaFeature("mutual_information_max", "share", "largest information of a feature on the outcome", _CASTIELLO),
    MetaFeature("informative_share", "share", "features that depend on the outcome by a G test at 0.01", _MFE),
)
_LANDMARK = (
    MetaFeature("landmark_stump", "share", "area under the ROC curve of a tree of one split", _LANDMARKS),
    MetaFeature("landmark_naive_bayes", "share", "area under the ROC curve of Gaussian naive Bayes", _LANDMARKS),
    MetaFeature("landmark_nearest_neighbour", "share", "area under the ROC curve of the nearest neighbour", _LANDMARKS),
    MetaFeature("landmark_linear", "share", "area under the ROC curve of a ridge regression", _LANDMARKS),
)


def _clinical(name: str, scale: Scale, meaning: str, reference: str = _PSCP) -> MetaFeature:
    return MetaFeature(name, scale, meaning, reference, "clinical")


_CLINICAL = (
    _clinical("demographics_share", "share", "features on who the patient is: age, sex, origin, education, work"),
    _clinical("vitals_share", "share", "vital signs, body measures and findings of the physical examination"),
    _clinical("laboratory_share", "share", "measurements in blood, urine and other samples"),
    _clinical("medication_share", "share", "drugs that the patient takes, and doses"),
    _clinical("diagnosis_share", "share", "diagnosis codes; kind, stage, grade and extent of the disease"),
    _clinical("procedures_share", "share", "operations, function tests, admissions and stays"),
    _clinical("imaging_share", "share", "imaging, electrocardiogram and other recordings"),
    _clinical("genetics_share", "share", "variants, gene expression and pedigree"),
    _clinical("questionnaires_share", "share", "what patients report: symptoms, habits, function and quality of life"),
    _clinical("comorbidity_share", "share", "other diseases, earlier events and scores of them"),
    _clinical("treatment_share", "share", "treatment that was assigned: arm, randomisation, therapy of the disease"),
    _clinical("visits_per_patient", "count", "mean number of visits; 0 without visits"),
    _clinical("follow_up_days", "count", "median time under observation, in days, by reverse Kaplan-Meier", _SCHEMPER),
    _clinical("censored_share", "share", "patients whose observation ended without an event", _SCHEMPER),
    _clinical(
        "competing_share", "share", "patients with a competing event", "Fine & Gray (1999), J. Am. Stat. Assoc. 94:496"
    ),
)

META_FEATURES: tuple[MetaFeature, ...] = (
    *_SIZES, *_OUTCOME, *_MISSINGNESS, *_MOMENTS, *_CORRELATION, *_INFORMATION, *_LANDMARK, *_CLINICAL,
)  # fmt: skip
"""All 55 in the order of arrays: 40 statistical, then 15 clinical."""

STATISTICAL = tuple(m.name for m in META_FEATURES if m.group == "statistical")
"""Those that do not depend on what columns mean."""

# Without events_per_column: earlier versions counted visits, and their statistics are still compared.
COUNTED = tuple(m.name for m in (*_SIZES, *_OUTCOME, *_MISSINGNESS) if m.name != "events_per_column")
"""Those that count all rows: their order does not matter, nor do the names of columns."""

COUNTED_IN_SAMPLE = tuple(m.name for m in _INFORMATION)
"""Those that count the rows of the sample."""
