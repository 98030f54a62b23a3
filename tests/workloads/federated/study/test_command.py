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
from tests.study.conftest import Command, command, own_lock
from tests.support import limit, until
from tests.workloads.federated.study import seed
from workshop.store.records import SessionRecord
from workshop.store.store import Store

__all__ = ["command", "own_lock", "session"]
WAYS = ["study", "run", "ways"]
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
SMALL = ["--data", "digits", "--model", "dense", "--rounds", "3", "--partition", "label", "--images", "400"]


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*WAYS, "--workload", "mnist"], "mnist doesn't learn in three ways"),
        ([*WAYS, "--data", "digits", "--images", "10", "--institutions", "100"], "institutions"),
    ],
)
def test_bad_input_is_one_sentence(workshop_home: Path, command: Command, words: list[str], sentence: str) -> None:
    ended = command(*words)
    assert (ended.code, ended.out) == (2, "")
    assert sentence in ended.err and len(ended.err.strip().splitlines()) == 1, ended.err
    with Store.open() as store:
        assert store.studies() == [] and store.sessions() == [], "nothing was begun"


def test_a_study_on_a_terminal(store: Store, session: SessionRecord, command: Command) -> None:
    seed.study(store, session)
    seed.study(store, session, ended=0)
    seed.study(store, session, failing=(1, 2, 3))
    shown = [command("study", "show", study).out for study in ("1", "2", "3")]
    for text in shown:
        assert max(map(len, text.splitlines())) <= 80, text
        assert "Verdict:" in text and "Next:" in text and "10:12598" in text
    lines = [" ".join(line.split()) for line in shown[0].splitlines()]
    assert any(line.endswith("92.0 ± 1.6 % 91.2 ± 1.3 %") for line in lines), lines
    assert any(line.endswith("91 % 94 % 46 % 90 % 93 % 96 %") for line in lines), lines
    assert any("+50.0 ± 1.9" in line for line in lines), lines


@pytest.mark.exhaustive
@pytest.mark.real
def test_a_small_one_is_stopped_and_gone_on_with(workshop_home: Path) -> None:
    words = [WORKSHOP, *WAYS, "--seeds", "2", *SMALL, "--private", "--json"]
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as first:
        try:
            with Store.open() as store:
                until(lambda: any(one.status == "completed" for one in store.runs()), 120, "the first run to end")
            first.send_signal(signal.SIGINT)
            _, said = first.communicate(timeout=limit(120))
        finally:
            first.kill()
    with Store.open() as store:
        kept = [one.id for one in store.runs() if one.status == "completed"]
    if len(kept) < 6:
        assert first.returncode == 130, said
        assert "workshop study resume 1" in said
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=limit(150), check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["study"], told["state"]) == (1, "completed"), "it is the same study"
    assert [trial["status"] for trial in told["trials"]] == ["completed"] * 6
    assert kept[0] in [trial["run"] for trial in told["trials"]], "what had completed isn't run again"
    assert len({tuple(one["values"]) for one in (told["ways"][way]["held_out"] for way in told["ways"])}) == 3
    alone = told["ways"]["alone"]["held_out"]["mean"]
    assert told["ways"]["federated"]["held_out"]["mean"] > alone < told["ways"]["centralised"]["held_out"]["mean"]
    assert told["by_round"]["federated"]["held_out"]["rounds"] == [1, 2, 3]
    with Store.open() as store:
        assert {one.measured for one in store.runs()} == {False}, "nobody else has to wait: speed isn't compared"
