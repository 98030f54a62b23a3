"""How figures look: one template, colours that colour-blind people can tell apart, type that a projector can show."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

INK = "#16232e"
MUTED = "#566573"
LINE = "#d5dde4"
PANEL = "#f2f5f8"
PAPER = "#ffffff"
ACCENT = "#0b5c7a"
ALARM = "#b3261e"
FONT = '"Source Sans", "Source Sans Pro", "Segoe UI", Helvetica, Arial, sans-serif'

# Okabe and Ito's palette, which people with any colour vision can tell apart (Color Universal Design, 2008); its
# black is a grey here, because black is what text has.
RANKS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442", "#7a7a7a")

# Phases differ in lightness, so that they can be told apart in grey, too, above all those that follow each other in a
# step; waiting is hatched.
PHASES = {"input": "#b5cf8f", "compute": "#1d4e6b", "wait": "#fbeedd", "communicate": "#7fb6d6", "update": "#8468a8"}
HATCH = "#d9a066"
GOOD, OTHER = RANKS[2], RANKS[4]  # the green; the red, which is the farthest from the accent
FAINT = "#8fc0d6"  # the accent, lighter: what stands beside the best one
REST = "#b8c4ce"  # what has no colour of its own, and frames
EMPTY = "#e6ebf0"  # a place that nobody has
STRIPES = "#c3ccd4"  # of cells without a value
# One hue from light to dark, which any colour vision and a grey printer keep in order.
SCALE = ((0.0, "#dcecf3"), (0.35, FAINT), (0.7, "#2f7f9f"), (1.0, "#06384d"))
# Phases of a federation that no other run has.
ENCODE, BROADCAST = "#d8c66a", "#e3b7c9"
EVEN = 0.21  # the luminance on which white text and text in ink have the same contrast
IDEAL = {"color": MUTED, "width": 2, "dash": "dash"}  # the line of what would be ideal


HOVER = {"hovertemplate": "%{hovertext}<extra></extra>"}  # the words of a mark, and nothing else


def phase_marker(phase: str) -> dict[str, Any]:
    """How the bars of a phase are filled."""
    hatch = {"shape": "/", "fgcolor": HATCH, "size": 8, "solidity": 0.3, "bgcolor": PHASES["wait"]}
    return {"color": PHASES[phase], **({"pattern": hatch} if phase == "wait" else {})}


def rank_colour(rank: int) -> str:
    """The colour of a rank; from the ninth rank on colours come again."""
    return RANKS[rank % len(RANKS)]


def text_on(colour: str) -> str:
    """The text colour that has more contrast on a colour "#rrggbb" (WCAG 2.2, relative luminance)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
    return PAPER if luminance < EVEN else INK


_LABELS = {"size": 15, "color": MUTED}
_AXIS = {"gridcolor": LINE, "linecolor": LINE, "zeroline": False, "ticks": "", "automargin": True, "tickfont": _LABELS}
_AXIS["title"] = {"font": _LABELS, "standoff": 10}
_BAR = {"marker": {"line": {"width": 0}}, "textposition": "inside", "insidetextanchor": "start", "textangle": 0}
_CONNECTOR = {"line": {"color": MUTED, "width": 1}}
_COLOURBAR = {"outlinewidth": 0, "thickness": 16, "title": {"side": "right"}}
TEMPLATE = go.layout.Template(
    data={
        "bar": [{**_BAR, "textfont": {"size": 15}}],
        "heatmap": [{"xgap": 2, "ygap": 2, "showscale": False, "colorscale": SCALE, "colorbar": _COLOURBAR}],
        "waterfall": [{"textposition": "auto", "textfont": {"size": 16}, **HOVER, "connector": _CONNECTOR}],
        "scatter": [{"line": {"width": 3}, "marker": {"size": 11}}],
    },
    layout={
        "font": {"family": FONT, "size": 16, "color": INK},
        "title": {"font": {"size": 18, "color": INK}, "x": 0, "xref": "container", "xanchor": "left", "y": 0.97},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "colorway": list(RANKS),
        "xaxis": _AXIS,
        "yaxis": _AXIS,
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom", "font": {"size": 15}},
        "margin": {"l": 8, "r": 16, "t": 16, "b": 8},
        "hoverlabel": {"font": {"family": FONT, "size": 15, "color": INK}, "bgcolor": PAPER, "bordercolor": LINE},
        "separators": ". ",
    },
)


def figure(traces: list[Any] | None = None, **layout: Any) -> go.Figure:
    """A figure in the workshop's look."""
    return go.Figure(data=traces or [], layout={"template": TEMPLATE, **layout})


def on_paper(figure: go.Figure) -> go.Figure:
    """A figure on white, for files and notebooks, whose own background may be dark."""
    return go.Figure(figure).update_layout(paper_bgcolor=PAPER, plot_bgcolor=PAPER)


def nothing_yet(words: str, height: int = 260) -> go.Figure:
    """An empty figure that says why it is empty."""
    bare = {"visible": False, "range": [0, 1]}
    return figure(xaxis=bare, yaxis=bare, annotations=[note(0.5, 0.5, words, 16, MUTED)], height=height)


def note(x: Any, y: Any, words: str, size: int = 15, colour: str = INK, **more: Any) -> dict[str, Any]:
    """Words in a figure."""
    return {"x": x, "y": y, "text": words, "showarrow": False, "font": {"size": size, "color": colour}, **more}
