"""Drawings as SVG."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from autoprog.report.scene import Box, Dot, Ink, Path, Scene, Text
from autoprog.xml_text import make_writable

FONT = "'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


def write_svg(scene: Scene, title: str, description: str, name: str = "figure") -> str:
    """Write a drawing as one SVG element.

    Parameters
    ----------
    scene : Scene
        The drawing.
    title, description : str
        Its name, and what a reader who cannot see it needs to know.
    name : str
        Prefix of the element's identifiers, unique in the page.

    Returns
    -------
    str
        It needs no style sheet, font or other file.
    """
    clips: dict[Box, str] = {}
    shapes = [_shape(shape, clips, name) for shape in scene.shapes]
    definitions = "".join(
        f'<clipPath id="{identifier}"><rect x="{_n(left)}" y="{_n(top)}" width="{_n(right - left)}" '
        f'height="{_n(bottom - top)}"/></clipPath>'
        for (left, top, right, bottom), identifier in clips.items()
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(scene.width)} {_n(scene.height)}" '
        f'width="{_n(scene.width)}pt" height="{_n(scene.height)}pt" role="img" aria-labelledby="{name}-t {name}-d" '
        f"font-family={quoteattr(FONT)}>"
        f'<title id="{name}-t">{_escape(title)}</title><desc id="{name}-d">{_escape(description)}</desc>'
        f"<defs>{definitions}</defs>{''.join(shapes)}</svg>"
    )


def _shape(shape: Path | Dot | Text, clips: dict[Box, str], name: str) -> str:
    if isinstance(shape, Text):
        return _text(shape)
    if isinstance(shape, Dot):
        x, y = shape.place
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(shape.radius)}"{_ink(shape.ink)}/>'
    clip = ""
    if shape.clip is not None:
        clip = f' clip-path="url(#{clips.setdefault(shape.clip, f"{name}-c{len(clips)}")})"'
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in shape.places)
    return f'<{"polygon" if shape.closed else "polyline"} points="{points}"{_ink(shape.ink)}{clip}/>'


def _text(text: Text) -> str:
    x, y = text.place
    turned = f' transform="rotate(-90 {_n(x)} {_n(y)})"' if text.upright else ""
    bold = ' font-weight="bold"' if text.bold else ""
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{_n(text.size)}" text-anchor="{text.anchor}" '
        f'fill="{text.color}"{bold}{turned}>{_escape(text.text)}</text>'
    )


def _escape(text: str) -> str:
    return escape(make_writable(text))


def _ink(ink: Ink) -> str:
    parts = [f' fill="{ink.fill or "none"}"']
    if ink.stroke:
        parts.append(f' stroke="{ink.stroke}" stroke-width="{_n(ink.width)}" stroke-linejoin="round"')
    if ink.dash:
        parts.append(f' stroke-dasharray="{" ".join(map(_n, ink.dash))}"')
    if ink.opacity < 1:
        parts.append(f' opacity="{ink.opacity:g}"')
    return "".join(parts)


def _n(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"
