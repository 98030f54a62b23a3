"""`workshop federation` as a user meets it: what is refused, and what is shown."""

from __future__ import annotations

import json

import pytest

from tests.web import seed
from tests.workloads.openfl.test_panels import KEY, begun
from tests.workloads.openfl.test_verdict import certificate
from workshop.cli.main import run
from workshop.store.store import Store


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["start", "--collaborators", "0"], "collaborators is 0: it should be at least 1"),
        (["status"], "There is no federation yet; start one with: workshop federation start"),
        (["status", "7"], "There is no run 7"),
    ],
)
def test_bad_input_is_one_sentence_and_starts_nothing(
    store: Store, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    code = run(["federation", *words])
    said = capsys.readouterr()
    assert code == 2, said.err
    assert sentence in said.err
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == 1, said.err
    assert store.sessions() == []
    assert store.runs() == []


def test_the_status_of_a_federation(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    refused = certificate("stranger", accepted=False, issuer="other", why="unknown authority", key=KEY)
    with seed.alive(store, "class") as session:
        shown_run = begun(store, session, rounds=2, fault="foreign-certificate", certificates=[refused])
        store.set_run(shown_run.id, progress=(2, 5))
        assert run(["federation", "status"]) == 0
        shown = capsys.readouterr().out
        assert run(["federation", "status", str(shown_run.id), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    assert max(map(len, shown.splitlines())) <= 80, shown
    words = " ".join(shown.split())
    for part in ("Round 2 of 5", "A real federation with OpenFL", "running", "fx aggregator start"):
        assert part in words, shown
    assert "no: unknown authority" in words
    assert KEY not in shown
    assert (told["workload"], told["status"]) == ("openfl", "running")
