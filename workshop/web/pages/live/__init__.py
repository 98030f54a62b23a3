"""Components of pages: live views, which listen to the server's WebSocket, so that no script runs when something
changes; and figures, so that a page loads plotly.js once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from workshop.report.run_sections import MOMENTS
from workshop.store.records import Identity

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_HERE = Path(__file__).parent
_STYLE = (_HERE / "live.css").read_text()


def _component(view: str, *scripts: str, css: str | None = None) -> Any:
    """A component of its own scripts: what all views share comes first."""
    script = "\n".join((_HERE / f"{name}.js").read_text() for name in ("shared", *scripts, view))
    return st.components.v2.component(f"workshop_{view}", css=css, js=script, isolate_styles=False)


_run = _component("run", "cards", css=_STYLE)
_session = _component("session", "cards", css=_STYLE)
_class = _component("class", "cards", css=_STYLE)
_figure = _component("figure")


def draw_figure(plot: Figure, key: str, picks: bool = False) -> Any:
    """Draw a figure over the width of its place. With `picks`, returns the first `customdata` of the mark that was
    clicked at last; None before the first click."""
    height = round(plot.layout.height or 0) or "content"  # nothing moves when the script comes
    about: dict[str, Any] = {"key": key, "data": {"figure": plot.to_json(), "picks": picks}, "height": height}
    return _figure(**about, on_picked_change=lambda: None).picked if picks else _figure(**about) and None


def run_view(run_id: int, identity: Identity, projector: bool = False) -> None:
    """One run as it goes on; for the projector with as much as fits."""
    me = {"id": identity.id, "instructor": identity.role == "instructor"}
    addresses = {"path": f"live/run/{run_id}", "cancel": f"run/{run_id}/cancel", "moments": MOMENTS}
    _run(key=f"live-run-{run_id}", data={**addresses, "run": run_id, "me": me, "projector": projector})


def session_view(name: str) -> None:
    """One session as it goes on."""
    _session(key=f"live-session-{name}", data={"path": f"live/session/{name}"})


def class_view() -> None:
    """Everybody's progress as it goes on; for the instructor."""
    _class(key="live-class", data={"path": "live/class"})
