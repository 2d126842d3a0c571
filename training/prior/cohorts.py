"""The cohorts that have pools of evaluated configurations: those that the optimizers are compared on, and those that
only teach the others, and the prior that autoprog is shipped with.

Those on which logistic regression leaves nothing to find (chronic kidney disease, breast cancer cytology) are not
among the first. Two copies of one study are one family: what is learnt for a cohort is never learnt from its family.
"""

from __future__ import annotations

import csv
import gzip
import io
from dataclasses import dataclass, replace
from pathlib import Path

from autoprog.cohort import Cohort, parse_spec, read_cohort
from autoprog.evaluation import Plan

# Patients are sampled to this many, or to as many as hold so many of the rarer outcome.
MIN_PATIENTS, MIN_EVENTS, MAX_PATIENTS = 600, 60, 1_500
FOLDS, SEED = 5, 0


@dataclass(frozen=True)
class Source:
    """Where a cohort lies and what its outcome is.

    Attributes
    ----------
    file : str
        Name of the gzipped CSV file, without its ending.
    family : str
        Study that it comes from.
    within : float or None
        Of a time-to-event file: the outcome is an event up to this time; patients censored before it are left out.
    ignore : tuple of str
        Columns that were not known at the beginning, or hold hundreds of codes, or tell who was followed for long.
    has_times : bool
        Whether times are the outcome.
    competing : tuple of int
        Of a time-to-event file whose times are the outcome: codes of competing events.
    """

    file: str
    family: str
    within: float | None = None
    ignore: tuple[str, ...] = ()
    has_times: bool = False
    competing: tuple[int, ...] = ()


COHORTS = {
    "birthwt": Source("birthwt", "birthwt"),
    "cardio": Source("cardio70k", "cardio"),
    "diabetes": Source("diabetes_readmit_5k", "diabetes", ignore=("diag_1", "diag_2", "diag_3")),
    "dialysis": Source("dialysis", "dialysis", within=12.0, ignore=("begin",)),
    "framingham": Source("framingham_chd", "framingham"),
    "gbsg2": Source("gbsg2", "gbsg2", within=730.0),
    "heart_cleveland": Source("heart_cleveland", "heart"),
    "heart_uci4": Source("heart_uci4", "heart"),
    "hepatitis": Source("hepatitis", "hepatitis"),
    "ilpd": Source("ilpd", "ilpd"),
    "metabric": Source("metabric", "metabric", within=120.0),
    "pbc": Source("pbc_cr", "pbc", within=1_825.0),
    "pima": Source("pima", "pima"),
    "pima_missing": Source("pima_missing", "pima"),
    "stroke": Source("stroke", "stroke"),
    "whas500": Source("whas500", "whas500", within=365.0, ignore=("los",)),
}

TEACHERS = {
    "actg320": Source("actg320", "actg320", within=300.0),
    "aids2": Source("aids2", "aids2", within=365.0, ignore=("diag",)),
    "bmt137": Source("bmt137", "bmt", within=365.0),
    "colon": Source("colon", "colon", within=1_825.0),
    "flchain": Source("flchain", "flchain", within=3_650.0, ignore=("sample_yr",)),
    "lung": Source("lung", "lung", within=365.0),
    "mgus2": Source("mgus2", "mgus2", within=60.0),
    "veteran": Source("veteran", "veteran", within=90.0),
    "actg320_times": Source("actg320", "actg320", has_times=True),
    "bmt137_times": Source("bmt137", "bmt", has_times=True, competing=(2,)),
    "colon_times": Source("colon", "colon", has_times=True),
    "flchain_times": Source("flchain", "flchain", has_times=True),
    "framingham_times": Source("framingham_cr", "framingham", has_times=True, competing=(2,)),
    "gbsg2_times": Source("gbsg2", "gbsg2", has_times=True),
    "lung_times": Source("lung", "lung", has_times=True),
    "metabric_times": Source("metabric", "metabric", has_times=True),
    "mgus2_times": Source("mgus2", "mgus2", has_times=True, competing=(2,)),
    "pbc_times": Source("pbc_cr", "pbc", has_times=True, competing=(2,)),
    "veteran_times": Source("veteran", "veteran", has_times=True),
    "whas500_times": Source("whas500", "whas500", ignore=("los",), has_times=True),
}

ALL = COHORTS | TEACHERS

# Part of another cohort of the table, or its patients with other cells missing: as evidence they would count twice.
COPIES = frozenset({"heart_cleveland", "pima"})


def family_of(cohort: str) -> str:
    """The study that a cohort comes from; a synthetic one is its own."""
    return ALL[cohort].family if cohort in ALL else cohort


def load(name: str, folder: Path) -> tuple[Cohort, Plan]:
    """The cohort, sampled, and how its configurations are evaluated.

    Parameters
    ----------
    name : str
        Key of `ALL`.
    folder : Path
        Holds the files.

    Returns
    -------
    cohort : Cohort
        The patients that evaluations are made on.
    plan : Plan
        Five folds; AUC-ROC or, of event times, Uno's concordance.
    """
    if ALL[name].has_times:
        return _with_times(name, folder)
    cohort, size = whole(name, folder)
    return Plan("auc_roc", FOLDS, 1, SEED, patients=size).sample(cohort), Plan("auc_roc", FOLDS, 1, SEED)


def whole(name: str, folder: Path) -> tuple[Cohort, int]:
    """All patients of a cohort, and how many of them evaluations are made on, if there are so many.

    Parameters
    ----------
    name : str
        Key of `ALL`, without times.
    folder : Path
        Holds the files.

    Returns
    -------
    cohort : Cohort
        Everybody.
    size : int
        Enough for the rarer outcome to be seen.
    """
    source = ALL[name]
    content = (folder / f"{source.file}.csv.gz").read_bytes()
    if source.within is not None:
        content = _by_time(content, source.within)
    document = {"name": name, "outcome": {"column": "outcome", "positive": 1}, "ignore": list(source.ignore)}
    cohort = read_cohort(content, parse_spec(document)).cohort
    rarer = min(cohort.y.mean(), 1 - cohort.y.mean())
    return cohort, min(MAX_PATIENTS, max(MIN_PATIENTS, round(MIN_EVENTS / rarer)))


def _with_times(name: str, folder: Path) -> tuple[Cohort, Plan]:
    source = ALL[name]
    outcome = {"time": "time", "event": "event", "event_of_interest": 1, "competing": list(source.competing)}
    document = {"name": name, "mode": "survival", "outcome": outcome, "ignore": list(source.ignore)}
    cohort = read_cohort((folder / f"{source.file}.csv.gz").read_bytes(), parse_spec(document)).cohort
    plan = Plan("uno_c", FOLDS, 1, SEED, patients=min(cohort.n_patients, MAX_PATIENTS), times=cohort.time_grid)
    return plan.sample(cohort), replace(plan, patients=None)


def _by_time(content: bytes, within: float) -> bytes:
    """Replace time and event by the outcome."""
    with gzip.open(io.BytesIO(content), "rt", newline="") as text:
        rows = list(csv.DictReader(text))
    target = io.StringIO()
    columns = [name for name in rows[0] if name not in {"time", "event"}]
    writer = csv.DictWriter(target, [*columns, "outcome"])
    writer.writeheader()
    for row in rows:
        time, event = float(row.pop("time")), row.pop("event") != "0"
        if event or time >= within:
            writer.writerow({**row, "outcome": int(event and time <= within)})
    return target.getvalue().encode()
