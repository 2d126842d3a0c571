"""The shipped prior is what its inputs teach."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import autoprog
from autoprog.metalearning.shipped import open_cohorts
from training.prior import learning
from training.prior.__main__ import INPUTS, MANIFEST, ROOT, SHIPPED, digest, made
from training.prior.learning import learnt_alone, rounded
from training.prior.pools import POOLS, all_names, read


def test_manifest_tells_of_the_files_that_are_there() -> None:
    manifest = json.loads(MANIFEST.read_text())
    assert manifest["output"] == {"file": str(SHIPPED.relative_to(ROOT)), "sha256": digest(SHIPPED.read_bytes())}
    assert manifest["inputs"] == {str(path.relative_to(ROOT)): digest(path.read_bytes()) for path in INPUTS}
    assert len(manifest["commit"]) == 40


def test_every_shipped_cohort_has_its_pool() -> None:
    shipped = {cohort.statistics.cohort_id: cohort for cohort in open_cohorts()}
    assert shipped
    assert shipped.keys() <= set(all_names(POOLS))
    for name, cohort in shipped.items():
        pool = read(name, POOLS)
        assert cohort.statistics.n_evaluations == len(pool.history.succeeded)
        assert cohort.statistics.mode == pool.shape.mode


def test_a_pool_teaches_what_is_shipped() -> None:
    (shipped,) = (cohort.statistics for cohort in open_cohorts() if cohort.statistics.cohort_id == "lung")
    found = learnt_alone("lung", POOLS)
    assert found is not None
    # What other cohorts' pipelines would gain here is all that it does not know alone.
    expected, document = shipped.to_json(), rounded(found.to_json())
    assert expected.pop("elsewhere")
    del document["elsewhere"]
    assert document == expected


def test_what_a_pool_teaches_is_learnt_again_where_anything_that_it_comes_from_has_changed() -> None:
    package = Path(autoprog.__file__).parent
    sources = {path for pattern in learning._SOURCES for path in package.glob(pattern)}
    for folder in ("metalearning", "optimizer", "space", "evaluation"):
        assert set((package / folder).rglob("*.py")) <= sources


def test_rounding_leaves_hyperparameters_as_they_are() -> None:
    document = {"a": [0.12345678, -1e-9], "configuration": {"C": 0.12345678}, "n": 3}
    found = rounded(document)
    assert found == {"a": [0.123457, 0.0], "configuration": {"C": 0.12345678}, "n": 3}
    assert np.copysign(1.0, found["a"][1]) == 1.0


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_the_shipped_file_is_made_again_byte_for_byte() -> None:
    assert made() == SHIPPED.read_bytes()
