"""A network that was trained once on synthetic clinical tables and predicts a new table in one forward pass.

`teach_risks` and `teach_hazards` let it read a table and fit a small model to what it says, which needs neither the
network nor the patients any more.
"""

from autoprog.prior_network.distillation import Student, teach_hazards, teach_risks
from autoprog.prior_network.encoding import CAUSES, INTERVALS, EventTable, event_grid

__all__ = ["CAUSES", "INTERVALS", "EventTable", "Student", "event_grid", "teach_hazards", "teach_risks"]
