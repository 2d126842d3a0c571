"""Queries on learners of thresholds."""

from __future__ import annotations

from autoprog.storage.repositories._stateful import StatefulRepository
from autoprog.storage.test_selection_tables import ThresholdLearnerRow


class ThresholdLearnerRepository(StatefulRepository[ThresholdLearnerRow]):
    """Learners of all owners."""

    _table = ThresholdLearnerRow
