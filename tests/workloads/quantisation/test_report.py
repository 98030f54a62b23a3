"""What a run says of number formats, and what its page draws, from figures that are known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.report.analysis.cases import run, times
from tests.report.test_panels import part, shown, text
from tests.web import seed
from workshop.report.verdict import verdict
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.workloads.quantisation import ARTIFACT


def row(accuracy: float | None, size: int, rate: float) -> dict[str, Any]:
    return {"accuracy": accuracy, "agreement": 0.99, "mean_error": 0.01, "error": 0.25, "bytes": size,
            "images_per_second": rate}  # fmt: skip


METRICS = {
    "formats": {
        "fp32": row(0.98, 4_000_000, 1000.0),
        "int8": row(0.97, 1_040_000, 2500.0),
        "int8-tensor": row(0.95, 1_000_000, 2600.0),
    },
    "speed_up": 2.5,
    "overflow_share": 0.4,
    "calibration": 100,
    "instructions": ["avx512_vnni", "amx_int8"],
}
DRAWN = {
    "ranges": {
        "low": [-1.27, -0.1],
        "high": [0.5, 0.127],
        "int8": {"scales": [0.01, 0.001], "errors": [0.004, 0.0005]},
        "int8-tensor": {"scales": [0.01, 0.01], "errors": [0.004, 0.005]},
    },
    "overflow": {"exact": 40000, "sums": {"INT32": [30000, 40000], "INT16": [30000, -25536], "INT8": [48, 64]}},
}


def words(**changes: Any) -> dict[str, str]:
    return verdict(run(workload="quantisation", params={}, metrics=METRICS | changes), times([8.0, 8.0]))


def test_gain_and_cost_of_int8() -> None:
    result = words()
    assert result["verdict"] == "INT8: 2.50 times the images/s of FP32 and 26 % of its size."
    assert "2,500 images/s instead of 1,000, 1.04 MB instead of 4 MB." in result["why"]
    assert "The accuracy is 97 %, with FP32 98 %." in result["why"]
    assert "INT16 can't hold 40 % of the sums" in result["why"]
    assert "--calibration 1)" in result["next"]
    assert "--calibration 100)" in words(calibration=1)["next"]


def test_the_processor_has_vnni_or_not_and_the_theory_is_cited() -> None:
    for flags, sentence in (
        (["avx512_vnni", "amx_int8"], "The processor has AVX-512 VNNI and AMX-INT8"),
        (["avx_vnni"], "The processor has AVX-VNNI"),
        ([], "The processor shows no VNNI"),
    ):
        why = words(instructions=flags)["why"]
        assert sentence in why
        assert "4 times as fast as FP32 (Deep Learning at Scale Using Distributed Frameworks, Fabio Baruffa" in why


def test_the_page_has_the_table_the_steps_and_the_wrapped_sums(store: Store, session: SessionRecord) -> None:
    made = store.submit(session.id, "quantisation", {}, seed.PLACEMENT)
    assert store.take_next(session.id).id == made.id
    store.put_artifact(made.id, ARTIFACT, "application/json", json.dumps(DRAWN).encode())
    store.finish(made.id, "completed", metrics=METRICS)
    cards = shown(store, store.run(made.id))
    rows = part(cards["formats"], "table")["rows"]
    assert [cells[0] for cells in rows] == ["FP32", "INT8 per channel", "INT8 per tensor"]
    assert rows[1][4:] == ["97 %", "99 %", "0.01", "0.25", "1.04 MB", "2,500"]
    (bars,) = part(cards["weights"], "figure")["figure"].data
    assert list(bars.base) == pytest.approx([-127, -10]), "in steps of the layer's scale"
    assert list(bars.y) == pytest.approx([177, 22.7])
    lines = [list(trace.y) for trace in part(cards["rounding"], "figure")["figure"].data]
    assert lines[0] == pytest.approx([0.4, 0.5]) and lines[1] == [0.5, 0.5], "per tensor, with half a step"
    assert lines[2] == pytest.approx([0.4, 0.05]) and lines[3] == pytest.approx([0.5, 0.05]), "per channel"
    assert part(cards["sums"], "table")["rows"] == [
        ["INT32", "40,000", "40,000"], ["INT16", "-25,536", "40,000"], ["INT8", "64", "40,000"],
    ]  # fmt: skip
    assert "wrap around" in text(cards["sums"])


@pytest.mark.parametrize(("speed_up", "explained"), [(0.8, False), (2.5, True)])
def test_a_slower_int8_is_not_explained_by_what_makes_it_faster(speed_up: float, explained: bool) -> None:
    result = verdict(run(workload="quantisation", params={}, metrics=METRICS | {"speed_up": speed_up}), times([8.0]))
    assert ("INT8 is slower here, which the processor's instructions don't explain" in result["why"]) != explained
    assert ("4 times as fast" in result["why"]) == explained
