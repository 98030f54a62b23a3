"""The blocks that pages of the dashboard are drawn with, for pages from here and from other packages.

A page is a function that draws with Streamlit; an extension names it in a `workshop.extension.Page`:

    import streamlit as st

    from workshop.pages import cards, frame, links


    def page() -> None:
        identity = frame.heading("Hello", "What this page is about.")
        session = frame.choose_session()
        runs = frame.store().runs(workload="hello", limit=10)
        for run in runs:
            links.run_link(run.id, f"Run {run.id}")

`frame` has the store, the visitor, the page's heading and the session that it is about; `blocks` has tables to pick
from, errors as sentences and questions before something is done; `cards` draws cards of `workshop.report.cards`;
`fields` makes forms of pydantic models, such as a placement; `live` shows a run or a session while it
goes on; `links` leads to other pages; `studies` is for pages about a study; `navigation` shows all pages. Words that
somebody else wrote go through `frame.plain`.

The workshop's own pages are the modules of `app/views`.
"""

from __future__ import annotations

from workshop.extension import Extension, Page

_BUILT_IN = (
    ("welcome", "Welcome", "home", 100),
    ("labs", "Labs", "menu_book", 120),
    ("session", "Session", "memory", 150),
    ("run", "Run", "play_circle", 250),
    ("studies", "Studies", "ssid_chart", 300),
    ("quizzes", "Quizzes", "quiz", 600),
    ("history", "History", "history", 800),
)
EXTENSION = Extension(
    pages=[
        *(Page(name, title, icon, f"views.{name}:page", order=order) for name, title, icon, order in _BUILT_IN),
        Page("progress", "Class", "groups", "views.progress:page", order=700, roles=("instructor",)),
    ]
)
