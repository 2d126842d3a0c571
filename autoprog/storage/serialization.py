"""Convert proposals and evaluations to rows and back without loss."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoprog.evaluation import EvaluatedPath, Evaluation, Status
from autoprog.optimizer import Proposal
from autoprog.space import Configuration
from autoprog.storage.tables import EvaluationRow

_RISKS = np.dtype("<f4")


def proposal_to_json(proposal: Proposal) -> dict[str, Any]:
    """Convert a proposal to JSON; its batch has its own column."""
    return {
        "configurations": [configuration.to_json() for configuration in proposal.configurations],
        "state": dict(proposal.state),
        "final": proposal.is_final,
    }


def proposal_from_json(batch: int, document: Mapping[str, Any]) -> Proposal:
    """Inverse of `proposal_to_json`; proposals of earlier versions lack `final`."""
    configurations = tuple(Configuration.from_json(each) for each in document["configurations"])
    return Proposal(batch, configurations, document["state"], document.get("final", False))


def evaluation_to_values(search_id: str, evaluation: Evaluation, created_at: datetime) -> dict[str, Any]:
    """Convert an evaluation to the values of its row."""
    return {
        "search_id": search_id,
        "number": evaluation.number,
        "batch": evaluation.batch,
        "configuration": evaluation.configuration.to_json(),
        "status": evaluation.status,
        "score": evaluation.score,
        "fold_scores": list(evaluation.fold_scores),
        "duration_s": evaluation.duration_s,
        "reason": evaluation.reason,
        "n_patients": evaluation.n_patients,
        "path": None if evaluation.path is None else evaluation.path.to_json(),
        "out_of_bag": evaluation.out_of_bag,
        "created_at": created_at,
        "risks": None if evaluation.risks is None else pack_risks(evaluation.risks),
        "competing": None if evaluation.competing is None else pack_risks(evaluation.competing),
    }


def evaluation_from_row(row: EvaluationRow) -> Evaluation:
    """Inverse of `evaluation_to_values`, of the row."""
    return Evaluation(
        number=row.number,
        batch=row.batch,
        configuration=Configuration.from_json(row.configuration),
        status=Status(row.status),
        score=row.score,
        fold_scores=tuple(row.fold_scores),
        risks=None if row.risks is None else unpack_risks(row.risks),
        duration_s=row.duration_s,
        reason=row.reason,
        n_patients=row.n_patients,
        path=None if row.path is None else EvaluatedPath.from_json(row.path),
        out_of_bag=row.out_of_bag,
        competing=None if row.competing is None else unpack_risks(row.competing),
    )


def pack_risks(risks: NDArray[np.float32]) -> bytes:
    """Compress risks, shape = (n_rows, ...)."""
    file = BytesIO()
    np.lib.format.write_array(file, risks.astype(_RISKS), version=(1, 0), allow_pickle=False)
    return zlib.compress(file.getvalue())


def unpack_risks(packed: bytes) -> NDArray[np.float32]:
    """Inverse of `pack_risks`, and of its first version, which wrote one column without a header."""
    content = zlib.decompress(packed)
    if not content.startswith(np.lib.format.MAGIC_PREFIX):
        return np.frombuffer(content, dtype=_RISKS).astype(np.float32)
    risks: NDArray[np.float32] = np.lib.format.read_array(BytesIO(content), allow_pickle=False)
    return risks.astype(np.float32)
