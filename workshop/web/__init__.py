"""The dashboard's server: one ASGI process with Streamlit's pages and all other routes.

`server` puts the application together, with Streamlit's own page and files of runs. Logins and presence:
`auth_middleware`, `auth`, `code_form`. Limits for visitors and for what they send: `limits`. Live pages: `live` has the
WebSockets, and one poller for each thing that somebody watches. Studies that the dashboard started: `study_processes`.
HTML: `templates`. Live rounds of quizzes: `quiz`. What pages ask for on behalf of a visitor: `actions`. The page Class:
`class_sections`. The bar on every page: `classroom` (pace, help). `address` is for `workshop up` and other commands.
"""
