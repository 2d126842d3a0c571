"""Matrices of responses as files: CSV, Parquet and packed bits, told by their content."""

from __future__ import annotations

import gzip
import io
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from api.diagnosis import matrix_file
from api.diagnosis.matrix_columns import MatrixBuilder
from autoprog.errors import Fault
from tests.api.diagnosing import (
    MODELS,
    RESPONSES,
    TOY,
    find_faults,
    made,
    make_model,
    open_session,
    packed,
    toy,
    upload,
)

NAMES = [each["name"] for each in TOY["objects"]]
GROUPS = [each["group"] for each in TOY["objects"]]
QUERIES = [each["name"] for each in TOY["queries"]]


def table(separator: str = ",", **columns: list[Any]) -> bytes:
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def columns(**more: list[Any]) -> dict[str, list[Any]]:
    matrix = {query: [row[q] for row in RESPONSES] for q, query in enumerate(QUERIES)}
    return {"object": NAMES, "group": GROUPS, **more, **matrix}


def parquet(**types: Any) -> bytes:
    data = {name: pa.array(cells, types.get(name)) for name, cells in columns().items()}
    file = io.BytesIO()
    pq.write_table(pa.table(data), file)
    return file.getvalue()


def saved(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


BOOLEANS = {query: pa.bool_() for query in QUERIES}
FILES: dict[str, bytes] = {
    "csv": table(**columns()),
    "semicolons": table(";", **columns()),
    "byte order mark and line ends of Windows": b"\xef\xbb\xbf" + table(**columns()).replace(b"\n", b"\r\n"),
    "words": table(**columns()).replace(b",1", b",TRUE").replace(b",TRUE\n", b",1.0\n"),
    "gzip": gzip.compress(table(**columns()), mtime=0),
    "parquet": parquet(),
    "parquet of booleans": parquet(q1=pa.int8(), q2=pa.float64(), q3=pa.int64()),
    "gzipped parquet": gzip.compress(parquet(), mtime=0),
}


def post(client: TestClient, content: bytes, **spec: Any) -> Any:
    return client.post(MODELS, files=upload(content, **{"name": "toy", **spec}))


@pytest.mark.parametrize("name", [name for name in FILES if name != "words"])
def test_the_same_matrix_gives_the_same_model_whatever_its_file(client: TestClient, name: str) -> None:
    assert made(post(client, FILES[name]))["sha256"] == make_model(client)["sha256"]


def test_responses_may_be_words(client: TestClient) -> None:
    content = table(object=NAMES, group=GROUPS, q1=["false", "TRUE", "0.0", "1.0"], q2=[1, 1, 1, 0], q3=[1, 0, 0, 0])
    assert made(post(client, content))["sha256"] == make_model(client)["sha256"]


@pytest.mark.parametrize("content", [packed(RESPONSES), gzip.compress(packed(RESPONSES), mtime=0)])
def test_packed_bits_are_named_by_the_spec(client: TestClient, content: bytes) -> None:
    spec = {"objects": TOY["objects"], "queries": TOY["queries"]}
    assert made(post(client, content, **spec))["sha256"] == make_model(client)["sha256"]


def test_an_array_of_booleans_needs_no_names(client: TestClient) -> None:
    model = made(post(client, saved(np.array(RESPONSES, dtype=bool))))
    assert (model["n_objects"], model["n_queries"], model["stop"]) == (4, 3, "object")


def test_columns_have_the_roles_that_the_spec_gives_them(client: TestClient) -> None:
    matrix = {query: [row[q] for row in RESPONSES] for q, query in enumerate(QUERIES)}
    content = table(disease=NAMES, note=["a", "b", "c", "d"], ward=GROUPS, seen=[4, 1, 2, 3], **matrix)
    queries = [{"name": "q1", "cost": 2}, {"name": "q2"}, {"name": "q3"}]
    roles = {"object_column": "disease", "group_column": "ward", "prior_column": "seen"}
    uploaded = made(post(client, content, **roles, queries=queries))
    objects = [{**each, "prior": n} for each, n in zip(TOY["objects"], [4, 1, 2, 3], strict=True)]
    assert uploaded["sha256"] == make_model(client, objects=objects, queries=queries)["sha256"]


def test_the_queries_are_those_that_the_spec_names_in_its_order(client: TestClient) -> None:
    model = made(post(client, FILES["csv"], queries=[{"name": "q3"}, {"name": "q1"}]))
    matrix = [[row[2], row[0]] for row in RESPONSES]
    assert model["sha256"] == make_model(client, queries=[{"name": "q3"}, {"name": "q1"}], responses=matrix)["sha256"]


def test_names_may_be_quoted(client: TestClient) -> None:
    content = b'object,"fever, high",q2\n"o ""1"", left",0,1\no2,1,1\n'
    session = open_session(client, made(post(client, content))["id"])
    assert session["next_query"]["name"] == "fever, high"
    assert [each["object"] for each in session["remaining"]] == ['o "1", left', "o2"]


def test_an_empty_cell_is_unknown_where_answers_may_be_wrong(client: TestClient) -> None:
    queries = [{"name": "q1", "false_positive_rate": 0.1}, {"name": "q2"}, {"name": "q3"}]
    content = FILES["csv"].replace(b"o1,1,0", b"o1,1,")
    uploaded = made(post(client, content, queries=queries))
    inline = make_model(client, queries=queries, responses=[[None, 1, 1], *RESPONSES[1:]])
    assert uploaded["sha256"] == inline["sha256"]


def test_every_fault_of_file_and_spec_is_named_in_one_answer(client: TestClient) -> None:
    content = b"object,group,q1,q2\nx,g,0,7\ny,g,1,\nz,g,0,1,1\nx,h,maybe,0\n,h,1,2\n"
    faults = find_faults(post(client, content, name="", algorithm="best", exponential_cost_base=0, seed=1.5))
    assert set(faults) == {
        "/spec/name",
        "/spec/algorithm",
        "/spec/exponential_cost_base",
        "/spec/seed",
        "/file",
        "/file/columns/q1",
        "/file/columns/q2",
        "/file/objects/2/name",
        "/file/objects/3/name",
        "/file/responses/1/1",
    }
    assert faults["/file"] == "1 row has not the header's 4 cells: row 4"
    assert faults["/file/columns/q1"] == "1 cell that is not 0 or 1: row 5"
    assert faults["/file/columns/q2"] == "2 cells that are not 0 or 1: rows 2, 6"


@pytest.mark.parametrize(
    ("content", "spec", "pointers"),
    [
        (b"", {}, {"/file"}),
        (b"q1,q2\n", {}, {"/file/responses"}),
        (b"q1,q1,,\n0,1,1,1\n", {}, {"/file/columns/q1", "/file"}),
        (FILES["csv"], {"group_column": "ward", "queries": [{"name": "q9"}]}, {
            "/spec/group_column", "/spec/queries/0/name"}),
        (FILES["csv"], {"objects": TOY["objects"]}, {"/spec/objects"}),
        (FILES["csv"], {"queries": [{"name": "q1", "cost": -1}], "color": 1}, {"/spec/color", "/spec/queries/0/cost"}),
            (FILES["csv"], {"group_column": 5, "color": 1}, {"/spec/color", "/spec/group_column"}),
        (FILES["csv"], {"queries": [{"name": "q1", "cost": -1}]}, {"/spec/queries/0/cost"}),
        (packed(RESPONSES), {}, {"/spec/queries"}),
        (packed(RESPONSES), {"queries": [{"name": f"q{i}"} for i in range(9)]}, {"/file"}),
        (packed([[1] * 8] * 2), {"queries": TOY["queries"]}, {"/file"}),
        (saved(np.zeros((2, 2))), {}, {"/file"}),
        (saved(np.zeros(4, dtype=bool)), {}, {"/file"}),
        (gzip.compress(FILES["csv"], mtime=0)[:-12], {}, {"/file"}),
        (b"\x1f\x8bnot gzip at all", {}, {"/file"}),
        (b'q1,q2\n0,"1,1\n', {}, {"/file/columns/q2"}),
    ],
)  # fmt: skip
def test_files_that_cannot_be_used(
    client: TestClient, content: bytes, spec: dict[str, Any], pointers: set[str]
) -> None:
    assert set(find_faults(post(client, content, **spec))) == pointers


@pytest.mark.parametrize(
    "content", [b"PAR1 is how it begins", b"\x93NUMPY\x01\x00broken", b"\x00\x01\x02\x03", b"q1\xff\xfe,q2\n0,1\n"]
)
def test_content_of_another_kind(client: TestClient, content: bytes) -> None:
    assert post(client, content).status_code == 415


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '|b1', 'fortran_order': False, 'shape': (4, 3), }\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (-4, -3), }\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (2**40, 2**40), }\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (1000000000000, 1), }\n",
        "{'descr': '|b1', 'fortran_order': False, 'shape': (4, 3),bject\n",
        "(" * 5_000,
    ],
)
def test_an_array_that_claims_what_it_does_not_hold_is_damaged(client: TestClient, header: str) -> None:
    content = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    assert post(client, content).status_code == 415


