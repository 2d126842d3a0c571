"""A tree as indented text."""

from __future__ import annotations

from autoprog.diagnosis.folding import MAX_NODES, caption, folded
from autoprog.diagnosis.tree import Tree


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
