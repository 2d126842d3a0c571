"""Numbers of tables and figures, in the order of the report."""

from __future__ import annotations

from autoprog.report.document import Figure, Report, Table


def number_blocks(report: Report) -> dict[str, str]:
    """Name of each table and figure -> `Table 1`, `Figure 1`, ..."""
    counts = {"Table": 0, "Figure": 0}
    numbers: dict[str, str] = {}
    for section in report.sections:
        for block in section.blocks:
            if isinstance(block, Table | Figure):
                kind = "Table" if isinstance(block, Table) else "Figure"
                counts[kind] += 1
                numbers[block.name] = f"{kind} {counts[kind]}"
    return numbers
