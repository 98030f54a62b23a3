"""The blocks that pages of the dashboard are drawn with, for pages from here and from other packages.

A page is a function that draws with Streamlit; an extension names it in a `workshop.extension.Page`:

    import streamlit as st

    from workshop.web.pages import frame


    def page() -> None:
        identity = frame.heading("Hello", "What this page is about.")
        session = frame.choose_session()
        runs = frame.store().runs(workload="hello", limit=10)
        for run in runs:
            frame.run_link(run.id, f"Run {run.id}")

`frame` has the store, the visitor, the page's heading, the session that it is about, and links to other pages; `blocks`
has tables to pick from, errors as sentences, questions before something is done, and cards of `workshop.report.cards`;
`fields` makes forms of pydantic models, such as a placement; `live` shows a run or a session while it goes on;
`studies` is the page of studies; `navigation` shows the bar with the six places. Words that somebody else wrote go
through `frame.plain`.

The workshop's own pages are the modules of `app/views`.
"""

from __future__ import annotations

from typing import Literal

from workshop.extension import Extension, Page

_INSTRUCTOR: tuple[Literal["instructor"]] = ("instructor",)
EXTENSION = Extension(
    pages=[
        Page("home", "Home", "home", "views.home:page", group="home", order=0),
        Page("labs", "Labs", "menu_book", "views.labs:page", group="labs", order=0),
        Page("run", "New run", "play_circle", "views.run:page", group="run", order=0),
        Page("history", "All runs", "history", "views.history:page", group="run", order=10),
        Page("explore", "Explore", "explore", "workshop.web.pages.navigation:explore", order=0),
        Page("quizzes", "Quiz", "quiz", "views.quizzes:page", group="quiz", order=0),
        Page("progress", "Class", "groups", "views.progress:page", group="class", order=0, roles=_INSTRUCTOR),
        Page("session", "Session", "memory", "views.session:page", group="class", order=10),
    ]
)
