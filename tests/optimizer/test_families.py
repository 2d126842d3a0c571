from __future__ import annotations

from autoprog.optimizer.main_effects import family_labels
from tests.space.test_algorithms import BUILT_IN


def test_every_family_of_table_1_has_a_subspace_of_its_own() -> None:
    """Three stages, and linear, local, tree, boosted and neural predictors: as many as the default's subspaces."""
    algorithms = BUILT_IN
    homes = dict(zip((a.key for a in algorithms), family_labels(algorithms, 8).tolist(), strict=True))
    assert len(set(homes.values())) == 8
    for stage in ("imputation", "features", "calibration"):
        of_stage = {home for key, home in homes.items() if key.startswith(stage)}
        assert len(of_stage) == 1
        assert not of_stage & {home for key, home in homes.items() if not key.startswith(stage)}
    assert homes["prediction/random_forest"] == homes["prediction/decision_tree"] != homes["prediction/xgboost"]
    assert homes["prediction/gaussian_process"] == homes["prediction/k_nearest_neighbours"]


def test_more_families_than_subspaces_share_them() -> None:
    algorithms = BUILT_IN
    assert set(family_labels(algorithms, 3).tolist()) == {0, 1, 2}
