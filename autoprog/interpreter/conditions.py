"""Candidate conditions on features, and the patients who satisfy them.

Cuts of a set of values: near given quantiles, at readable numbers.

u_1 < .. < u_K   distinct observed values                        (K,)
F_k              share of patients with a value below u_k         (K,)
c                a cut: a value x lies above it when x >= c
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Feature
from autoprog.interpreter.rules import Condition, Operator, Rule


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """Cut-offs of one measurement."""

    term: str
    names: tuple[str, ...]  # column names in lower case, letters and digits only
    # Unit as `_plain_unit` writes it, and ascending cut-offs; a value at a cut-off is above it.
    cuts: tuple[tuple[str, tuple[float, ...]], ...]
    source: str


_FIVE_YEARS = tuple(float(years) for years in range(5, 100, 5))
_SOFA = "SOFA score; Vincent et al. 1996, Intensive Care Medicine 22:707"
_NEWS2 = "NEWS2; Royal College of Physicians 2017"
_NCEP = "NCEP ATP III 2001, JAMA 285:2486"
_ADA = "American Diabetes Association, Standards of Care 2024, Diabetes Care 47:S20"
_ACC_AHA = "ACC/AHA 2017, Hypertension 71:e13; from 160/100 on JNC 7, 2003, JAMA 289:2560"
_CHILD_PUGH = "Pugh et al. 1973, British Journal of Surgery 60:646"

# Rules that cut here speak the language of guidelines. Cut-offs that differ by sex are all listed.
# fmt: off
TABLE = (
    Cutoffs("age", ("age", "ageyears", "ageatdiagnosis", "ageatentry"), (("years", _FIVE_YEARS),),
            "five-year groups; United Nations 1982, Standard International Age Classifications"),
    Cutoffs("body mass index", ("bmi", "bodymassindex"), (("kg/m2", (18.5, 25, 30, 35, 40)),),
            "WHO 2000, Technical Report 894"),
    Cutoffs("waist", ("waist", "waistcircumference"), (("cm", (80, 88, 94, 102)),),
            "WHO 2008, Waist Circumference and Waist-Hip Ratio"),
    Cutoffs("systolic blood pressure",
            ("sbp", "sysbp", "systolic", "systolicbp", "systolicbloodpressure", "trestbps", "aphi"),
            (("mmhg", (120, 130, 140, 160, 180)),), _ACC_AHA),
    Cutoffs("diastolic blood pressure", ("dbp", "diabp", "diastolic", "diastolicbp", "diastolicbloodpressure", "aplo"),
            (("mmhg", (80, 90, 100, 120)),), _ACC_AHA),
    Cutoffs("resting heart rate", ("heartrate", "hr", "pulse", "pulserate"), (("1/min", (60, 100)),),
            "bradycardia and tachycardia; Kusumoto et al. 2019, Circulation 140:e382"),
    Cutoffs("respiratory rate", ("respiratoryrate", "resprate", "rr"), (("1/min", (9, 12, 21, 25)),), _NEWS2),
    Cutoffs("oxygen saturation", ("spo2", "oxygensaturation", "sao2"), (("%", (92, 94, 96)),), _NEWS2),
    Cutoffs("temperature", ("temperature", "temp", "bodytemperature"), (("c", (35.1, 36.1, 38.1, 39.1)),), _NEWS2),
    Cutoffs("fasting glucose", ("fastingglucose", "fpg", "fastingplasmaglucose", "fastingbloodsugar"),
            (("mg/dl", (100, 126)), ("mmol/l", (5.6, 7.0))), _ADA),
    Cutoffs("glucose two hours after a load", ("ogtt", "twohourglucose", "2hglucose", "glucose2h"),
            (("mg/dl", (140, 200)), ("mmol/l", (7.8, 11.1))), _ADA),
    Cutoffs("glucose, fasting or not", ("glucose", "bloodglucose", "plasmaglucose", "glu"),
            (("mg/dl", (100, 126, 140, 200)), ("mmol/l", (5.6, 7.0, 7.8, 11.1))), _ADA),
    Cutoffs("glycated haemoglobin", ("hba1c", "a1c", "glycatedhaemoglobin", "glycatedhemoglobin"),
            (("%", (5.7, 6.5)), ("mmol/mol", (39, 48))), _ADA),
    Cutoffs("total cholesterol", ("chol", "totchol", "totalcholesterol", "cholesterol"),
            (("mg/dl", (200, 240)), ("mmol/l", (5.2, 6.2))), _NCEP),
    Cutoffs("LDL cholesterol", ("ldl", "ldlc", "ldlcholesterol"),
            (("mg/dl", (100, 130, 160, 190)), ("mmol/l", (2.6, 3.4, 4.1, 4.9))), _NCEP),
    Cutoffs("HDL cholesterol", ("hdl", "hdlc", "hdlcholesterol"), (("mg/dl", (40, 60)), ("mmol/l", (1.0, 1.6))), _NCEP),
    Cutoffs("triglycerides", ("triglycerides", "trig", "tg"),
            (("mg/dl", (150, 200, 500)), ("mmol/l", (1.7, 2.3, 5.6))), _NCEP),
    Cutoffs("creatinine", ("creatinine", "creat", "serumcreatinine", "scr"),
            (("mg/dl", (1.2, 2.0, 3.5, 5.0)), ("umol/l", (110, 171, 300, 440))), _SOFA),
    Cutoffs("glomerular filtration rate", ("egfr", "gfr"), (("ml/min/1.73m2", (15, 30, 45, 60, 90)),),
            "KDIGO 2012, Kidney International Supplements 3:1"),
    Cutoffs("urea", ("urea", "serumurea"), (("mmol/l", (7,)),), "CURB-65; Lim et al. 2003, Thorax 58:377"),
    Cutoffs("bilirubin", ("bilirubin", "bili", "totalbilirubin"),
            (("mg/dl", (1.2, 2.0, 6.0, 12.0)), ("umol/l", (20, 33, 102, 204))), _SOFA),
    Cutoffs("albumin", ("albumin", "serumalbumin"), (("g/dl", (2.8, 3.5)), ("g/l", (28, 35))), _CHILD_PUGH),
    Cutoffs("haemoglobin", ("haemoglobin", "hemoglobin", "hb", "hgb", "hemo"),
            (("g/dl", (8, 11, 12, 13)), ("g/l", (80, 110, 120, 130))), "WHO 2011, VMNIS/MNM/11.1"),
    Cutoffs("platelets", ("platelets", "platelet", "plateletcount"),
            (("10^9/l", (20, 50, 100, 150)), ("10^3/ul", (20, 50, 100, 150))), _SOFA),
    Cutoffs("white cells", ("wbc", "leukocytes", "leucocytes", "whitecellcount", "whitebloodcells"),
            (("10^9/l", (4, 12)), ("10^3/ul", (4, 12))), "SIRS; Bone et al. 1992, Chest 101:1644"),
    Cutoffs("sodium", ("sodium", "na", "serumsodium"),
            (("mmol/l", (125, 130, 135)), ("meq/l", (125, 130, 135))),
            "Spasovski et al. 2014, European Journal of Endocrinology 170:G1"),
    Cutoffs("potassium", ("potassium", "k", "serumpotassium"),
            (("mmol/l", (3.5, 5.0, 6.0, 6.5)), ("meq/l", (3.5, 5.0, 6.0, 6.5))),
            "KDIGO; Clase et al. 2020, Kidney International 97:42"),
    Cutoffs("lactate", ("lactate", "serumlactate"), (("mmol/l", (2, 4)),),
            "Levy, Evans & Rhodes 2018, Critical Care Medicine 46:997"),
    Cutoffs("C-reactive protein", ("crp", "hscrp", "creactiveprotein"), (("mg/l", (1, 3, 10)),),
            "AHA/CDC; Pearson et al. 2003, Circulation 107:499"),
    Cutoffs("natriuretic peptide BNP", ("bnp",), (("pg/ml", (35, 100)),),
            "ESC; McDonagh et al. 2021, European Heart Journal 42:3599"),
    Cutoffs("natriuretic peptide NT-proBNP", ("ntprobnp",), (("pg/ml", (125, 300)),),
            "ESC; McDonagh et al. 2021, European Heart Journal 42:3599"),
    Cutoffs("ejection fraction", ("ef", "lvef", "ejectionfraction"), (("%", (35, 40, 50)),),
            "ESC; McDonagh et al. 2021, European Heart Journal 42:3599"),
    Cutoffs("ST depression in exercise", ("oldpeak", "stdepression"), (("mm", (1, 2)),),
            "ACC/AHA; Gibbons et al. 2002, Circulation 106:1883"),
    Cutoffs("prostate-specific antigen", ("psa",), (("ng/ml", (10, 20)),), "D'Amico et al. 1998, JAMA 280:969"),
    Cutoffs("cigarettes a day", ("cigsperday", "cigarettesperday"), (("1/day", (1, 11, 21, 31)),),
            "Heatherton et al. 1991, British Journal of Addiction 86:1119"),
    Cutoffs("gestational age", ("gestationalage", "gestation"), (("weeks", (28, 32, 37)),), "WHO 2012, Born Too Soon"),
    Cutoffs("birth weight", ("birthweight",), (("g", (1000, 1500, 2500)),), "WHO, ICD-10 P07"),
)
# fmt: on

_SPELLINGS = {
    "year": "years", "yr": "years", "yrs": "years", "y": "years", "week": "weeks", "wk": "weeks",
    "bpm": "1/min", "/min": "1/min", "beats/min": "1/min", "breaths/min": "1/min", "/day": "1/day",
    "percent": "%", "celsius": "c", "degc": "c", "mcmol/l": "umol/l", "mcg/l": "ug/l",
    "k/ul": "10^3/ul", "10e9/l": "10^9/l", "10e3/ul": "10^3/ul", "mm[hg]": "mmhg",
}  # fmt: skip

_CHARACTERS = str.maketrans({"µ": "u", "μ": "u", "²": "2", "³": "3", "⁹": "9"})

# Features of a window of visits that share the measurement's cut-offs; a change has its unit, but no cut-off.
_OF_WINDOW = re.compile(r" \((last|mean|minimum|maximum)\)$")

_BY_NAME = MappingProxyType({name: cutoffs for cutoffs in TABLE for name in cutoffs.names})


def clinical_cutoffs(feature: Feature) -> tuple[float, ...]:
    """Look up a column's clinical cut-offs, ascending; empty if the table has none or the unit is unknown."""
    name = _OF_WINDOW.sub("", feature.name.lower())
    cutoffs = _BY_NAME.get(re.sub(r"[^a-z0-9]", "", name))
    # Without a unit 7 may be mmol/L or mg/dL.
    if cutoffs is None or feature.unit is None:
        return ()
    return dict(cutoffs.cuts).get(_plain_unit(feature.unit), ())


