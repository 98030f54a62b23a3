"""`workshop study run ways` and how it is shown; one small study in a session of its own, stopped and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import session
from tests.cli.test_cli import answer, workshop
from tests.study.conftest import own_lock
from tests.support import limit, until
from tests.workloads.federated.study import seed
from workshop.cli.main import run
from workshop.store.records import SessionRecord
from workshop.store.store import Store

__all__ = ["own_lock", "session"]
WAYS = ["study", "run", "ways"]
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
SMALL = ["--data", "digits", "--model", "dense", "--rounds", "3", "--partition", "label", "--images", "400"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*WAYS, "--workload", "mnist"], "mnist doesn't learn in three ways"),
        ([*WAYS, "--workload", "nothing"], "There is no workload 'nothing'"),
        ([*WAYS, "--seeds", "0"], "--seeds"),
        ([*WAYS, "--way", "alone"], "leave it out"),
        ([*WAYS, "--alpha", "-1"], "alpha is -1"),
        ([*WAYS, "--set", "nonsense=1"], "nonsense is not one of its settings"),
        ([*WAYS, "--data", "digits", "--images", "10", "--institutions", "100"], "institutions"),
        ([*WAYS, "--session", "nobody"], "no session 'nobody'"),
    ],
)
def test_bad_input_is_one_sentence(
    workshop_home: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert run(words) == 2
    said = capsys.readouterr()
    assert sentence in said.err and said.out == "" and len(said.err.strip().splitlines()) == 1, said.err
    with Store.open() as store:
        assert store.studies() == [] and store.sessions() == [], "nothing was begun"


@pytest.mark.real
def test_a_study_on_a_terminal(store: Store, session: SessionRecord) -> None:
    seed.study(store, session)
    seed.study(store, session, ended=0)
    seed.study(store, session, failing=(1, 2, 3))
    for study in ("1", "2", "3"):
        shown = workshop("study", "show", study)
        assert shown.returncode == 0, shown.stderr
        assert max(map(len, shown.stdout.splitlines())) <= 80, shown.stdout
        assert "Verdict:" in shown.stdout and "Next:" in shown.stdout and "10:12598" in shown.stdout
    lines = [" ".join(line.split()) for line in workshop("study", "show", "1").stdout.splitlines()]
    assert any(line.endswith("92.0 ± 1.6 % 91.2 ± 1.3 %") for line in lines), lines
    assert any(line.endswith("91.0 % 94.0 % 46.0 % 90.0 % 93.0 % 96.0 %") for line in lines), lines
    assert any("+50.0 ± 1.9" in line for line in lines), lines


@pytest.mark.real
def test_a_study_as_json(store: Store, session: SessionRecord) -> None:
    seed.study(store, session)
    told = answer("study", "show", "1")
    assert isinstance(told, dict)
    assert (told["kind"], told["state"], told["seeds"], told["measure"]) == ("ways", "completed", 5, "accuracy")
    assert told["ways"]["federated"]["held_out"]["values"] == [0.92, 0.93, 0.90, 0.94, 0.91]


@pytest.mark.real
def test_a_small_one_is_stopped_and_gone_on_with(workshop_home: Path) -> None:
    words = [WORKSHOP, *WAYS, "--seeds", "2", *SMALL, "--private", "--json"]
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as first:
        try:
            with Store.open() as store:
                until(lambda: any(one.status == "completed" for one in store.runs()), 120, "the first seed to end")
            first.send_signal(signal.SIGINT)
            _, said = first.communicate(timeout=limit(120))
        finally:
            first.kill()
    with Store.open() as store:
        kept = [one.id for one in store.runs() if one.status == "completed"]
    if len(kept) < 2:
        assert first.returncode == 130, said
        assert "workshop study resume 1" in said
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=limit(150), check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["study"], told["state"]) == (1, "completed"), "it is the same study"
    assert [trial["status"] for trial in told["trials"]] == ["completed"] * 2
    assert kept[0] in [trial["run"] for trial in told["trials"]], "what had completed isn't run again"
    assert len({tuple(one["values"]) for one in (told["ways"][way]["held_out"] for way in told["ways"])}) == 3
    alone = told["ways"]["alone"]["held_out"]["mean"]
    assert told["ways"]["federated"]["held_out"]["mean"] > alone < told["ways"]["centralised"]["held_out"]["mean"]
    assert told["by_round"]["federated"]["held_out"]["rounds"] == [1, 2, 3]
    with Store.open() as store:
        assert {one.measured for one in store.runs()} == {False}, "nobody else has to wait: speed isn't compared"
