"""A tree as indented text."""

from __future__ import annotations

from autoprog.diagnosis.folding import MAX_NODES, caption, folded
from autoprog.diagnosis.tree import Tree


def tree_text(tree: Tree, node: int = 0, depth: int | None = None, most: int = MAX_NODES) -> str:
    """Write a tree as indented text.

    Parameters
    ----------
    tree : Tree
        Any.
    node : int
        Root of the part to write, in [0, n).
    depth : int, optional
        How many levels below it are written, at least 0; all where left out.
    most : int
        The most nodes that are written, at least 1; the others are counted.

    Returns
    -------
    str
        A line a node, with the prior of ending there; a line break inside a name is written as a space.

    Raises
    ------
    IndexError
        If there is no such node.
    """
    part = folded(tree, node, depth, most)
    lines: list[str] = []
    # what stands before a node's own line, and before the lines of what is below it
    waiting = [(node, "", "")]
    while waiting:
        here, own, below = waiting.pop()
        lines.append(own + " ".join(caption(tree, here, part).split()))
        if here in part.unfolded:
            waiting.append((int(tree.yes[here]), f"{below}└─ yes: ", f"{below}   "))
            waiting.append((int(tree.no[here]), f"{below}├─ no: ", f"{below}│  "))
    return "\n".join(lines) + "\n"
