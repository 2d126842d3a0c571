"""Clinical meta-features: shares of clinical groups among the features, visits, and follow-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from autoprog.metalearning.meta_features.clinical_terms import ClinicalGroup
from autoprog.metalearning.meta_features.outcome import CENSORED, OF_INTEREST, ObservedTimes
from autoprog.metalearning.meta_features.recognition import Recognition


def group_shares(recognised: Sequence[Recognition]) -> dict[str, float]:
    """Compute the share of each clinical group among the features; the shares sum to at most 1."""
    groups = [r.group for r in recognised]
    return {f"{group}_share": groups.count(group) / max(len(groups), 1) for group in get_args(ClinicalGroup)}


def time_features(follow_up: ObservedTimes | None, visits: NDArray[np.integer] | None) -> dict[str, float]:
    """Describe visits (`visits` counts each patient's), follow-up, censoring and competing events; 0 for none."""
    values = {"visits_per_patient": 0.0 if visits is None else float(visits.mean())}
    if follow_up is None:
        return {**values, "follow_up_days": 0.0, "censored_share": 0.0, "competing_share": 0.0}
    return {
        **values,
        "follow_up_days": follow_up.median_days(),
        "censored_share": float((follow_up.event == CENSORED).mean()),
        "competing_share": float((follow_up.event > OF_INTEREST).mean()),
    }
