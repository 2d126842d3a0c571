"""A tree as an SVG 1.1 picture: the root on the left, one column per depth, one row per leaf."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape

from autoprog.diagnosis.folding import MAX_NODES, Folded, caption, folded
from autoprog.diagnosis.tree import Tree

_COLUMN, _ROW, _MARGIN = 190, 26, 16
_LETTERS = 24
# Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE = (
    "text{font:12px sans-serif;fill:#1b1b1b}"
    ".answer{font-size:10px;fill:#5a5a5a}"
    "path{fill:none;stroke:#8a8a8a}"
    ".query{fill:#2b6cb0}.leaf{fill:#2f855a}.ambiguous{fill:#c05621}.fold{fill:#718096}"
)


def tree_svg(tree: Tree, node: int = 0, depth: int | None = None, most: int = MAX_NODES) -> str:
    """Draw a tree as an SVG document without scripts or links; full names are in the tooltips.

    Parameters
    ----------
    tree : Tree
    node : int
        Root of the part to draw, in [0, n).
    depth : int, optional
        Number of levels drawn below it, at least 0; all by default.
    most : int
        Maximum number of nodes drawn, at least 1; the others are folded and counted.

    Returns
    -------
    str
        The document.

    Raises
    ------
    IndexError
        If the node does not exist.
    """
    part = folded(tree, node, depth, most)
    places, rows = _layout(tree, part)
    width = (1 + max(x for x, _ in places.values())) * _COLUMN + 2 * _MARGIN
    height = rows * _ROW + 2 * _MARGIN
    edges = [_edge(tree, here, places) for here in sorted(part.unfolded)]
    nodes = [_node(tree, here, part, place) for here, place in sorted(places.items())]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="Tree of questions"><style>{_STYLE}</style>'
    )
    return head + "".join(edges) + "".join(nodes) + "</svg>\n"


def _layout(tree: Tree, part: Folded) -> tuple[dict[int, tuple[int, float]], int]:
    """Column and row of every node drawn, and the number of rows; a node is midway between its children."""
    order, waiting = [], [(part.root, 0)]
    while waiting:
        here, column = waiting.pop()
        order.append((here, column))
        if here in part.unfolded:
            waiting += [(int(tree.yes[here]), column + 1), (int(tree.no[here]), column + 1)]
    places: dict[int, tuple[int, float]] = {}
    rows = 0
    for here, column in order:
        if here not in part.unfolded:
            places[here] = (column, rows)
            rows += 1
    for here, column in reversed(order):
        if here in part.unfolded:
            places[here] = (column, (places[int(tree.no[here])][1] + places[int(tree.yes[here])][1]) / 2)
    return places, rows


def _point(place: tuple[int, float]) -> tuple[float, float]:
    column, row = place
    return _MARGIN + column * _COLUMN, _MARGIN + (row + 0.5) * _ROW


def _edge(tree: Tree, here: int, places: dict[int, tuple[int, float]]) -> str:
    x, y = _point(places[here])
    parts = []
    for child, answer in ((int(tree.no[here]), "no"), (int(tree.yes[here]), "yes")):
        to_x, to_y = _point(places[child])
        bend = to_x - 28
        parts.append(f'<path d="M{x:g} {y:g}H{bend:g}V{to_y:g}H{to_x:g}"/>')
        parts.append(f'<text class="answer" x="{bend + 3:g}" y="{to_y - 3:g}">{answer}</text>')
    return "".join(parts)


def _node(tree: Tree, here: int, part: Folded, place: tuple[int, float]) -> str:
    x, y = _point(place)
    text = _FORBIDDEN.sub("\ufffd", caption(tree, here, part))
    if tree.query[here] >= 0:
        kind = "query" if here in part.unfolded else "fold"
    else:
        kind = "ambiguous" if text.startswith("ambiguous: ") and here in tree.ambiguous else "leaf"
    short = text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
    return (
        f'<g><title>{escape(text)}</title><circle class="{kind}" cx="{x:g}" cy="{y:g}" r="4"/>'
        f'<text x="{x + 8:g}" y="{y - 5:g}">{escape(short)}</text></g>'
    )
