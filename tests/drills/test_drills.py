"""Short drills; `make drills` runs the long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drills.restore import drill


@pytest.mark.slow
def test_what_was_acknowledged_before_a_backup_under_load_is_restored(tmp_path: Path) -> None:
    found = drill(tmp_path, None, with_model=False)
    assert found["wrong"] == []
    assert found["restored"] >= found["acknowledged before"] >= 10
    assert found["files"] >= 2 * found["acknowledged before"]
