"""A search whose files lie in an object store: workers read the cohort by its URL, by means of a plug-in."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path

import pytest
from sklearn.metrics import roc_auc_score

from autoprog.app.service import Service
from autoprog.cohort import to_parquet
from autoprog.errors import ArtifactError
from autoprog.model import PrognosticModel
from autoprog.search.ports import CohortRef
from autoprog.search.tasks import load_cohort
from autoprog.settings import Settings
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories import ModelRepository
from tests.cohorts import cleveland_cohort
from tests.search.bench import Bench
from tests.system.object_store import PROTOCOL

SETTINGS = {
    "budget": {"evaluations": 4, "time_s": 600},
    "space": {"features": ["none"], "prediction": ["logistic_regression", "ridge"], "calibration": ["none"]},
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    store = f"{PROTOCOL}://{tmp_path / 'bucket'}/autoprog"
    return Settings(data_dir=tmp_path / "data", files=store, plugins=("tests.system.object_store",), workers=2)


def test_workers_read_the_cohort_from_an_object_store(settings: Settings) -> None:
    with closing(Service(settings)) as service:
        service.database.migrate()
        bench = Bench(service.database, service.files, cleveland_cohort())
        search_id = bench.queue(**SETTINGS)
        digest = hashlib.sha256(to_parquet(cleveland_cohort())).hexdigest()
        assert service.files.url("cohorts", digest).startswith(f"{PROTOCOL}:///")  # no path that a worker could open
        assert service.runner().run_one()
        search = bench.search(search_id)
        assert search.status == "succeeded", search.error
        assert [e[3] for e in bench.evaluations(search_id)] == ["succeeded"] * 4
        with service.database.session(read_only=True) as session:
            sha256 = ModelRepository(session).get(bench.owner, search.model_id or "").sha256
        model = PrognosticModel.from_bytes(service.files.get("models", sha256))
        assert roc_auc_score(cleveland_cohort().y, model.risks(cleveland_cohort().X)) > 0.8


def test_a_cohort_that_left_the_store_is_missed_and_one_that_was_altered_refused(settings: Settings) -> None:
    with closing(Service(settings)) as service:
        sha256 = service.files.put("cohorts", b"no cohort")
        url = service.files.url("cohorts", sha256)
        with pytest.raises(ArtifactError, match="altered"):
            load_cohort(CohortRef(url, "0" * 64))
        service.files.delete(StoredFile("cohorts", sha256))
        with pytest.raises(ArtifactError, match="missing"):
            load_cohort(CohortRef(url, sha256))