def test_an_array_may_be_stored_by_columns_and_in_the_second_format(client: TestClient) -> None:
    array = np.array(RESPONSES, dtype=bool)
    second = io.BytesIO()
    np.lib.format.write_array(second, array, version=(2, 0))
    contents = [saved(array), saved(np.asfortranarray(array)), second.getvalue()]
    assert len({made(post(client, content))["sha256"] for content in contents}) == 1


def test_a_blank_first_line_is_no_header(client: TestClient) -> None:
    faults = find_faults(post(client, b"\nq1,q2\n0,1\n"))
    assert faults == {"/file": "the first line is empty; it must name the columns"}


def test_a_header_that_no_line_break_ends_is_one(client: TestClient) -> None:
    faults = find_faults(post(client, b"object,x"))
    assert faults == {"/file/responses": "a model needs an object and a query; these are 0 objects and 1 queries"}


def test_nothing_in_an_array_is_unpickled(client: TestClient) -> None:
    file = io.BytesIO()
    np.save(file, np.array([[{"a": 1}]], dtype=object), allow_pickle=True)
    assert post(client, file.getvalue()).status_code == 415


def test_a_missing_part_and_an_unknown_one(client: TestClient) -> None:
    parts = [("spec", (None, '{"name": 7', "application/json")), ("model", (None, "{}", "application/json"))]
    assert set(find_faults(client.post(MODELS, files=parts))) == {"/file", "/spec", "/model"}


