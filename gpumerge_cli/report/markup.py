"""HTML and SVG elements as trees, so that the text is balanced and escaped, whatever names contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

from gpumerge_cli.units import visible

Part = Element | str | None


def tag(name: str, *parts: Part, **attributes: str) -> Element:
    """An element with these parts in it. `class_="a"` is the attribute class, `fill_opacity` is fill-opacity."""
    element = Element(name, {key.rstrip("_").replace("_", "-"): visible(value) for key, value in attributes.items()})
    last: Element | None = None
    for part in parts:
        if isinstance(part, Element):
            element.append(part)
            last = part
        elif part and last is None:
            element.text = (element.text or "") + visible(part)
        elif part and last is not None:
            last.tail = (last.tail or "") + visible(part)
    return element


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> Element:
    """A table of text; the columns `right` are set to the right. It scrolls where it is too wide."""
    to_the_right = set(right)

    def cells(kind: str, row: Sequence[str]) -> Element:
        return tag("tr", *(tag(kind, cell, class_="n" if at in to_the_right else "t") for at, cell in enumerate(row)))

    body = tag("tbody", *(cells("td", row) for row in rows))
    return tag("div", tag("table", tag("thead", cells("th", header)), body), class_="scroll")


def listed(items: Iterable[str]) -> Element | None:
    """A list of sentences; None if there are none."""
    parts = [tag("li", item) for item in items]
    return tag("ul", *parts) if parts else None


def rectangle(
    start: float, stop: float, top: float, height: float, style: str, tooltip: str = "", **more: str
) -> Element:
    """An SVG rectangle. start, stop: shares of the width of the picture. top, height: pixels. tooltip: its title."""
    return tag(
        "rect",
        tag("title", tooltip) if tooltip else None,
        x=_percent(start),
        width=_percent(max(0.0, stop - start)),
        y=f"{top:g}",
        height=f"{height:g}",
        class_=style,
        **more,
    )


def upright(place: float, style: str, top: str = "0", bottom: str = "100%") -> Element:
    """An SVG line from top to bottom. place: a share of the width of the picture."""
    return tag("line", x1=_percent(place), x2=_percent(place), y1=top, y2=bottom, class_=style)


def text_label(place: float, text: str) -> Element:
    """Text of an SVG axis, about a share of the width of the picture and inside it."""
    anchor = "start" if place < 0.06 else "end" if place > 0.94 else "middle"
    return tag("text", text, x=_percent(place), y="12", text_anchor=anchor)


def picture(height: float, *parts: Part, alt: str) -> Element:
    """An SVG as wide as its place, and `height` pixels high. alt: its content in words, for screen readers."""
    return tag("svg", *parts, width="100%", height=f"{height:g}", role="img", aria_label=alt)


def lane(name: Part, value: Part, track: Element, style: str = "") -> Element:
    """A line of a chart: its name, its value, and its picture."""
    return tag(
        "div",
        tag("div", name, class_="name"),
        tag("div", track, class_="track"),
        tag("div", value, class_="value"),
        class_=f"lane {style}".strip(),
    )


def page(title: str, style: str, parts: Iterable[Part]) -> str:
    """A whole page, complete in itself."""
    css = Element("style")
    css.text = style
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        css,
    )
    root = tag("html", head, tag("body", tag("main", *parts)), lang="en")
    return f"<!DOCTYPE html>\n{tostring(root, encoding='unicode', method='html')}\n"


def _percent(share: float) -> str:
    return f"{round(100 * share, 3):g}%"
