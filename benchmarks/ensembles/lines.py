"""Shards of a line each: a file of JSON lines that only grows, after those that the repository has, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.ensembles.laboratory import Laboratory, laboratory

Shard = tuple[str, int]  # a cohort, and one of its folds


def write_missing(asked: list[Shard], path: Path, slots: int, measure: Callable[[Laboratory, Shard], Any]) -> None:
    """Write a line for every shard that has none yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    there = {(line["cohort"], line["fold"]) for line in read(path)}
    missing = [shard for shard in asked if shard not in there]
    if not missing:
        return
    with laboratory(slots) as lab, path.open("a", encoding="utf-8") as file:
        for shard in missing:
            file.write("\n" + json.dumps(measure(lab, shard)))
            file.flush()


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of the compressed file and of the growing one; one that was broken off is left out."""
    compressed = path.with_name(f"{path.name}.gz")
    text = gzip.decompress(compressed.read_bytes()).decode() if compressed.exists() else ""
    if path.exists():
        text += "\n" + path.read_text(encoding="utf-8")
    rows = []
    for line in text.splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    return rows
