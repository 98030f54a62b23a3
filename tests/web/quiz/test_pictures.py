"""Pictures of a live round: for those who may see the question, and no sooner."""

from __future__ import annotations

from pathlib import Path

from tests.web.dashboard import Dashboard
from tests.web.quiz.players import join, line
from workshop.quiz import reader
from workshop.store.records import QuizRound
from workshop.web.quiz import rounds

PICTURE = "<svg xmlns='http://www.w3.org/2000/svg'><rect width='4' height='4'/></svg>"
DECK = """
deck: drawn
title: Drawn
questions:
- {id: plain, type: poll, text: "Do you?", options: [{text: Yes}, {text: No}]}
- {id: seen, type: poll, text: "Do you?", options: [{text: Yes}, {text: No}], picture: {file: a.svg, alt: A}}
"""


def begin(dashboard: Dashboard, folder: Path) -> QuizRound:
    (folder / "a.svg").write_text(PICTURE)
    return rounds.host(dashboard.store, reader.parse(DECK, "drawn.yaml", folder), folder)


def test_a_picture_comes_with_its_question(dashboard: Dashboard, tmp_path: Path) -> None:
    record = begin(dashboard, tmp_path)
    host, ada, outside = dashboard.instructor(), join(dashboard, record), dashboard.learner()
    elsewhere = join(dashboard, begin(dashboard, tmp_path), "Bob")
    src = f"/quiz/{record.id}/picture/seen"
    with line(ada, record) as a, line(host, record, "host") as h:
        h.do("next", "question")
        assert a.phase("question")["question"]["picture"] is None
        assert "no question seen" in ada.get(src).text and ada.get(src).status == 404
        assert host.get(src).status == 200, "the host may look at it before"
        h.do("skip", "question")
        shown = a.wait("state", wanted=lambda state: state["question"]["id"] == "seen")
        assert shown["question"]["picture"] == {"src": src[1:], "alt": "A"}
    picture = ada.get(src)
    assert (picture.status, picture.text) == (200, PICTURE)
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert "sandbox" in picture.headers["content-security-policy"]
    for visitor in (outside, elsewhere, dashboard.stranger()):
        assert visitor.get(src).status == 403
    for other in ("plain", "nothing", "a.svg"):
        assert ada.get(f"/quiz/{record.id}/picture/{other}").status == 404
    assert ada.get("/quiz/9999/picture/seen").status == 404
    (tmp_path / "a.svg").unlink()
    assert "a.svg can't be read" in host.get(src).text
