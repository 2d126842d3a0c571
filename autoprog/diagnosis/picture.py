"""A tree as an SVG 1.1 picture: the root on the left, one column per depth, one row per leaf."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from xml.sax.saxutils import escape

import numpy as np

from autoprog.diagnosis.tree import Tree
from autoprog.xml_text import make_writable

MAX_NODES = 127
"""Default number of nodes drawn."""


@dataclass(frozen=True)
class Folded:
    """A part of a tree to draw."""

    root: int
    unfolded: frozenset[int]  # nodes whose children are drawn; any other node that asks is drawn as a fold


def folded(tree: Tree, node: int = 0, depth: int | None = None, most: int = MAX_NODES) -> Folded:
    """Choose the nodes to draw, unfolding the most probable first; raises `IndexError` if the node does not exist."""
    if not 0 <= node < tree.n_nodes:
        msg = f"the tree has nodes 0 to {tree.n_nodes - 1}, not {node}"
        raise IndexError(msg)
    deepest = np.inf if depth is None else int(tree.depth[node]) + depth
    unfolded: set[int] = set()
    drawn, waiting = 1, [(-float(tree.mass[node]), node)]
    while waiting and drawn + 2 <= most:
        _, next_node = heapq.heappop(waiting)
        if tree.query[next_node] < 0 or tree.depth[next_node] >= deepest:
            continue
        unfolded.add(next_node)
        drawn += 2
        for child in (int(tree.no[next_node]), int(tree.yes[next_node])):
            heapq.heappush(waiting, (-float(tree.mass[child]), child))
    return Folded(node, frozenset(unfolded))


def caption(tree: Tree, node: int, part: Folded) -> str:
    """Text of a node: `fever?`, `influenza (0.25)`, or `fever? … 14 more nodes, 8 objects (0.02)` for a fold."""
    share = f"({tree.mass[node]:.3g})"
    if tree.query[node] >= 0:
        question = f"{tree.model.queries[tree.query[node]]}?"
        if node in part.unfolded:
            return question
        # every node that asks has two children, so l leaves have l - 1 such nodes above them
        below = 2 * tree.n_leaves_below(node) - 2
        return f"{question} … {below:,} more nodes, {tree.stop[node] - tree.start[node]:,} objects {share}"
    targets = np.unique(tree.model.target_of[tree.objects_of(node)])
    if len(targets) == 1:
        return f"{tree.model.targets[targets[0]]} {share}"
    names = [tree.model.targets[t] for t in targets[:3]]
    more = f" or {len(targets) - 3:,} others" if len(targets) > 3 else ""
    return f"ambiguous: {' or '.join(names)}{more} {share}"


_COLUMN, _ROW, _MARGIN = 190, 26, 16
_LETTERS = 24

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
    text = make_writable(caption(tree, here, part))
    if tree.query[here] >= 0:
        kind = "query" if here in part.unfolded else "fold"
    else:
        kind = "ambiguous" if text.startswith("ambiguous: ") and here in tree.ambiguous else "leaf"
    short = text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
    return (
        f'<g><title>{escape(text)}</title><circle class="{kind}" cx="{x:g}" cy="{y:g}" r="4"/>'
        f'<text x="{x + 8:g}" y="{y - 5:g}">{escape(short)}</text></g>'
    )


def tree_text(tree: Tree, node: int = 0, depth: int | None = None, most: int = MAX_NODES) -> str:
    """Write a tree as indented text, one line per node with its prior probability; parameters as in `tree_svg`."""
    part = folded(tree, node, depth, most)
    lines: list[str] = []
    # node, prefix of its own line, prefix of the lines below it
    waiting = [(node, "", "")]
    while waiting:
        here, own, below = waiting.pop()
        # a line break inside a name becomes a space
        lines.append(own + " ".join(caption(tree, here, part).split()))
        if here in part.unfolded:
            waiting.append((int(tree.yes[here]), f"{below}└─ yes: ", f"{below}   "))
            waiting.append((int(tree.no[here]), f"{below}├─ no: ", f"{below}│  "))
    return "\n".join(lines) + "\n"
