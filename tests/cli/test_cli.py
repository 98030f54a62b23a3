"""The command line as a user meets it: answers on standard output, one sentence for what is wrong, exit codes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from PIL import Image
from typer.main import get_command
from typer.testing import CliRunner

from tests.conftest import leftovers
from tests.support import limit, until
from workshop import __version__
from workshop.cli.main import FIRST, app, run
from workshop.core import config
from workshop.registry import commands
from workshop.store.store import Store

WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")


def workshop(*words: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.run([WORKSHOP, *words], capture_output=True, text=True, timeout=limit(timeout), env=environment)


def answer(*words: str) -> object:
    ended = workshop(*words, "--json")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0 and capsys.readouterr().out == f"workshop {__version__}\n"
    assert __version__ == tomllib.loads(config.project_file().read_text())["project"]["version"]


def test_commands_stand_in_their_order() -> None:
    order = ["grid", "file", "path", "ways", "scaling"]
    assert [name for name in commands("study run") if name in order] == order


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "kmeans", "--ranks", "0"], "ranks is 0: it should be at least 1"),
        (["run", "kmeans", "--ranks", "1000"], "ranks is 1000: with its"),
        (["run", "kmeans", "--matrix", "--measured"], "--matrix and --measured exclude each other"),
        (["run", "kmeans", "--image", "{text}"], "not an image"),
        (["run", "kmeans", "--image", "{missing}"], "isn't there"),
        (["run", "kmeans", "--image", "{wide}"], "50000"),
        (["run", "kmeans", "--nonsense", "1"], "No such option: --nonsense"),
        (["run", "kmeans", "--cores-per-rank", "64"], "Open MPI refuses this placement, in its own words"),
        (["run", "kmeans", "--session", "nobody"], "no session 'nobody'"),
        (["run", "nothing"], "No such command 'nothing'"),
        (["runs", "show", "99999999999999999999"], "no run 99999999999999999999"),
        (["run", "kmeans", "--save", "{empty}/folder[/x]"], "can't be written"),
        (["session", "start", "Not A Name"], "can't be a session's name"),
        (["up", "--port", "70000"], "70000"),
        (["mpi", "install", "lam"], "lam"),
    ],
)
def test_bad_input_is_one_sentence(
    workshop_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    files = {name: tmp_path / f"{name}.png" for name in ("text", "empty", "missing", "wide", "alpha", "small")}
    files["text"].write_text("not a photo")
    files["empty"].write_bytes(b"")
    Image.new("RGB", (50_000, 1)).save(files["wide"])
    Image.new("RGBA", (8, 8)).save(files["alpha"])
    Image.new("RGB", (3, 3)).save(files["small"])
    assert run([word.format(**files) for word in words]) == 2
    told = capsys.readouterr()
    assert sentence in told.err and told.out == ""
    assert len(told.err.strip().splitlines()) == 1 or "own words" in sentence, told.err


@pytest.mark.real
def test_a_state_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path / "file" / "home"))
    ended = workshop("session", "list")
    assert ended.returncode == 2
    assert "can't be written" in ended.stderr
    assert "WORKSHOP_HOME" in ended.stderr


@pytest.mark.real
def test_a_store_of_a_newer_version(workshop_home: Path) -> None:
    Store.open().close()
    with sqlite3.connect(workshop_home / "workshop.db") as connection:
        connection.execute("update workshop_schema set version = 999")
    ended = workshop("runs", "list")
    assert ended.returncode == 2
    assert "999" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_no_help_cuts_a_summary_and_each_has_a_short_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    runner, groups = CliRunner(), [([], get_command(app))]
    for words, group in groups:
        shown = runner.invoke(app, [*words, "-h"])
        assert shown.exit_code == 0 and "..." not in shown.output.partition("Options:")[2], shown.output
        groups += [([*words, name], each) for name, each in group.commands.items() if hasattr(each, "commands")]
    assert len(groups) > 12 and runner.invoke(app, ["run", "kmeans", "-h"]).exit_code == 0


def test_the_first_page_has_a_line_for_each_command_and_begins_with_what_a_newcomer_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = CliRunner().invoke(app, ["--help"]).output.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert len(listed) <= 14 and all(len(line) <= 80 for line in listed)
    assert [line.split()[0] for line in listed[:6]] == list(FIRST)
    commands = get_command(app).commands
    epilog = set(app.info.epilog.partition(":")[2].strip(" .").split(", "))
    assert epilog == {name for name, command in commands.items() if command.hidden}, "all others are named"
    assert {line.split()[0] for line in listed} | epilog == set(commands)


@pytest.mark.real
def test_help_is_there_for_everything_and_cheap() -> None:
    assert workshop("--help").returncode == 0
    listing = workshop("run", "kmeans", "--help").stdout
    for option in ("--clusters", "--image", "--ranks", "--map-by", "--threads", "--json"):
        assert option in listing
    told = " ".join(workshop("run", "mnist", "--help").stdout.split())
    assert "(none, linear or sqrt; default: linear)" in told and "(yes or no; default: yes)" in told
    assert not any(word in told for word in ("True", "None", "default: )"))
    large = {"tensorflow", "streamlit", "sqlalchemy", "plotly", "ipyparallel", "mpi4py.MPI"}
    loaded = imported("import workshop.cli.main")
    assert not loaded & {"numpy", *large, "workshop.mpi.mapper", "workshop.core.machines", "xml.etree.ElementTree"}
    assert not imported("from workshop.quiz import reader; reader.read(reader.find('kmeans'))") & large


def imported(code: str) -> set[str]:
    """The modules that a process has loaded after this code."""
    command = [sys.executable, "-c", f"import sys; {code}; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.real
def test_a_photo_in_a_session_from_start_to_stop(workshop_home: Path, tmp_path: Path) -> None:
    started = answer("session", "start", "class", "--ranks", "2")
    assert (started["state"], len(started["rank_map"]["ranks"])) == ("ready", 2)
    assert [session["name"] for session in answer("session", "list")] == ["class"]
    assert answer("session", "show", "class")["queue"] == []
    assert "  rank 1  on " in workshop("session", "show", "class").stdout

    finished = answer("run", "kmeans", "--clusters", "8", "--save", str(tmp_path / "saved"))
    assert (finished["status"], finished["session"], finished["params"]["clusters"]) == ("completed", "class", 8)
    assert set(finished) >= {
        "id",
        "workload",
        "params",
        "placement",
        "rank_map",
        "metrics",
        "verdict",
        "error",
        "queued_at",
    }
    assert (tmp_path / "saved/quantised.png").read_bytes().startswith(b"\x89PNG")

    shown = workshop("runs", "show", str(finished["id"]))
    assert "Verdict:" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    assert workshop("runs", "list").returncode == 0
    exported = answer("runs", "export", str(finished["id"]), str(tmp_path / "out"))
    assert {Path(path).name for path in exported["files"]} >= {"run.json", "events.jsonl", "quantised.png"}
    names = {json.loads(line)["name"] for line in (tmp_path / "out/events.jsonl").read_text().splitlines()}
    assert {"inertia", "moved", "time.compute", "time.communicate"} <= names

    again = workshop("session", "start", "class")
    assert (again.returncode, "already" in again.stderr) == (2, True)
    assert answer("session", "stop", "class")["state"] == "stopped"
    assert workshop("run", "kmeans", "--session", "class").returncode == 2


@pytest.mark.real
def test_without_a_session_a_private_one_comes_and_goes(workshop_home: Path) -> None:
    finished = answer("run", "kmeans", "--data", "blobs", "--points", "10001", "--ranks", "3", "--clusters", "4")
    assert finished["status"] == "completed"
    assert len(finished["rank_map"]["ranks"]) == 3
    assert answer("session", "list") == []
    with Store.open() as store:
        assert [session.state for session in store.sessions()] == ["stopped"]


@pytest.mark.real
def test_ctrl_c_cancels_the_run_and_ends_the_private_session(workshop_home: Path) -> None:
    words = ["run", "kmeans", "--pace", "0.2", "--iterations", "1000", "--tolerance", "0", "--json"]
    process = subprocess.Popen([WORKSHOP, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with Store.open() as store:
        until(lambda: store.runs() and store.totals(1).get("inertia"), 60, "the run to tell its inertia")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=limit(90))
    assert process.returncode == 1, err
    assert json.loads(out)["status"] == "cancelled"


@pytest.mark.exhaustive
@pytest.mark.real
def test_kill_9_of_a_command_ends_its_private_session(workshop_home: Path) -> None:
    words = ["run", "kmeans", "--pace", "0.2", "--iterations", "1000", "--tolerance", "0"]
    process = subprocess.Popen([WORKSHOP, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with Store.open() as store:
        until(lambda: store.runs() and store.totals(1).get("inertia"), 60, "the run to tell its inertia")
        process.kill()
        process.wait()
        until(lambda: store.run(1).status in ("cancelled", "interrupted"), 60, "the run to end")
        until(lambda: store.sessions()[0].state in ("stopped", "lost"), 60, "the session to end")
    until(lambda: not leftovers(workshop_home), 60, "everything to end")
