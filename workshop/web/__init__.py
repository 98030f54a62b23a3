"""The dashboard's server: one ASGI process with Streamlit's pages and all other routes.

`server` puts the application together, with Streamlit's own page. Logins: `auth_middleware`, `auth`, `code_form`.
Limits for visitors: `limits`. Live pages: `live` has the WebSockets, and one poller for each thing that somebody
watches. Files of runs: `artifacts`. Studies that the dashboard started: `study_processes`. HTML: `templates`. Live
rounds of quizzes: `quiz`. What pages ask for on behalf of a visitor: `actions`. The page Class: `class_sections`. The
bar on every page: `classroom` (pace, help) and `presence`. What visitors send is read by `request_body`. `address` and
`child` are for `workshop up` and other commands.
"""
