"""A quiz in a real kernel, which is asked as the quiz's script asks it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.notebook.kernel import Kernel, kernel
from tests.quiz.nine import IDS, SECRETS, YAML, right
from tests.support import limit, starts_processes, until
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.store import Store

SHOW = "import workshop\nsession = workshop.attach()\nsession.quiz({path!r})"
PICTURE = "<svg xmlns='http://www.w3.org/2000/svg'><rect width='4' height='4'/></svg>"


@pytest.fixture
def deck(tmp_path: Path) -> Path:
    path = tmp_path / "nine.yaml"
    path.write_text(YAML.replace("type: poll\n", "type: poll\n    picture: {file: a.svg, alt: A}\n"))
    (tmp_path / "a.svg").write_text(PICTURE)
    return path


@pytest.fixture
@starts_processes
def notebook(workshop_home: Path) -> Iterator[Kernel]:
    with kernel() as started:
        yield started


def test_all_types_are_asked_and_graded_and_a_real_run_checks_a_prediction(notebook: Kernel, deck: Path) -> None:
    with Store.open() as store:
        record, conductor = lifecycle.start_session(store, "lab", Placement(ranks=2))
        lifecycle.wait_ready(store, record, conductor)
        notebook.run(SHOW.format(path=str(deck)))
        assert [one["id"] for one in notebook.ask("state")["answer"]["questions"]] == list(IDS)
        shown = {id: notebook.ask("question", question=id)["answer"]["shown"] for id in IDS}
        assert shown["which-lab"]["picture"]["src"].startswith("data:image/svg+xml;base64,")
        assert not [secret for secret in SECRETS if secret in "".join(notebook.sent)]
        for id in IDS:
            seen = notebook.ask("answer", question=id, answer=right(shown[id], id == "called"), attempt=1)["answer"]
            wanted = {"which-lab": None, "called": False}.get(id, True)
            assert id == "how-long" or seen["mark"]["right"] is wanted, id
        twice = notebook.ask("answer", question="called", answer="mpirun", attempt=1)
        assert "the first answer counts" in twice["error"]

        assert notebook.ask("run", question="how-long", attempt=1)["answer"]["measuring"]["words"]
        seen = until(
            lambda: (now := notebook.ask("question", question="how-long")["answer"])["truth"] and now, 60, "it"
        )
        assert (seen["truth"]["words"], seen["mark"]["right"]) == ("3 iterations", True)
        assert "limits are limits" in json.dumps(seen["solution"])
        (run,) = store.runs()
        assert (run.status, run.identity_id, run.params["points"]) == ("completed", None, 2000)
        assert notebook.ask("again", attempt=1)["answer"]["attempt"] == 2
        assert "started this quiz over" in notebook.ask("run", question="how-long", attempt=1)["error"]
        lifecycle.stop_session(store, "lab")
        conductor.wait(limit(60))


@pytest.mark.real
def test_importing_the_workshop_imports_no_notebook() -> None:
    names = ("anywidget", "sqlalchemy", "workshop.notebook")
    code = f"import sys, workshop; print([name for name in {names} if name in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=limit(60), check=True)
    assert said.stdout.strip() == "[]"