def _plain_unit(unit: str) -> str:
    """Normalise a unit: `mm Hg` to `mmhg`, `kg/m²` to `kg/m2`, `µmol/L` to `umol/l`."""
    plain = re.sub(r"[\s°]", "", unit).lower().translate(_CHARACTERS)
    plain = plain.replace("m^2", "m2").replace("x10", "10").replace("×10", "10")
    plain = re.sub(r"\b10(?=[39]/)", "10^", plain)
    return _SPELLINGS.get(plain, plain)


_MAX_DIGITS = 17  # digits of a float64
_LARGEST_EXPONENT = 308


def cuts_near(values: NDArray[np.floating], fractions: Sequence[float], tolerance: float) -> list[float]:
    """Find distinct ascending cuts with about these fractions of the values below; none if all values are equal."""
    u, counts = np.unique(values, return_counts=True)
    if len(u) < 2:
        return []
    F = np.cumsum(counts)[:-1] / len(values)  # share below u_2, .., u_K
    cuts = set()
    for fraction in fractions:
        off = np.abs(F - fraction)
        # Tied values stay on one side, so the nearest cut may lie beyond the tolerance.
        near = np.flatnonzero(off <= max(tolerance, off.min()))
        cuts.add(readable_cut(float(u[near[0]]), float(u[near[-1] + 1])))
    return sorted(cuts)


