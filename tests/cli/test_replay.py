"""`workshop record` and `workshop up --replay`: a class as one file, shown without a cluster; nothing of it stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import leftovers
from tests.store import classroom
from tests.support import limit, starts_processes
from tests.web.dashboard import Visitor
from workshop.cli.main import run
from workshop.core.ports import free_port
from workshop.store.store import Store

WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")


@pytest.fixture
def place(workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where replays have their folders."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)  # it is asked for once
    yield folder
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def recording(store: Store, tmp_path: Path) -> Path:
    classroom.leave(store)
    file = tmp_path / "class.db.gz"
    assert run(["record", "class", "-o", str(file)]) == 0
    return file


@dataclass
class Shown:
    process: subprocess.Popen[str]
    answer: dict
    port: int

    def visitor(self) -> Visitor:
        visitor = Visitor(self.port)
        assert visitor.get(self.answer["links"]["instructor"].partition(str(self.port))[2]).status == 303
        return visitor

    def learner(self) -> Visitor:
        visitor = Visitor(self.port)
        assert visitor.post("/join", {"code": self.answer["class_code"], "nickname": "Ada"}).status == 303
        return visitor


@pytest.fixture
@starts_processes
def shown(recording: Path, place: Path) -> Iterator[Shown]:
    port = free_port()
    words = [WORKSHOP, "up", "--replay", str(recording), "--port", str(port), "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    text = ""
    while not text.rstrip().endswith("}\n}") and (line := process.stdout.readline()):
        text += line
    assert text, process.stderr.read()
    yield Shown(process, json.loads(text), port)
    process.kill()
    process.communicate(timeout=limit(20))


def test_it_is_shown_marked_and_starts_nothing(shown: Shown, place: Path, workshop_home: Path) -> None:
    (home,) = place.glob("workshop-replay-*")
    assert home.stat().st_mode & 0o777 == 0o700
    who = shown.visitor()
    for path in ("/join", "/quiz", "/quiz/1/results", "/quiz/1/results.html", "/quiz/alone/kmeans"):
        answer = who.get(path, Accept="text/html")
        assert answer.status == 200, path
        assert "nothing runs here" in answer.text, path
        assert int(answer.headers["content-length"]) == len(answer.body)
    assert "learner-1" in who.get("/quiz/1/results").text
    assert "kmeans-round-1" in who.get("/quiz/1/results.csv").headers["content-disposition"]
    assert shown.learner().get("/quiz/1/results").status == 403
    command = [WORKSHOP, "run", "kmeans", "--iterations", "2", "--ranks", "1"]
    there = os.environ | {"WORKSHOP_HOME": str(home)}
    tried = subprocess.run(command, env=there, capture_output=True, text=True, timeout=limit(60))
    assert tried.returncode == 2
    assert "nothing runs here" in tried.stderr.splitlines()[-1]
    assert "Traceback" not in tried.stderr

    shown.process.send_signal(signal.SIGINT)
    _, err = shown.process.communicate(timeout=limit(90))
    assert shown.process.returncode == 0, err
    assert "Everything has ended." in err
    assert list(place.iterdir()) == []
    assert leftovers(home) == []
    assert not (workshop_home / "dashboard.log").exists()  # the user's own state was not touched


def test_what_can_not_be_shown_is_told_in_a_sentence(
    workshop_home: Path, place: Path, tmp_path: Path, recording: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = tmp_path / "foreign"
    foreign.write_text("no recording")
    port = ["--port", str(free_port())]
    for words, said in (
        (["up", "--replay", str(foreign), *port], "is no recording of a workshop"),
        (["up", "--replay", str(tmp_path / "nowhere"), *port], "can't be read"),
        (["up", str(recording)], "without --replay"),
        (["record", "nobody", "-o", str(tmp_path / "a")], "no session 'nobody'"),
        (["record", "class", "-o", str(recording)], "is there already"),
        (["record", "class", "-o", str(tmp_path)], "is a folder"),
        (["record", "class", "-o", "/proc/no/such"], "can't be written"),
    ):
        assert run(words) == 2, words
        err = capsys.readouterr().err
        assert said in err
        assert len(err.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert list(place.iterdir()) == []


def test_a_full_disk_is_told_in_a_sentence(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object, **__: object) -> list[str]:
        raise OSError(28, "No space left on device")

    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("workshop.store.recording.record", full)
    assert run(["record", "class", "-o", str(tmp_path / "other.db.gz")]) == 2
    assert "other.db.gz can't be written (No space left on device)." in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before, "nor is half a recording left"
