"""Every algorithm of the space survives storage; nothing that is not allowed does."""

from __future__ import annotations

import io
import itertools
import json
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from autoprog.errors import ArtifactError
from autoprog.model import allowed_types, dump_estimator, keeps_patients, load_estimator
from autoprog.model.serialization import unpack
from autoprog.space import (
    STAGES,
    Algorithm,
    Choice,
    Configuration,
    Space,
    StageName,
    Step,
    TableShape,
    build_pipeline,
    list_algorithms,
    registry,
)
from tests.cohorts import cleveland_cohort, mixed_cohort

COHORTS = {"cleveland": cleveland_cohort, "mixed": mixed_cohort}


# A larger forest holds no other types.
SIZES = {"trees": 5, "inducing": 10, "iterations": 1}


def _built_in(stage: StageName) -> list[Algorithm]:
    return [
        a for a in list_algorithms(stage) if a.build.__module__.startswith("autoprog.") and "classification" in a.modes
    ]


def _steps(algorithm: Algorithm) -> list[Step]:
    """The algorithm at its defaults, but small, and once more for every other choice that it has."""
    small = {axis.name: SIZES[axis.name] for axis in algorithm.hyperparameters if axis.name in SIZES}
    parameters = dict(algorithm.default_step().parameters) | small
    others = [
        {axis.name: choice}
        for axis in algorithm.hyperparameters
        if isinstance(axis, Choice)
        for choice in axis.choices
        if choice != axis.default
    ]
    return [Step.of(algorithm.name, parameters | other) for other in ({}, *others)]