def readable_cut(below: float, above: float) -> float:
    """The number c with the fewest digits and below < c <= above; of several, the nearest to the middle."""
    middle = below / 2 + above / 2
    coarsest = min(ceil(log10(max(abs(below), abs(above)))), _LARGEST_EXPONENT)
    for exponent in range(coarsest, coarsest - _MAX_DIGITS, -1):
        step = 10.0**exponent
        if step == 0.0:
            break
        multiples = {floor(middle / step), ceil(middle / step), floor(above / step)}
        candidates = [c for m in multiples if below < (c := round(m * step, max(0, -exponent))) <= above]
        if candidates:
            return min(candidates, key=lambda c: (abs(c - middle), c))
    return above  # rounding errors leave no shorter number between the two


QUARTILES = (0.25, 0.5, 0.75)
VENTILES = tuple(k / 20 for k in range(1, 20))
_TOLERANCE = 0.1  # allowed deviation of a cut for readability, relative to the distance of two fractions

_COMPARE: dict[Operator, Callable[[NDArray[np.float64], float], NDArray[np.bool_]]] = {
    ">=": np.greater_equal,
    "<": np.less,
    "=": np.equal,
}


def candidate_conditions(
    feature: Feature, values: NDArray[np.float64], fractions: Sequence[float]
) -> Iterator[Condition]:
    """Yield the conditions on one feature: both sides of each cut, or equality with each level."""
    if feature.kind in {"binary", "categorical"}:
        yield from (Condition(feature.name, "=", level) for level in feature.levels)
        return
    for cut in _cuts(feature, values[~np.isnan(values)], fractions):
        bound = cut if feature.kind == "numeric" else feature.levels[int(np.ceil(cut))]
        yield Condition(feature.name, ">=", bound)
        yield Condition(feature.name, "<", bound)


