"""Learners of event times: classifiers adapted to them, causes combined, curves calibrated.

A learner of cumulative incidence has `fit(X, y)` with `y` of dtype `EVENT_TIMES` and `cumulative_incidence(X, times)`,
shape = (n_patients, n_causes, n_times); it takes the place of a classifier in pipelines for event times.
"""

from autoprog.space.event_times.calibrated import CalibratedIncidence
from autoprog.space.event_times.cause_specific import CauseSpecific
from autoprog.space.event_times.curves import scaled_to_leave_room
from autoprog.space.event_times.discrete_time import DiscreteTime
from autoprog.space.event_times.fine_gray import FineGray
from autoprog.space.event_times.incidence_pipeline import IncidencePipeline
from autoprog.space.event_times.ipcw import WeightedHorizons
from autoprog.space.event_times.outcomes import has_event, of_cause

__all__ = [
    "CalibratedIncidence",
    "CauseSpecific",
    "DiscreteTime",
    "FineGray",
    "IncidencePipeline",
    "WeightedHorizons",
    "has_event",
    "of_cause",
    "scaled_to_leave_room",
]
