"""`workshop quiz host` and `workshop quiz rounds`, with a dashboard and without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.dashboard import served
from tests.web.dashboard import Dashboard
from tests.web.quiz.players import DECK, join, line
from workshop.cli.main import run
from workshop.store.store import Store

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def deck(tmp_path: Path) -> str:
    file = tmp_path / "mine.yaml"
    file.write_text(DECK)
    return str(file)


def test_without_a_dashboard_nobody_could_join(store: Store, deck: str, capsys: Capture) -> None:
    assert run(["quiz", "host", deck]) == 1
    assert "workshop up" in capsys.readouterr().err
    assert store.rounds() == []
    assert run(["quiz", "rounds"]) == 0
    assert "no live round" in capsys.readouterr().err


@pytest.mark.real
def test_a_round_that_the_dashboard_knows_at_once(store: Store, deck: str, capsys: Capture) -> None:
    with served() as (process, port):
        dashboard = Dashboard(store, process, port)
        assert run(["quiz", "host", deck, "--speed-bonus", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        record = store.round(told["round"])
        assert record.settings == {"speed_bonus": True, "ranking": True, "vote_twice": False}
        assert told["links"]["join"] == f"http://127.0.0.1:{port}/quiz?code={told['code']}"
        assert dashboard.instructor().get(f"/quiz/{record.id}/host").status == 200
        with line(join(dashboard, record), record) as ada:
            assert ada.heard[-1]["phase"] == "lobby"
        for wrong, why in (
            (["quiz", "host", deck, "--session", "none"], "none"),
            (["quiz", "host", "nowhere"], "no deck"),
        ):
            assert run(wrong) == 2
            assert why in capsys.readouterr().err
        assert run(["quiz", "host", deck]) == 0
        printed = capsys.readouterr().out
        second = store.rounds()[0]
        assert second.code is not None and second.code in printed and f"/quiz/{second.id}/projector" in printed
    store.set_round_state(second.id, {"phase": "ended", "position": 2}, ended=True)
    assert run(["quiz", "rounds", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(one["round"], one["phase"], one["number"], one["of"], one["players"]) for one in listed] == [
        (second.id, "ended", 3, 3, 0),
        (record.id, "lobby", 0, 3, 1),
    ]
    assert run(["quiz", "rounds", "--going-on"]) == 0
    printed = capsys.readouterr().out
    assert told["code"] in printed and "A <b>try</b>" in printed and second.code not in printed
