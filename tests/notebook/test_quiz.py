"""A quiz in a real kernel, driven as a browser drives it: by messages to widgets, seeing what the kernel sends."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.notebook.kernel import Kernel, kernel
from tests.quiz.nine import IDS, SECRETS, YAML, right
from tests.support import limit, starts_processes
from tests.web import seed
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.store import Store

SHOW = "import workshop\nsession = workshop.attach()\nsession.quiz({path!r})"


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    path = tmp_path / "nine.yaml"
    path.write_text(YAML)
    return path


@pytest.fixture
@starts_processes
def notebook(workshop_home: Path) -> Iterator[Kernel]:
    with kernel() as started:
        yield started


def seen(notebook: Kernel, id: str) -> dict[str, Any]:
    """What `tests.quiz.nine` needs to know of a question that is on the screen."""
    texts = [str(notebook.models[one].get("value", "")) for one in notebook.kind("HTML")]
    asked = next(text for text in texts if "<small>Question " in text).partition("</small>")[2]
    return {"id": id, "html": asked}


def respond(notebook: Kernel, id: str, wrong: bool = False) -> None:
    """Give an answer with the widgets that are on the screen, and send it."""
    match id:
        case "one-right" | "some-right" | "which-lab":
            texts = {"one-right": ["one" if wrong else "four"], "which-lab": ["k-means"]}
            for text in texts.get(id, ["send"] if wrong else ["all-reduce", "broadcast"]):
                notebook.set(_letter(notebook, text), value=True)
        case "in-order":
            wanted = ["ranks start", "they compute", "they all-reduce", "they end"]
            for place, text in enumerate(wanted[::-1] if wrong else wanted):
                while _place(notebook, text, wanted) > place:
                    notebook.click("↑", among=text)
        case "belongs":
            listed = {text: str(letter) for letter, text in _rights(notebook)}
            wanted = ["a cable"] * 2 if wrong else ["a process", "a part of a processor"]
            for dropdown, text in zip(notebook.kind("Dropdown"), wanted, strict=True):
                options = notebook.models[dropdown]["_options_labels"]
                notebook.set(dropdown, index=options.index(listed[text]))
        case "put-them":
            for dropdown in notebook.kind("Dropdown"):
                options = notebook.models[dropdown]["_options_labels"]
                notebook.set(dropdown, index=options.index("core" if wrong else "package"))
        case _:
            (text,) = notebook.kind("Text")
            notebook.set(text, value=right(seen(notebook, id), wrong))
    notebook.click("Keep my prediction" if id == "how-long" else "Answer")


def _letter(notebook: Kernel, text: str) -> str:
    """The letter beside an option."""
    rows = [notebook.models[id]["children"] for id in notebook.kind("HBox")]
    for row in rows:
        ids = [child.removeprefix("IPY_MODEL_") for child in row]
        if any(re.search(rf"\b{re.escape(text)}\b", str(notebook.models[id].get("value", ""))) for id in ids[1:]):
            return ids[0]
    raise AssertionError(f"{text} is not an option of {notebook.text}")


def _place(notebook: Kernel, text: str, items: list[str]) -> int:
    shown = [line for line in notebook.text.splitlines() if any(item in line for item in items)]
    return next(place for place, line in enumerate(shown) if text in line)


def _rights(notebook: Kernel) -> list[tuple[str, str]]:
    lines = [line for line in notebook.text.splitlines() if line.startswith("<b>") and "&ensp;" in line]
    return [(line[3], line.partition("&ensp;")[2]) for line in lines]


def test_all_types_are_asked_and_judged(store: Store, notebook: Kernel, deck: Path) -> None:
    with seed.alive(store, "class") as session:
        notebook.run(SHOW.format(path=str(deck)))
        sent = 0
        for number, id in enumerate(IDS, 1):
            assert f"Question {number} of 9" in notebook.text
            # Nothing that the kernel has sent since the last answer tells this one.
            news = "".join(notebook.sent[sent:])
            assert not [secret for secret in SECRETS if secret in news], id
            sent = len(notebook.sent)
            respond(notebook, id, wrong=id == "called")
            if id == "how-long":
                assert "To check it, 1 run of your own is missing" in notebook.text
                assert not [secret for secret in SECRETS if secret in "".join(notebook.sent[sent:])]
                notebook.click("Run it now")
                assert "waiting for its turn" in notebook.text
                run = store.take_next(session.id)
                assert run is not None
                store.finish(run.id, "completed", metrics={"iterations": 3})
                notebook.until("Measured")
                assert f"<b>3 iterations</b> (run {run.id}: k-means on 2 ranks" in notebook.text
            words = {"which-lab": "Thank you for your answer", "called": "Not right"}.get(id, "<b>Right</b>")
            assert words in notebook.text, (id, notebook.text)
            sent = len(notebook.sent)
            notebook.click("Next")
        assert "7 of 8 points, 9 answered" in notebook.text
        assert "Look at these again" in notebook.text
        notebook.click("What is the process called that starts ranks?")
        assert "Question 7 of 9" in notebook.text
        assert {answer.question: answer.right for answer in store.answers()}["called"] is False


def test_a_real_run_checks_a_prediction(notebook: Kernel, deck: Path) -> None:
    with Store.open() as store:
        record, conductor = lifecycle.start_session(store, "lab", Placement(ranks=2))
        lifecycle.wait_ready(store, record, conductor)
        notebook.run(SHOW.format(path=str(deck)))
        for _ in range(IDS.index("how-long")):
            notebook.click("Next")
        respond(notebook, "how-long", wrong=True)
        notebook.click("Run it now")
        notebook.until("Measured")
        assert "Not right" in notebook.text
        assert "limits are limits" in notebook.text
        (run,) = store.runs()
        assert (run.status, run.identity_id, run.params["points"]) == ("completed", None, 2000)
        lifecycle.stop_session(store, "lab")
        conductor.wait(limit(60))


@pytest.mark.real
def test_importing_the_workshop_imports_no_notebook() -> None:
    names = ("ipywidgets", "sqlalchemy", "workshop.notebook")
    code = f"import sys, workshop; print([name for name in {names} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit(60), check=True)
    assert said.stdout.strip() == "[]"
