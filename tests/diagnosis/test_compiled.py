"""The compiled kernel asks what the NumPy definition asks, on every processor; its absence changes nothing."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from autoprog.diagnosis import (
    DiagnosisModel,
    ModelOptions,
    Responses,
    Sessions,
    Tree,
    build_model,
    compiled,
    grow_tree,
    nodes,
)
from autoprog.diagnosis.compiled import CompiledSplitter, compiled_run_sums, library, serves
from autoprog.diagnosis.splitting import RowSplitter, make_splitter
from autoprog.diagnosis.tree import grown_by
from tests.diagnosis.models import random_model

ROOT = Path(__file__).parents[2]
CRITERIA: tuple[tuple[str, float | str], ...] = (
    ("gbs", 1.0),
    ("ggbs", 1.0),
    ("lambda_gbs", 3.0),
    ("lambda_gbs", 1e9),
    ("lambda_gbs", "inf"),
    ("group_lambda_gbs", 3.0),
    ("group_lambda_gbs", 1.0001),
    ("group_lambda_gbs", 1e6),
)
# Queries that fill bytes and words, and that do not.
WIDTHS = (1, 7, 8, 9, 63, 64, 65, 100, 127, 128, 129)


@pytest.fixture(scope="module", autouse=True)
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """Compiled from the source as it stands, so that no older library is tested; by the installation, or here."""
    sources = (compiled.SOURCE, ROOT / "hatch_build.py")
    if compiled.LIBRARY.exists() and compiled.LIBRARY.stat().st_mtime > max(s.stat().st_mtime for s in sources):
        loaded = library()
        assert loaded is not None
        yield loaded
        return
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    built = tmp_path_factory.mktemp("kernel") / compiled.LIBRARY.name
    if not build.compile_kernel(compiled.SOURCE, built):
        pytest.skip("no C compiler")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "LIBRARY", built)
        library.cache_clear()
        loaded = library()
        assert loaded is not None
        yield loaded
    library.cache_clear()


@pytest.fixture(params=[0, 3, 4])
def processor(request: pytest.FixtureRequest, kernel: ctypes.CDLL) -> Iterator[None]:
    """The code for processors of a level of x86-64 at most."""
    limit = ctypes.c_int.in_dll(kernel, "processor_limit")
    limit.value = request.param
    yield
    limit.value = 4


def random_models(rng: np.random.Generator, n: int) -> Iterator[DiagnosisModel]:
    """Models of every criterion, prior, cost, rule for ties and density."""
    for number in range(n):
        algorithm, base = CRITERIA[number % len(CRITERIA)]
        M, N, K = int(rng.integers(1, 150)), int(rng.choice(WIDTHS)), int(rng.choice([0, 2, 5, 30]))
        priors = (None, rng.dirichlet(np.ones(M)), rng.integers(1, 4, size=M).astype(float))
        costs = (
            None,
            None,
            (0.5 + rng.random(N)).tolist(),
            rng.integers(1, 4, size=N).astype(float).tolist(),
            (10.0 ** rng.integers(-13, 3, size=N)).tolist(),
        )
        options = ModelOptions(
            algorithm,  # type: ignore[arg-type]
            base,  # type: ignore[arg-type]
            stop="object" if algorithm == "gbs" and rng.random() < 0.5 else None,
            ties="random" if rng.random() < 0.4 else "first",
            seed=number,
        )
        yield build_model(
            rng.random((M, N)) < rng.choice([0.5, 0.1, 0.02]),
            groups=[f"g{k}" for k in rng.integers(K, size=M)] if K else None,
            prior=priors[int(rng.integers(len(priors)))],
            costs=costs[int(rng.integers(len(costs)))],
            options=options,
        )


def same(first: Tree, second: Tree) -> bool:
    return np.array_equal(first.query, second.query) and np.array_equal(first.order, second.order)


@pytest.mark.usefixtures("processor")
def test_trees_are_those_of_the_definition() -> None:
    for model in random_models(np.random.default_rng(1), 160):
        assert serves(model)
        assert same(grown_by(CompiledSplitter(model), model), grown_by(RowSplitter(model), model))


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize(("algorithm", "base"), CRITERIA)
@pytest.mark.parametrize("uniform", [True, False])
def test_large_segments_are_counted_right(algorithm: str, base: float | str, uniform: bool) -> None:
    """Counts of more than a byte, and segments summed lane by lane."""
    options = ModelOptions(algorithm, base)  # type: ignore[arg-type]
    model = random_model(np.random.default_rng(2), 1500, 75, K=3, uniform=uniform, options=options)
    assert same(grown_by(CompiledSplitter(model), model), grown_by(RowSplitter(model), model))


def test_barred_queries_are_not_asked() -> None:
    rng = np.random.default_rng(3)
    for model in random_models(rng, 160):
        M, N = model.n_objects, model.n_queries
        order = np.argsort(model.target_of, kind="stable")
        barred = np.flatnonzero(rng.random(N) < 0.5)
        start, stop = np.array([0]), np.array([M])
        expected = RowSplitter(model).choose(order, start, stop, barred)
        assert CompiledSplitter(model).choose(order, start, stop, barred) == expected
        assert expected[0] not in barred


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("N", WIDTHS)
def test_sums_of_runs(N: int) -> None:
    rng = np.random.default_rng(N)
    responses = Responses.pack(rng.random((50, N)) < 0.3)
    objects, weights = rng.permutation(50)[:33], rng.random(33)
    starts = np.array([0, 1, 4, 20])
    expected = nodes.run_sums(responses, objects, weights, starts)
    assert compiled_run_sums(responses, objects, weights, starts) == pytest.approx(expected, rel=1e-14, abs=1e-16)


def test_threads_do_not_disturb_each_other() -> None:
    model = random_model(np.random.default_rng(4), 800, 90, K=6)
    splitter = CompiledSplitter(model)
    alone = grown_by(splitter, model)
    with ThreadPoolExecutor(8) as pool:
        trees = list(pool.map(lambda _: grown_by(splitter, model), range(32)))
    assert all(same(alone, tree) for tree in trees)


def test_groups_at_an_infinite_base_are_left_to_the_definition() -> None:
    options = ModelOptions("group_lambda_gbs", "inf")
    model = random_model(np.random.default_rng(5), 30, 10, K=4, options=options)
    assert not serves(model)
    assert isinstance(make_splitter(model), RowSplitter)


def test_without_the_library_sessions_and_trees_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(np.random.default_rng(6), 60, 25, K=4)
    rates = [0.1] * 25
    noisy = build_model(
        model.responses.matrix(), groups=["a", "b"] * 30, false_positive_rates=rates, false_negative_rates=rates
    )
    assert isinstance(make_splitter(model), CompiledSplitter)
    tree, first = grow_tree(model), [Sessions(m).open().next_query for m in (model, noisy)]
    monkeypatch.setattr(compiled, "LIBRARY", Path("nowhere"))
    library.cache_clear()
    assert isinstance(make_splitter(model), RowSplitter)
    assert same(grow_tree(model), tree)
    for m, before in zip((model, noisy), first, strict=True):
        now = Sessions(m).open().next_query
        assert now is not None
        assert before is not None
        assert (now.query, now.gain) == (before.query, pytest.approx(before.gain, abs=1e-12))
    monkeypatch.undo()
    library.cache_clear()


@pytest.mark.parametrize("content", ["not a library", None])
def test_a_library_of_another_source_is_refused(
    content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if content is None:
        other = tmp_path / "kernel.c"
        other.write_text(compiled.SOURCE.read_text() + "\n")
        monkeypatch.setattr(compiled, "SOURCE", other)
    else:
        wrong = tmp_path / "libkernel.so"
        wrong.write_text(content)
        monkeypatch.setattr(compiled, "LIBRARY", wrong)
    library.cache_clear()
    with pytest.raises(ImportError, match="install autoprog anew"):
        library()
    monkeypatch.undo()
    library.cache_clear()
