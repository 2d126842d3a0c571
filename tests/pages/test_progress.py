"""The plot of the best score so far."""

from __future__ import annotations

from api.pages.searches.progress import draw_progress


def test_best_score_never_gets_worse_and_the_simple_pipeline_is_number_0() -> None:
    plot = draw_progress([(0, 0.7), (1, 0.6), (2, 0.8), (4, 0.75)], greater_is_better=True)
    assert plot is not None
    assert (plot.simple, plot.last) == (0.7, 0.8)
    heights = [float(point.split(",")[1]) for point in plot.best.split()]
    assert heights == sorted(heights, reverse=True), "upwards is a smaller v"
    smaller = draw_progress([(0, 0.2), (1, 0.3), (2, 0.1)], greater_is_better=False)
    assert smaller is not None
    assert smaller.last == 0.1


def test_no_other_pipeline_stands_for_the_simple_one() -> None:
    plot = draw_progress([(1, 0.6), (2, 0.8)], greater_is_better=True)
    assert plot is not None
    assert plot.simple is None
    assert draw_progress([], greater_is_better=True) is None
