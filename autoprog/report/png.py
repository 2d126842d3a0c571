"""Drawings as PNG by matplotlib's Agg, which needs neither a browser nor a library of the system.

cairosvg needs cairo from the system, and resvg has no wheel that is kept up; matplotlib is drawn on for the estimator's
figures anyway. It draws the same shapes as SVG has: the layout is made once, in `drawing`.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Literal

from autoprog.extras import require
from autoprog.report.scene import Dot, Ink, Path, Scene, Text

if TYPE_CHECKING:
    from matplotlib.artist import Artist

DPI = 300
_FONT = "DejaVu Sans"  # matplotlib brings it
_ALIGNED: dict[str, Literal["left", "center", "right"]] = {"start": "left", "middle": "center", "end": "right"}


def write_png(scene: Scene, dpi: int = DPI) -> bytes:
    """Draw a scene.

    Parameters
    ----------
    scene : Scene
        The drawing.
    dpi : int
        Dots an inch.

    Returns
    -------
    bytes
        A PNG file of `scene.width * dpi / 72` by `scene.height * dpi / 72` dots.

    Raises
    ------
    MissingPackageError
        Without matplotlib.
    """
    require("matplotlib", "a figure as PNG")
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  an extra
    from matplotlib.figure import Figure  # noqa: PLC0415

    # Not by pyplot, which keeps figures in the process and is not for threads.
    figure = Figure(figsize=(scene.width / 72, scene.height / 72), dpi=dpi, facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, scene.width), ylim=(scene.height, 0))
    axes.set_axis_off()
    for order, shape in enumerate(scene.shapes):
        artist = _artist(shape)
        artist.set_zorder(order)
        axes.add_artist(artist)
        if isinstance(shape, Path) and shape.clip is not None:
            from matplotlib.patches import Rectangle  # noqa: PLC0415

            left, top, right, bottom = shape.clip
            artist.set_clip_path(Rectangle((left, top), right - left, bottom - top, transform=axes.transData))
    out = BytesIO()
    FigureCanvasAgg(figure).print_png(out)  # type: ignore[no-untyped-call]
    return out.getvalue()


def _artist(shape: Path | Dot | Text) -> Artist:
    from matplotlib.lines import Line2D  # noqa: PLC0415
    from matplotlib.patches import Circle, Polygon  # noqa: PLC0415
    from matplotlib.text import Text as Writing  # noqa: PLC0415

    if isinstance(shape, Text):
        return Writing(
            *shape.place,
            shape.text.replace("$", r"\$"),
            color=shape.color,
            fontsize=shape.size,
            fontfamily=_FONT,
            fontweight="bold" if shape.bold else "normal",
            horizontalalignment=_ALIGNED[shape.anchor],
            verticalalignment="baseline",
            rotation=90 if shape.upright else 0,
            rotation_mode="anchor",
        )
    if isinstance(shape, Dot):
        return Circle(shape.place, shape.radius, **_ink(shape.ink))
    if shape.closed:
        return Polygon(shape.places, closed=True, **_ink(shape.ink))
    x, y = zip(*shape.places, strict=True)
    ink = shape.ink
    line = Line2D(x, y, color=ink.stroke, linewidth=ink.width, alpha=ink.opacity, solid_joinstyle="round")
    if ink.dash:
        line.set_linestyle((0, tuple(part / ink.width for part in ink.dash)))
    return line


def _ink(ink: Ink) -> dict[str, object]:
    return {
        "facecolor": ink.fill or "none",
        "edgecolor": ink.stroke or "none",
        "linewidth": ink.width if ink.stroke else 0,
        "alpha": ink.opacity,
    }
