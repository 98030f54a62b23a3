"""What the page of a federation over OpenFL shows beside its rounds, while it goes on and afterwards."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.report.test_panels import part, shown
from tests.support import plain_cells
from tests.web import seed
from tests.workloads.federated.report.test_panels import FIRST, told
from tests.workloads.openfl.test_verdict import COMMANDS, SHOWN, certificate, command
from workshop.report import html
from workshop.report.run_sections import RunLook
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store

KEY = "-----BEGIN PRIVATE KEY-----"


def begun(store: Store, session: SessionRecord, rounds: int = 2, fault: str = "none", **known: Any) -> RunRecord:
    """A federation over OpenFL after some rounds."""
    run = store.submit(session.id, "openfl", {"fault": fault, "collaborators": 2, "rounds": 5}, seed.PLACEMENT)
    assert store.take_next(session.id).id == run.id
    metrics = FIRST | {"ways": ["federated"], "fx": COMMANDS, "certificates": SHOWN} | known
    store.set_run(run.id, rank_map=session.rank_map, machine=session.machine, metrics=metrics)
    store.add_events(run.id, 0, 1, [event for number in range(1, rounds + 1) for event in told(0, number)])
    return store.run(run.id)


def rows(store: Store, run: RunRecord, card: str) -> list[list[str]]:
    return part(shown(store, run)[card], "table")["rows"]


def test_commands_and_certificates_are_shown_as_they_come(store: Store, session: SessionRecord) -> None:
    run = begun(store, session, rounds=0, fx=COMMANDS[:1], certificates=[])
    look = RunLook(store, run.id)
    first = json.loads(look()["openfl"])["html"]
    assert re.findall('data-card="(.*?)"', first) == ["fx"]
    assert "openfl" not in look(), "nothing has changed"

    runs = command("fx aggregator start", "aggregator", None, None)
    store.set_run(run.id, metrics=store.run(run.id).metrics | {"fx": [*COMMANDS[:1], runs], "certificates": SHOWN[:1]})
    after = plain_cells(json.loads(look()["openfl"])["html"])
    assert set(re.findall('data-card="(.*?)"', after)) == {"fx", "certificates"}
    assert "<td>aggregator</td><td></td><td>runs</td><td>fx aggregator start</td>" in after
    cells = ("aggregator", "localhost", "Simple Signing CA (key 0011aabb)", "2027-01-15", "yes")
    assert "".join(f"<td>{cell}</td>" for cell in cells) in after


def test_who_was_refused_is_told_with_the_reason(store: Store, session: SessionRecord) -> None:
    refused = certificate("institution2", accepted=False, issuer="other", why="unknown <b>authority</b>")
    run = begun(store, session, certificates=[SHOWN[0], refused])
    assert rows(store, run, "certificates")[1][-1] == "no: unknown <b>authority</b>"


def test_no_key_is_ever_shown(store: Store, session: SessionRecord) -> None:
    run = begun(
        store,
        session,
        certificates=[SHOWN[0] | {"key": KEY, "pem": KEY}],
        fx=[COMMANDS[0] | {"output": KEY, "env": {"KEY": KEY}}],
    )
    page = html.live(shown(store, run).values())
    assert "Simple Signing CA (key 0011aabb)" in page
    assert "PRIVATE" not in page
