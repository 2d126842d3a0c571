"""The page that explains a search's model: what it looks at, how risks change, whether more patients would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api.cohorts.service import cohort_document
from api.dependencies import ContextDependency, ReadSession
from api.explanations import service
from api.explanations.schemas import EffectDocument, ExplanationDocument, ExplanationResult
from api.pages.rendering import redirect, render
from api.pages.searches.plots import HEIGHT, WIDTH, Axis, axis_over, band, points
from api.pages.sessions import PageReader, PageWriter
from autoprog.errors import NotFoundError
from autoprog.performance import metric_direction
from autoprog.storage.repositories import CohortRepository, SearchRepository

router = APIRouter()

_SHOWN = 15  # inputs whose importance is drawn
_ROW, _BAR, _SMALL = 26.0, 190.0, 160.0


@dataclass(frozen=True, slots=True)
class Bar:
    """An input's importance as drawn: the length of its bar and the ends of its interval."""

    feature: str
    y: float
    zero: float
    estimate: float  # places
    lower: float
    upper: float
    loss: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class EffectPlot:
    """How the risk changes with one input, as drawn."""

    feature: str
    across: Axis | None  # None for levels
    down: Axis
    line: str
    levels: tuple[tuple[str, float, float, float, int], ...]  # text, place, height, change, patients


@dataclass(frozen=True, slots=True)
class CurvePlot:
    """The score by number of patients, as drawn."""

    across: Axis
    down: Axis
    line: str
    band: str
    rises: bool  # whether greater scores are better
    points: tuple[tuple[int, float], ...]


@router.get("/searches/{search_id}/explanation")
def show_explanation(
    request: Request, search_id: str, principal: PageReader, session: ReadSession, horizon: int = -1
) -> Response:
    """Show the explanation, or how far it is; htmx gets the part that changes."""
    row = SearchRepository(session).get(principal.owner_id, search_id)
    try:
        found: ExplanationDocument | None = service.read_explanation(session, principal.owner_id, search_id)
    except NotFoundError:
        found = None
    cohort = cohort_document(CohortRepository(session).get(principal.owner_id, row.cohort_id))
    values: dict[str, Any] = {"search": row, "cohort": cohort, "explanation": found}
    if found is not None and found.result is not None:
        values |= _draw(found.result, horizon)
    part = "searches/explanation_part.html"
    return render(request, part if "hx-request" in request.headers else "searches/explanation.html", **values)


@router.post("/searches/{search_id}/explanation")
def ask(search_id: str, context: ContextDependency, principal: PageWriter) -> Response:
    """Queue the explanation."""
    with context.database.session() as session:
        service.request_explanation(context, session, principal.owner_id, search_id)
    return redirect(f"/searches/{search_id}/explanation")


def _draw(result: ExplanationResult, horizon: int) -> dict[str, Any]:
    horizons = [each.horizon for each in result.importance[0].horizons] if result.importance else [None]
    k = horizon if 0 <= horizon < len(horizons) else len(horizons) - 1
    bars, across = _draw_bars(result, k)
    return {
        "horizons": horizons,
        "chosen": k,
        "bars": bars,
        "bar_axis": across,
        "bar_size": (_BAR, _ROW),
        "effects": [_draw_effect(each, k) for each in result.effects],
        "effect_width": _SMALL,
        "curve": _draw_curve(result),
    }


def _draw_bars(result: ExplanationResult, k: int) -> tuple[list[Bar], Axis | None]:
    rows = []
    for each in result.importance:
        measures = each.horizons[k].measures
        loss = next(iter(measures.values()))
        if loss.estimate is not None and loss.lower is not None and loss.upper is not None:
            rows.append((each.feature, loss.estimate, loss.lower, loss.upper, measures))
    rows.sort(key=lambda row: -row[1])
    rows = rows[:_SHOWN]
    if not rows:
        return [], None
    across = Axis(min(0.0, *(row[2] for row in rows)), max(0.001, *(row[3] for row in rows)), _BAR)
    bars = [
        Bar(
            feature,
            i * _ROW,
            across.place(0.0),
            across.place(estimate),
            across.place(lower),
            across.place(upper),
            {name: loss.estimate for name, loss in measures.items()},
        )
        for i, (feature, estimate, lower, upper, measures) in enumerate(rows)
    ]
    return bars, across


def _draw_effect(effect: EffectDocument, k: int) -> EffectPlot:
    change = [each[k] for each in effect.change]
    down = axis_over([0.0, *change], _SMALL, downwards=True, margin=0.1)
    if effect.kind == "levels":
        zero, step = down.place(0.0), _SMALL / len(change)
        levels = tuple(
            (str(text), i * step, down.place(c) - zero, c, n)
            for i, (text, c, n) in enumerate(zip(effect.at, change, effect.n, strict=True))
        )
        return EffectPlot(effect.feature, None, down, "", levels)
    at = [float(value) for value in effect.at]
    across = Axis(at[0], at[-1], _SMALL)
    return EffectPlot(effect.feature, across, down, points(at, change, across, down), ())


def _draw_curve(result: ExplanationResult) -> CurvePlot | None:
    known = [
        (point.n_patients, point.estimate, point.lower, point.upper)
        for point in result.learning_curve.points
        if point.estimate is not None and point.lower is not None and point.upper is not None
    ]
    if len(known) < 2:
        return None
    n, estimate, lower, upper = (_column(known, j) for j in range(4))
    across = Axis(0.0, max(n), WIDTH)
    down = axis_over([*lower, *upper], HEIGHT, downwards=True)
    return CurvePlot(
        across,
        down,
        points(n, estimate, across, down),
        band(n, lower, upper, across, down),
        metric_direction(result.learning_curve.metric).greater_is_better,
        tuple((int(a), b) for a, b in zip(n, estimate, strict=True)),
    )


def _column(rows: Sequence[tuple[float, ...]], j: int) -> list[float]:
    return [row[j] for row in rows]
