"""Another cohort in the form that a model takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from autoprog.cohort import Cohort, Visits, align, windowed
from autoprog.cohort.follow_up import horizon_fault
from autoprog.endpoints import CauseRisks, Endpoint, make_endpoint
from autoprog.errors import Fault, InvalidInputError
from autoprog.evaluation import THRESHOLDS, get_outcomes
from autoprog.model.model import PrognosticModel, Table, build_prediction
from autoprog.space import time_grid

_POINTER = "/cohort_id"


@dataclass(frozen=True, eq=False)
class ExternalCohort:
    """Patients, or visits, with known outcomes and the model's features."""

    cohort: Cohort  # unchanged, but with the model's horizons if the outcome has a time
    X: NDArray[np.float64]  # the model's inputs in its order and coding, (n_rows, n_inputs)
    table: Table  # as `PrognosticModel.risks` takes it

    @property
    def windowed(self) -> NDArray[np.float64]:
        """Values of the model's features, shape = (n_rows, n_features); for visits in the longest window."""
        return self.table if isinstance(self.table, np.ndarray) else self.table[max(self.table)]

    def endpoint(self, thresholds: tuple[float, float] = THRESHOLDS) -> Endpoint:
        """The outcome, with a grid of times where it has some."""
        return make_endpoint(self.cohort, time_grid(self.cohort) if self.cohort.has_times else (), thresholds)

    def risks(self, model: PrognosticModel, times: Sequence[float]) -> NDArray[np.float64]:
        """The model's risks until some times, shape = (n_rows, n_times), or (n_rows,) where there are none."""
        return build_prediction(model, self.table, times or None).risks

    def causes(self, model: PrognosticModel) -> CauseRisks | None:
        """Risks of the model's causes, and the outcomes in its codes; None where nothing competes."""
        # The cohort's event of interest stands for the model's, whatever its value; a cause that the model does not
        # know has the code after its last.
        event = model.time_to_event
        if event is None or event.n_causes == 1:
            return None
        names, here = event.causes, self.cohort.time_to_event
        others = () if here is None else here.causes[1:]
        known = [names.index(name, 1) + 1 if name in names[1:] else len(names) + 1 for name in others]
        y = get_outcomes(self.cohort).copy()
        y["event"] = np.array([0, 1, *known])[y["event"]]
        return CauseRisks(model.causes(self.table), y, tuple(names))


def check_outcome(model: PrognosticModel, cohort: Cohort, use: str) -> None:
    """Refuse a cohort of another mode, or one with labels where the model has times, or the reverse, at the visits."""
    if cohort.mode != (mode := _mode(model)):
        detail = f"{use} of this model takes a cohort of mode {mode}; this one is of mode {cohort.mode}"
    elif cohort.has_times != bool(model.horizons):
        kinds = ("labels", "times to an event")
        here, wanted = kinds[cohort.has_times], kinds[bool(model.horizons)]
        detail = f"{use} of this model takes visits with {wanted}; those of this cohort have {here}"
    else:
        return
    raise InvalidInputError([Fault(_POINTER, detail)])


def horizon_faults(model: PrognosticModel, cohort: Cohort) -> list[Fault]:
    """Faults for horizons of the model beyond the cohort's follow-up; with visits a patient counts once."""
    if cohort.time is None:
        return []
    followed, events = cohort.time, cohort.time[cohort.y == 1]
    if cohort.visits is not None:
        patient = np.unique(cohort.visits.patient, return_inverse=True)[1]
        followed, events = np.full((2, cohort.n_patients), [[0.0], [np.inf]])
        np.maximum.at(followed, patient, cohort.time)
        np.minimum.at(events, patient[cohort.y == 1], cohort.time[cohort.y == 1])
        events = events[np.isfinite(events)]
    reasons = (horizon_fault(h, followed, events) for h in model.horizons)
    return [Fault(_POINTER, f"the model's horizon {reason}") for reason in reasons if reason]


def other_patients(model: PrognosticModel, cohort: Cohort, faults: Sequence[Fault]) -> ExternalCohort:
    """Align a cohort with a model; InvalidInputError has the given faults and every absent or different feature."""
    earlier = None if cohort.visits is None else cohort.visits.earlier
    cells = cohort.X if earlier is None else np.concatenate([cohort.X, earlier.X])
    try:
        aligned = align(model.inputs, cohort.features, cells, _POINTER)
    except InvalidInputError as error:
        raise InvalidInputError([*error.faults, *faults]) from None
    if faults:
        raise InvalidInputError(list(faults))
    outcome = cohort.outcome
    if cohort.time_to_event is not None:
        event = replace(cohort.time_to_event, horizons=model.horizons)
        outcome = replace(outcome, of=event) if isinstance(outcome, Visits) else event
    cohort = replace(cohort, outcome=outcome)
    X = aligned[: cohort.n_rows]
    if model.windows is None:
        return ExternalCohort(cohort, X, X)
    visits = cohort.visits
    if visits is not None and earlier is not None:
        visits = replace(visits, earlier=replace(earlier, X=aligned[cohort.n_rows :]))
    taken = replace(cohort, features=model.inputs, X=X, visits=visits)
    lengths = sorted({member.window or 1 for member in model.members})
    return ExternalCohort(cohort, X, {w: windowed(taken, w, model.windows).X for w in lengths})


def _mode(model: PrognosticModel) -> str:
    if isinstance(model.outcome, Visits):
        return "temporal"
    return "survival" if model.horizons else "classification"
