"""The dashboard: this file only declares the pages. Served by `python -m workshop.server`."""

import streamlit as st
from parts import frame

frame.set_up()
st.navigation(
    [
        st.Page("views/home.py", title="Welcome", icon=":material/home:", url_path="welcome", default=True),
        st.Page("views/session.py", title="Session", icon=":material/memory:", url_path="session"),
        st.Page("views/placement.py", title="Placement", icon=":material/grid_view:", url_path="placement"),
        st.Page("views/run.py", title="Run", icon=":material/play_circle:", url_path="run"),
        st.Page("views/studies.py", title="Studies", icon=":material/ssid_chart:", url_path="studies"),
        st.Page("views/tuning.py", title="Tuning", icon=":material/tune:", url_path="tuning"),
        st.Page("views/federated.py", title="Federated", icon=":material/diversity_3:", url_path="federated"),
        st.Page("views/quizzes.py", title="Quizzes", icon=":material/quiz:", url_path="quizzes"),
        st.Page("views/progress.py", title="Class", icon=":material/groups:", url_path="progress"),
        st.Page("views/history.py", title="History", icon=":material/history:", url_path="history"),
    ],
    position="top",
).run()
