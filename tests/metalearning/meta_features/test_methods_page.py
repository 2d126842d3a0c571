"""The table of meta-features in docs/methods.md is that of the package.

`python -m tests.metalearning.meta_features.test_methods_page` writes it anew.
"""

from __future__ import annotations

import re
from pathlib import Path

from autoprog.metalearning.meta_features import META_FEATURES, MetaFeature

PAGE = Path(__file__).parents[3] / "docs" / "methods.md"
COLUMNS = ("name", "group", "range", "what it measures", "reference")
TABLE = re.compile(r"(?<=\n### The 55\n\n)(\|.*\n)+")


def row_of(m: MetaFeature) -> tuple[str, ...]:
    return f"`{m.name}`", m.group, m.range, m.meaning, m.reference


def written(page: str) -> str:
    rows = [COLUMNS, ("---",) * len(COLUMNS), *map(row_of, META_FEATURES)]
    lines = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    (table,) = TABLE.finditer(page)
    return page[: table.start()] + lines + page[table.end() :]


def test_the_table_is_that_of_the_package() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run python -m tests.metalearning.meta_features.test_methods_page"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
