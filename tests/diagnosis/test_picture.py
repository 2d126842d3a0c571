"""Pictures: every node once, long trees folded, names escaped."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from autoprog.diagnosis import build_model, grow_tree, tree_svg, tree_text
from autoprog.diagnosis.picture import folded
from tests.diagnosis.models import random_model, to_matrix

SVG = "{http://www.w3.org/2000/svg}"


def test_the_toy_as_text() -> None:
    matrix = np.array([[0, 1, 0, 1], [1, 1, 1, 0], [1, 0, 0, 0]]).T
    model = build_model(matrix, queries=["q1", "q2", "q3"], groups=["one", "one", "one", "two"])
    assert tree_text(grow_tree(model)) == "q2?\n├─ no: two (0.25)\n└─ yes: one (0.75)\n"


def test_every_node_is_drawn_once() -> None:
    tree = grow_tree(random_model(np.random.default_rng(1), 50, 15, K=5))
    root = ET.fromstring(tree_svg(tree, most=10_000))  # noqa: S314  written a line above
    assert len(root.findall(f"{SVG}g")) == tree.n_nodes
    assert len(root.findall(f"{SVG}path")) == tree.n_nodes - 1
    circles = [c.get("class") for c in root.iter(f"{SVG}circle")]
    assert circles.count("query") == len(tree.internal)
    assert circles.count("ambiguous") == len(tree.ambiguous)
    assert len(tree_text(tree, most=10_000).splitlines()) == tree.n_nodes
    places = {(c.get("cx"), c.get("cy")) for c in root.iter(f"{SVG}circle")}
    assert len(places) == tree.n_nodes


@pytest.mark.parametrize("most", [1, 2, 3, 30, 127])
def test_a_long_tree_folds_and_counts_what_it_hides(most: int) -> None:
    tree = grow_tree(to_matrix("many_diseases"))
    lines = tree_text(tree, most=most).splitlines()
    assert len(lines) <= max(most, 1)
    hidden = sum(int(line.split("… ")[1].split(" more")[0].replace(",", "")) for line in lines if "… " in line)
    assert len(lines) + hidden == tree.n_nodes
    root = ET.fromstring(tree_svg(tree, most=most))  # noqa: S314  written a line above
    assert len(root.findall(f"{SVG}g")) == len(lines)


def test_depth_and_root_of_a_part() -> None:
    tree = grow_tree(to_matrix("zoo"))
    part = folded(tree, 0, depth=2)
    assert {int(tree.depth[node]) for node in part.unfolded} == {0, 1}
    below = int(tree.yes[0])
    text = tree_text(tree, below, depth=1)
    assert text.splitlines()[0].startswith(str(tree.node(below).get("query", tree.node(below).get("group"))))
    assert tree_text(tree, 0, depth=0).count("\n") == 1
    for bad in (-1, tree.n_nodes):
        with pytest.raises(IndexError):
            tree_svg(tree, bad)


def test_likelier_parts_are_unfolded_first() -> None:
    model = build_model([[0, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], prior=[1, 1, 1, 30, 30, 30])
    tree = grow_tree(model)
    part = folded(tree, most=5)
    likely = max((int(tree.no[0]), int(tree.yes[0])), key=lambda node: tree.mass[node])
    assert part.unfolded == {0, likely}


def test_names_are_escaped_and_cleaned() -> None:
    names = ('<script>alert("x")</script>', "a & b", "line\nbreak", "bell\x07")
    model = build_model([[0, 0], [0, 1], [1, 0], [1, 1]], queries=["</svg>", "q&a"])
    model = replace(model, objects=names, groups=names)  # as earlier versions took them
    tree = grow_tree(model)
    picture = tree_svg(tree)
    root = ET.fromstring(picture)  # noqa: S314  written a line above
    assert "<script>" not in picture
    titles = [t.text or "" for t in root.iter(f"{SVG}title")]
    assert any(names[0] in title for title in titles)
    assert any("bell\ufffd" in title for title in titles)
    assert len(tree_text(tree).splitlines()) == tree.n_nodes
