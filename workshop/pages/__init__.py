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

`frame` has the store, the visitor, the page's heading and the session that it is about; `cards` draws cards of
`workshop.report.cards`; `fields` makes a form of a pydantic model, and `placement` one of a placement; `live` shows a
run or a session while it goes on; `links` leads to other pages; `studies` is for pages about a study; `navigation`
shows all pages. Words that somebody else wrote go through `frame.plain`.
"""
