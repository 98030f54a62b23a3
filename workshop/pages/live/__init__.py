"""Live views: components that listen to the server's WebSocket, so that no script runs when something changes."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

from workshop.report.run_sections import MOMENTS
from workshop.store.records import Identity

_HERE = Path(__file__).parent
_STYLE = (_HERE / "live.css").read_text()


def _component(view: str):
    """A component of its own scripts: what all views share comes first."""
    script = "\n".join((_HERE / name).read_text() for name in ("shared.js", "cards.js", f"{view}.js"))
    return st.components.v2.component(f"workshop_{view}", css=_STYLE, js=script, isolate_styles=False)


_run = _component("run")
_session = _component("session")
_class = _component("class")
_learner = _component("learner")


def run_view(run_id: int, identity: Identity, projector: bool = False) -> None:
    """One run as it goes on; for the projector with as much as fits."""
    me = {"id": identity.id, "instructor": identity.role == "instructor"}
    addresses = {"path": f"/live/run/{run_id}", "cancel": f"/run/{run_id}/cancel", "moments": MOMENTS}
    _run(
        key=f"live-run-{run_id}",
        data={**addresses, "run": run_id, "me": me, "projector": projector},
    )


def session_view(name: str) -> None:
    """One session as it goes on."""
    _session(key=f"live-session-{name}", data={"path": f"/live/session/{name}"})


def class_view() -> None:
    """Everybody's progress as it goes on; for the instructor."""
    _class(key="live-class", data={"path": "/live/class"})


def learner_view(name: str) -> None:
    """One learner's progress as it goes on; for the instructor."""
    _learner(key="live-learner", data={"path": f"/live/class?{urlencode({'learner': name})}"})
