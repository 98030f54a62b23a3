"""Cards of three ways side by side, and what their export holds."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from tests.study.cards.test_cards import links, part, shown, text
from tests.web import seed as class_seed
from tests.workloads.federated.study import seed
from workshop.report.cards import Card
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study import export, kinds


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


def figure(card: Card) -> Any:
    return part(card, "figure")["figure"]


def test_a_study_that_is_complete(store: Store, session: SessionRecord) -> None:
    found = shown(store, seed.study(store, session))
    assert list(found) == [
        *("verdict", "rounds-held_out", "rounds-own", "came-to", "differences", "published", "runs"),
    ]
    names = [trace.name for trace in figure(found["rounds-held_out"]).data if trace.name]
    assert names == ["federated <b>92 %</b>", "pooled images <b>94.2 %</b>", "each alone <b>42 %</b>"]
    assert "bands go from the lowest to the highest" in text(found["rounds-own"])
    came, seeds = (one for one in found["came-to"].parts if one["kind"] == "table")
    assert came["rows"][2] == ["Each alone", "42.0 ± 3.2 %", "96.4 ± 1.1 %"]
    assert len(seeds["rows"]) == 5
    assert seeds["rows"][1][0] == "1" and links(seeds["rows"][1]) == [f"run?run={run}" for run in (4, 5, 6)]
    assert seeds["rows"][1][2:] == ["93 %", "94 %", "44 %", "91 %", "95 %", "97 %"]
    rows = {(row[0], row[1]): row[2:] for row in part(found["differences"], "table")["rows"]}
    assert rows["Federated against alone", "held-out images"] == ["+50.0 ± 1.9 points", "5 of 5"]
    assert rows["Federated against alone", "institutions' own images"][1] == "0 of 5"
    published = part(found["published"], "table")["rows"]
    assert published[-1] == ["Data of all, Sheller et al. 2020", "+17 %", "+2.6 %"]
    assert published[0][0] == "Federated, here" and published[0][1] == "+120.2 ± 8.5 %"
    assert "10:12598" in text(found["published"]) and "in which order the ways come" in text(found["published"])


def test_one_that_goes_on_shows_its_run_by_round(store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=0)
    run = seed.begin(store, session, study.id, 1, rounds=2)
    found = shown(store, study)
    assert "came-to" not in found
    now = {trace.name: list(trace.y) for trace in figure(found["rounds-held_out"]).data}
    assert now["federated, seed 0"] == [0.6, 0.7]
    assert f"seed 0, which is learning now (run {run.id})" in text(found["rounds-held_out"])
    store.finish(run.id, "completed", metrics=seed.metrics(seed.CAME[0], "federated"))
    for number in (2, 3):
        seed.end(store, session, study.id, number)
    seed.begin(store, session, study.id, 4, rounds=1)
    found = shown(store, study)
    drawn = figure(found["rounds-own"]).data
    assert [trace.meta for trace in drawn].count("now") == 1
    assert "bands" not in text(found["rounds-own"]), "one seed has none"


def test_its_export_has_every_way_s_figures(store: Store, session: SessionRecord) -> None:
    found = kinds.report(store, seed.study(store, session, failing=(2,)))
    rows = list(csv.DictReader(io.StringIO(export.table(found))))
    assert [row["way"] for row in rows[:5]] == ["federated", "centralised", "alone", "centralised", "alone"]
    assert (rows[0]["rate"], rows[0]["unit"]) == ("0.92", "held-out accuracy")
    assert (rows[2]["alone_held_out"], rows[1]["centralised_own"]) == ("0.4", "0.94")
    assert (rows[3]["status"], rows[3]["centralised_held_out"]) == ("failed", "")
    cards = list(shown(store, found.study).values())
    page = export.page(found, cards)
    assert "Three ways side by side" in page and "10:12598" in page and "<b>out</b>" not in page
    assert page.count("Plotly.newPlot(") == 2, "rounds, held out and own"
