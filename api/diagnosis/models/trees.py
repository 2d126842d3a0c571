"""Request, load, show and draw the tree of a model."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from api.dependencies import Context
from api.diagnosis.models.schemas import OptimumDocument, TreeDocument, TreeLeaf, TreeQuestion
from api.queue_room import require_room
from autoprog.diagnosis import Objective, Tree, optimal_tree, tree_report, tree_svg, tree_text
from autoprog.errors import ConflictError, Fault, InvalidInputError
from autoprog.jobs import JobKind
from autoprog.storage.files import StoredFile
from autoprog.storage.repositories import DiagnosisModelRepository, JobRepository
from autoprog.storage.tables import DiagnosisModelRow, JobStatus

MAX_NODES = 10_000
"""Largest number of nodes in one response."""


def request_tree(context: Context, session: Session, owner_id: str, model_id: str) -> DiagnosisModelRow:
    """Queue a job for a model's tree unless it has one; raises NotFoundError, ConflictError and QueueFullError."""
    row = DiagnosisModelRepository(session).lock(owner_id, model_id)
    if row.document["noisy"]:
        msg = "answers to this model's queries may be wrong, so that no tree of them ends in certainty: open a session"
        raise ConflictError(msg)
    jobs = JobRepository(session)
    latest = jobs.load_latest(JobKind.DIAGNOSIS_TREE, [model_id]).get(model_id)
    if row.tree is None and (latest is None or latest.status == JobStatus.FAILED):
        require_room(context, session, owner_id)
        file = StoredFile("diagnosis_models", row.sha256)
        jobs.add(owner_id, JobKind.DIAGNOSIS_TREE, model_id, files={"model": file})
    return row


def load_tree(context: Context, owner_id: str, model_id: str) -> tuple[DiagnosisModelRow, Tree]:
    """Return a model's row and tree; raises NotFoundError, or ConflictError if it has no tree yet or can have none."""
    with context.database.session(read_only=True) as session:
        row = DiagnosisModelRepository(session).get(owner_id, model_id)
        job = JobRepository(session).load_latest(JobKind.DIAGNOSIS_TREE, [model_id]).get(model_id)
    if row.tree_sha256 is not None:
        return row, context.load_tree(row.sha256, row.tree_sha256)
    if row.document["noisy"]:
        raise ConflictError("the model has no tree: answers may be wrong; open a session")
    if job is None:
        raise ConflictError("the model has no tree yet: ask for it by a POST to this address")
    raise ConflictError(f"the model has no tree yet: the job that builds it is {job.status}")


def tree_document(row: DiagnosisModelRow, tree: Tree, node: int, depth: int | None) -> TreeDocument:
    """Return a tree's document, or that of the part below one node; raises InvalidInputError above `MAX_NODES`."""
    sizes = _level_sizes(tree, _checked(tree, node))
    shown = len(sizes) - 1 if depth is None else min(depth, len(sizes) - 1)
    if depth is None:
        shown = max(0, int(np.searchsorted(np.cumsum(sizes), MAX_NODES, side="right")) - 1)
    elif (total := int(np.sum(sizes[: shown + 1]))) > MAX_NODES:
        detail = f"gives {total:,} nodes; one answer holds {MAX_NODES:,}: ask for the parts below by `node`"
        raise InvalidInputError([Fault("/depth", detail)])
    costs = row.tree or {}
    return TreeDocument(
        model_id=row.id,
        node=node,
        depth=shown,
        complete=shown == len(sizes) - 1,
        n_nodes=tree.n_nodes,
        expected_cost=costs["expected_cost"],
        exponential_cost=costs["exponential_cost"],
        worst_case=costs["worst_case"],
        nodes=_nodes(tree, node, shown),
    )


def optimum_document(context: Context, owner_id: str, model_id: str, objective: Objective | None) -> OptimumDocument:
    """Find a model's best tree; raises NotFoundError, TooLargeError, ConflictError and InvalidInputError."""
    with context.database.session(read_only=True) as session:
        row = DiagnosisModelRepository(session).get(owner_id, model_id)
    model = context.load_diagnosis(row.sha256).model
    own: Objective = "worst_case" if math.isinf(model.base) else "exponential" if model.base > 1 else "expected"
    asked = objective or own
    if asked == "exponential" and own != asked:
        detail = "the model's exponential_cost_base is 1 or inf: ask for `expected` or `worst_case`"
        raise InvalidInputError([Fault("/objective", detail)])
    report = asdict(tree_report(tree := optimal_tree(model, asked)))
    name = "worst_case" if asked == "worst_case" else f"{asked}_cost"
    return OptimumDocument(
        model_id=row.id,
        objective=asked,
        cost=report[name],
        grown_cost=(row.tree or {}).get(name),
        nodes=_nodes(tree),
    )


def _nodes(tree: Tree, node: int = 0, depth: int | None = None) -> list[TreeQuestion | TreeLeaf]:
    return [TreeQuestion(**each) if "query" in each else TreeLeaf(**each) for each in tree.page(node, depth)]


def draw_tree(tree: Tree, how: Literal["svg", "text"], node: int, depth: int | None) -> str:
    """Draw a tree, or the part below one node, counting what lies deeper; raises InvalidInputError."""
    draw = tree_svg if how == "svg" else tree_text
    return draw(tree, _checked(tree, node), depth)


def _checked(tree: Tree, node: int) -> int:
    if node >= tree.n_nodes:
        raise InvalidInputError([Fault("/node", f"the tree has nodes 0 to {tree.n_nodes - 1}")])
    return node


def _level_sizes(tree: Tree, node: int) -> list[int]:
    """Count the nodes at each level below a node, its own level first."""
    sizes: list[int] = []
    level: NDArray[np.int64] = np.array([node])
    while len(level):
        sizes.append(len(level))
        asking = level[tree.query[level] >= 0]
        level = np.concatenate([tree.no[asking], tree.yes[asking]])
    return sizes