@pytest.mark.parametrize("name", ["csv", "parquet", "gzip"])
def test_more_cells_than_a_model_may_have(client: TestClient, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("api.diagnosis.matrix_columns.MAX_CELLS", 11)
    assert post(client, FILES[name]).status_code == 413


def test_a_file_that_grows_too_large_when_it_is_decompressed() -> None:
    content = gzip.compress(b"q1,q2\n" + b"0,1\n" * 100_000)
    assert len(content) < 4096
    with pytest.raises(matrix_file.TooLargeError, match="4,096 bytes once decompressed"):
        matrix_file.read_matrix(content, matrix_file.MatrixLayout(), 4096, [])


def test_a_large_file_is_read_part_by_part_to_the_same_bits() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 2, (30_000, 190), dtype=np.uint8)
    cells = np.stack([matrix + ord("0"), np.full_like(matrix, ord(","))], axis=2)
    cells[:, -1, 1] = ord("\n")
    header = ",".join(f"q{i}" for i in range(190)) + "\n"
    faults: list[Any] = []
    content = header.encode() + cells.tobytes()
    assert len(content) > 8 << 20  # more than one part
    read = matrix_file.read_matrix(content, matrix_file.MatrixLayout(), len(content), faults)
    assert faults == []
    np.testing.assert_array_equal(read.responses.rows, np.packbits(matrix, axis=1))


def test_the_same_upload_twice_makes_one_model(client: TestClient) -> None:
    key = {"Idempotency-Key": "k1"}
    first, again = (client.post(MODELS, files=upload(FILES["csv"]), headers=key) for _ in range(2))
    assert made(first) == made(again)
    assert client.post(MODELS, files=upload(FILES["semicolons"]), headers=key).status_code == 422


def test_a_body_of_json_is_taken_as_before(client: TestClient) -> None:
    assert client.post(MODELS, json=toy()).status_code == 201


def test_a_name_that_comes_twice_is_told_by_its_place(client: TestClient) -> None:
    response = post(client, b"object,q1,q2\nAnn Smith,0,1\nAnn Smith,1,1\n")
    assert find_faults(response) == {"/file/objects/1/name": "is the name of object 0 already"}


def test_expansions_of_an_upload_are_judged_where_they_stand(client: TestClient) -> None:
    spec = {"objects": TOY["objects"], "queries": TOY["queries"]}
    faults = find_faults(post(client, packed(RESPONSES), **spec, max_objects=0, max_errors=1))
    assert set(faults) == {"/spec/max_objects", "/spec/max_errors"}
    assert made(post(client, packed(RESPONSES), **spec, max_objects=2))["n_objects"] == 10


def test_probabilities_of_several_objects_may_be_a_column(client: TestClient) -> None:
    model = made(post(client, b"object,prior,q1,q2\nx,.3,0,1\ny,.1,1,0\n", max_objects=2))
    assert model["warnings"] == []
    odds = {"x": 3 / 7, "y": 1 / 9, "x + y": 1 / 21}
    found = {each["object"]: each["probability"] for each in open_session(client, model["id"])["remaining"]}
    assert found == pytest.approx({name: p / sum(odds.values()) for name, p in odds.items()})


def test_a_matrix_of_wrong_cells_is_refused_at_once() -> None:
    names = [f"q{j}" for j in range(2000)]
    builder = MatrixBuilder(names, {}, range(2000), first_row=2)
    faults: list[Fault] = []
    before = time.process_time()
    for n in (1, 3, 1000):
        builder.add(pa.record_batch([np.full(n, 7, np.int8)] * 2000, names))
    builder.finish(faults, passed_over=[3])
    assert time.process_time() - before < 4
    assert (faults[0].pointer, len(faults)) == ("/file/columns/q0", 101)
    assert faults[0].detail == "1,004 cells that are not 0 or 1: rows 2, 4, 5, 6, 7 and 999 more"
    assert faults[100].detail == "1,900 more columns with cells that are not 0 or 1"
