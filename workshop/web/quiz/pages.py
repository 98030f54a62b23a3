"""The pages of a round, as they come from the server: a head, what the script needs to know, and the script. All that
is on them is made by `static/*.js` from the messages of the round's socket."""

from __future__ import annotations

from html import escape

from workshop.web.auth_middleware import FRAMES

# Scripts and styles are files of ours; pictures of decks may be in the page itself, in a question that is learnt alone.
# The projector shows the page of a run in a frame.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; "
    f"connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; {FRAMES}"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="same-origin">
<title>{title}</title>
<link rel="icon" href="/assets/mark.svg">
<link rel="stylesheet" href="/assets/quiz/quiz.css">
</head>
<body class="{view}-page"{data}>
<noscript><p class="offline">This page needs JavaScript; please switch it on.</p></noscript>
<script type="module" src="/assets/quiz/{view}.js"></script>
</body>
</html>
"""


def page(view: str, heading: str, **data: object) -> str:
    """A page whose script is static/`view`.js; `data` is for the script, as data- attributes of the body."""
    attributes = "".join(f' data-{name}="{escape(str(value))}"' for name, value in data.items())
    return PAGE.format(view=view, title=escape(heading), data=attributes)
