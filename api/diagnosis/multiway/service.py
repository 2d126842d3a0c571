"""Build a model of questions with several answers, and find the next question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.diagnosis.models.schemas import MAX_INLINE_CELLS
from api.diagnosis.multiway.schemas import (
    MultiwayCandidate,
    MultiwayDocument,
    MultiwayNodeDocument,
    MultiwayQueryDocument,
    MultiwayRequest,
    MultiwayTreeDocument,
)
from api.uploads import attempt
from autoprog.cohort.messages import capped, pointer
from autoprog.diagnosis import (
    MultiwayModel,
    MultiwayTree,
    build_multiway_model,
    expected_cost,
    exponential_cost,
    grow_multiway_tree,
    multiway_bounds,
    multiway_state,
    worst_case_cost,
)
from autoprog.errors import Fault, InvalidInputError, TooLargeError

_MAX_SETS = 1000


def find_question(request: MultiwayRequest) -> MultiwayDocument:
    """Find the next question; raises InvalidInputError with every fault, and TooLargeError."""
    faults = request.faults
    model = attempt(faults, lambda: _build_model(request))
    given = _read_answers(request.answers, faults)
    if model is None or faults:
        raise InvalidInputError(faults)
    found = attempt(faults, lambda: multiway_state(model, given), "/answers")
    if found is None:
        raise InvalidInputError(faults)
    answers = dict(zip(model.queries, model.answers, strict=True))
    query = found.next_query
    return MultiwayDocument(
        status=found.status,
        next_query=None if query is None else MultiwayQueryDocument(name=query, answers=list(answers[query])),
        remaining=[MultiwayCandidate(name=name, probability=p) for name, p in found.remaining.items()],
        unidentifiable=[[model.objects[i] for i in same] for same in model.unidentifiable[:_MAX_SETS]],
        warnings=list(model.warnings),
        tree=_tree_document(model) if request.tree else None,
    )


def _build_model(request: MultiwayRequest) -> MultiwayModel:
    rows = request.responses
    faults = [] if isinstance(rows, list) else [Fault("/responses", "must be a list of rows")]
    if not faults:
        wrong = [i for i, row in enumerate(rows) if not isinstance(row, list)]
        faults += capped([Fault(f"/responses/{i}", "must be a list of answers") for i in wrong], "/responses")
    for q, query in enumerate(request.queries):
        if query.answers is not None and not isinstance(query.answers, list):
            faults.append(Fault(f"/queries/{q}/answers", "must be a list of answers"))
    if faults:
        raise InvalidInputError(faults)
    cells = sum(len(row) for row in rows)
    if cells > MAX_INLINE_CELLS:
        raise TooLargeError(f"{cells:,} responses; a request may hold {MAX_INLINE_CELLS:,}")
    try:
        return build_multiway_model(
            rows,
            objects=[each.name for each in request.objects],
            queries=[each.name for each in request.queries],
            answers=[each.answers for each in request.queries],
            groups=[each.group for each in request.objects],
            prior=[each.prior for each in request.objects],
            costs=[each.cost for each in request.queries],
            exponential_cost_base=request.exponential_cost_base,
        )
    except InvalidInputError as error:
        raise InvalidInputError([Fault(_placed(fault.pointer), fault.detail) for fault in error.faults]) from None


def _placed(place: str) -> str:
    """Translate a pointer into the model's input to a pointer into the request."""
    first, *rest = place[1:].split("/")
    return f"/queries/{rest[0]}/answers" if first == "answers" and rest else place


def _read_answers(given: object, faults: list[Fault]) -> Mapping[str, str | None]:
    if not isinstance(given, Mapping):
        faults.append(Fault("/answers", "must be an object of answers by query"))
        return {}
    wrong = [name for name, answer in given.items() if not (answer is None or isinstance(answer, str))]
    faults += [Fault(pointer("answers", name), "must be a text or null") for name in wrong]
    return {} if wrong else given


def _tree_document(model: MultiwayModel) -> MultiwayTreeDocument:
    tree, bounds = grow_multiway_tree(model), multiway_bounds(model)
    return MultiwayTreeDocument(
        nodes=[MultiwayNodeDocument(**_node(tree, node)) for node in range(tree.n_nodes)],
        expected_cost=expected_cost(tree),
        exponential_cost=exponential_cost(tree, model.base),
        worst_case=worst_case_cost(tree),
        entropy_bound=bounds.expected,
        exponential_bound=bounds.exponential,
    )


def _node(tree: MultiwayTree, node: int) -> dict[str, Any]:
    query = int(tree.query[node])
    if query < 0:
        return {"query": None, "children": {}, "objects": [tree.model.objects[i] for i in tree.objects_of(node)]}
    return {"query": tree.model.queries[query], "children": tree.children(node), "objects": None}
