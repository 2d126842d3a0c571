"""A table of many diseases with few findings each, as knowledge bases of diseases have them; drawn, not collected.

    python -m tools.many_diseases       write tests/data/many_diseases.csv.gz anew

41 diseases have a core of 4 to 16 of 132 findings, common findings more often than rare ones. An object is a
disease with its whole core, or without one to three findings of it: 305 different rows, none in two diseases.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd

FILE = Path(__file__).parents[1] / "tests" / "data" / "many_diseases.csv.gz"
OBJECTS, DISEASES, FINDINGS = 305, 41, 132
SMALLEST_CORE, LARGEST_CORE, MOST_ABSENT = 4, 16, 3


def many_diseases(seed: int = 0) -> pd.DataFrame:
    """Draw the table: the column `group`, then the findings, 0 or 1."""
    rng = np.random.default_rng(seed)
    popularity = np.arange(1, FINDINGS + 1) ** -0.5
    popularity /= popularity.sum()
    rows: dict[tuple[int, ...], int] = {}
    cores = [
        rng.choice(FINDINGS, rng.integers(SMALLEST_CORE, LARGEST_CORE + 1), replace=False, p=popularity)
        for _ in range(DISEASES)
    ]
    for disease, core in enumerate(cores):
        rows[tuple(sorted(core.tolist()))] = disease
    while len(rows) < OBJECTS:
        disease = len(rows) % DISEASES
        absent = rng.choice(cores[disease], rng.integers(1, MOST_ABSENT + 1), replace=False)
        rows.setdefault(tuple(sorted(set(cores[disease].tolist()) - set(absent.tolist()))), disease)
    table = np.zeros((OBJECTS, FINDINGS), dtype=np.int8)
    for i, present in enumerate(rows):
        table[i, list(present)] = 1
    findings = pd.DataFrame(table, columns=[f"finding {j + 1}" for j in range(FINDINGS)])
    findings.insert(0, "group", [f"disease {disease + 1}" for disease in rows.values()])
    return findings


if __name__ == "__main__":
    text = many_diseases().to_csv(index=False)
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
