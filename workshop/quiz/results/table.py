"""Tables of the report. On a phone each row becomes a block, in which the headings stand before the cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

Cells = Sequence[str]  # HTML


def table(headings: Sequence[tuple[str, str]], rows: Iterable[Cells], caption: str = "") -> str:
    """Headings are text, each with the class of its column: "number", "figure", "name" (which needs no heading on a
    phone), "typed" (likewise, with text that may be long) or ""."""
    heads = "".join(f'<th class="{look}">{escape(name)}</th>' for name, look in headings)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td class="{look}" data-heading="{escape(name)}">{cell}</td>'
            for (name, look), cell in zip(headings, cells, strict=True)
        )
        + "</tr>"
        for cells in rows
    )
    told = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{told}<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def name(text: str) -> str:
    """What somebody typed, as text: its direction is its own and doesn't turn what stands around it."""
    return f"<bdi>{escape(text)}</bdi>"