def _cuts(feature: Feature, observed: NDArray[np.float64], fractions: Sequence[float]) -> list[float]:
    if len(observed) and feature.kind == "numeric":
        smallest, largest = observed.min(), observed.max()
        # Clinical cut-offs replace quantiles if any lies within the values.
        clinical = [cut for cut in clinical_cutoffs(feature) if smallest < cut <= largest]
        if clinical:
            return clinical
    return cuts_near(observed, fractions, _TOLERANCE * fractions[0])


def satisfies(condition: Condition, feature: Feature, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the patients who satisfy a condition, shape = (n_patients,); a missing value never does."""
    value = condition.value
    bound = float(feature.levels.index(value)) if isinstance(value, str) else value
    return _COMPARE[condition.operator](values, bound)


def all_satisfied(
    conditions: Sequence[Condition], features: Sequence[Feature], X: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Mask of the patients who satisfy all conditions, shape = (n_patients,)."""
    columns = {feature.name: (feature, X[:, j]) for j, feature in enumerate(features)}
    satisfied = np.ones(len(X), dtype=np.bool_)
    for condition in conditions:
        satisfied &= satisfies(condition, *columns[condition.feature])
    return satisfied


def matching(rule: Rule, features: Sequence[Feature], X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mask of the patients who satisfy all conditions of a rule, shape = (n_patients,)."""
    return all_satisfied(rule.conditions, features, X)