def _configurations() -> list[Configuration]:
    """Few pipelines in which every step occurs; the types of a stage do not hang on the other stages."""
    simple = (Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
    steps = [[step for algorithm in _built_in(stage) for step in _steps(algorithm)] for stage in STAGES]
    steps[0].remove(Step.of("none"))  # would keep missing cells in front of learners that do not take them
    packed = [
        Configuration(*(step or usual for step, usual in zip(row, simple, strict=True)))
        for row in itertools.zip_longest(*steps)
    ]
    keeping = [
        Configuration(Step.of("none"), Step.of("none"), _steps(algorithm)[0], Step.of("none"))
        for algorithm in _built_in("prediction")
        if {"missing", "categories"} <= algorithm.takes
    ]
    assert keeping
    return packed + keeping


@pytest.mark.parametrize("cohort_name", COHORTS)
def test_every_algorithm_predicts_the_same_after_storage(cohort_name: str) -> None:
    cohort = COHORTS[cohort_name]()
    shape = TableShape.of(cohort, 5)
    for configuration in _configurations():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pipeline = build_pipeline(configuration, cohort.features, shape, 0).fit(cohort.X, cohort.y)
        content = dump_estimator(pipeline)
        loaded = load_estimator(content)
        # Before it predicts: a k-d tree counts its calls.
        assert dump_estimator(loaded) == content, f"the bytes of {configuration} changed"
        np.testing.assert_array_equal(
            loaded.predict_proba(cohort.X), pipeline.predict_proba(cohort.X), err_msg=str(configuration)
        )


def test_algorithms_that_keep_rows_of_patients_say_so() -> None:
    """Landmarks and neighbours are tables as wide as a learner's input and longer than wide; nothing else stored is."""
    cohort = cleveland_cohort()
    cohort = cohort.take(np.arange(97))
    shape, widths = TableShape.of(cohort, 5), {19, 20}  # dummies, with and without the first level
    simple = (Step.of("median"), Step.of("none"), Step.of("logistic_regression"), Step.of("none"))
    for place, stage in enumerate(STAGES):
        for algorithm in _built_in(stage):
            steps = [*simple]
            parameters = dict(_steps(algorithm)[0].parameters)
            steps[place] = Step.of(algorithm.name, parameters | ({"inducing": 64} if "inducing" in parameters else {}))
            if algorithm.key == "imputation/none":  # for learners that take missing cells
                steps[2] = Space.full().algorithm("prediction", "lightgbm").default_step()
            pipeline = build_pipeline(Configuration(*steps), cohort.features, shape, 0).fit(cohort.X, cohort.y)
            content = dump_estimator(pipeline)
            arrays = [
                np.load(io.BytesIO(file), allow_pickle=False)
                for file in unpack(content).values()
                if file.startswith(np.lib.format.MAGIC_PREFIX)
            ]
            tables = [x for x in arrays if x.ndim == 2 and x.shape[1] in widths and x.shape[0] > max(widths)]
            assert bool(tables) == keeps_patients(content) == (algorithm.patients_in is not None), algorithm.key


def test_the_allowlist_is_sorted_and_names_importable_things() -> None:
    for path in allowed_types():
        module, _, name = path.rpartition(".")
        assert hasattr(__import__(module, fromlist=[name]), name), path


class Prevalence(ClassifierMixin, BaseEstimator):
    """A learner as a plug-in may bring it."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Prevalence:
        self.classes_, self.prevalence_ = np.array([0, 1]), float(y.mean())
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.full((len(X), 2), [1 - self.prevalence_, self.prevalence_])


def test_a_plug_in_declares_what_its_models_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Prevalence().fit(np.zeros((4, 1)), np.array([0, 1, 1, 1]))
    with pytest.raises(ArtifactError, match="Prevalence"):
        dump_estimator(fitted)
    types = (f"{__name__}.Prevalence",)
    plug_in = Algorithm("prediction", "prevalence", (), lambda *_: Prevalence(), "local", stored_types=types)
    monkeypatch.setitem(registry._table, plug_in.key, plug_in)
    assert load_estimator(dump_estimator(fitted)).predict_proba(np.zeros((1, 1)))[0, 1] == 0.75


def test_a_type_outside_the_allowlist_is_neither_written_nor_read() -> None:
    model = LogisticRegression()
    model.extra = io.StringIO  # any class that no pipeline needs
    with pytest.raises(ArtifactError, match="StringIO"):
        dump_estimator(model)
    with pytest.raises(ArtifactError, match="StringIO"):
        load_estimator(skops.io.dumps(model))


@pytest.mark.parametrize(
    "content", [b"", b"no zip file", b"PK\x05\x06" + bytes(18)], ids=["empty", "text", "empty zip"]
)
def test_what_is_no_estimator_is_an_artifact_error(content: bytes) -> None:
    with pytest.raises(ArtifactError):
        load_estimator(content)


def test_damage_anywhere_is_an_artifact_error_or_changes_nothing() -> None:
    content = dump_estimator(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    rng = np.random.default_rng(0)
    refused = 0
    for position in rng.choice(len(content), 200, replace=False):
        damaged = bytearray(content)
        damaged[position] ^= 0xFF
        try:
            load_estimator(bytes(damaged))
        except ArtifactError:
            refused += 1
    assert refused > 100


def test_no_address_and_no_padding_of_memory_is_written() -> None:
    cohort = mixed_cohort()
    shape = TableShape.of(cohort, 5)
    space = Space.subset({"imputation": ["mean"], "features": ["none"], "prediction": ["random_forest"]})
    forest = build_pipeline(space.default(space.valid_kinds(shape)[0]), cohort.features, shape, 0).fit(
        cohort.X, cohort.y
    )
    with zipfile.ZipFile(io.BytesIO(dump_estimator(forest))) as archive:
        schema = json.loads(archive.read("schema.json"))
        arrays = [archive.read(name) for name in archive.namelist() if name.endswith(".npy")]
    assert max(_ids(schema)) < 100_000
    assert sum(_padding_of_trees(array) for array in arrays) == 0
    assert any(b"left_child" in array for array in arrays)


def _padding_of_trees(content: bytes) -> int:
    """Sum of the bytes behind the last field of a tree's nodes."""
    if b"left_child" not in content[:1000]:
        return 0
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    _, _, dtype = np.lib.format.read_array_header_1_0(file)
    end = max(start + field.itemsize for field, start in dtype.fields.values())
    nodes = np.frombuffer(file.read(), np.uint8).reshape(-1, dtype.itemsize)
    assert end < dtype.itemsize
    return int(nodes[:, end:].sum())


def _ids(node: object) -> list[int]:
    if isinstance(node, list):
        return [number for item in node for number in _ids(item)]
    if isinstance(node, dict):
        own = [node["__id__"]] if "__id__" in node else []
        return own + [number for value in node.values() for number in _ids(value)]
    return []


def test_reading_does_not_import_torch() -> None:
    content = dump_estimator(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))
    script = (
        "import sys; from autoprog.model import load_estimator; "
        "load_estimator(sys.stdin.buffer.read()); print('torch' in sys.modules, 'xgboost' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], input=content, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["False", "False"]
