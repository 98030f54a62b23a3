"""The bench of cuts, with one of each kind of measurement."""

from __future__ import annotations

import pytest

from workshop.workloads.parallel import bench


@pytest.mark.real
def test_the_bench_compares_with_one_process_and_with_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "CUTS", {"ZeRO 3": (2, {"zero": 3, "steps": 3})})
    monkeypatch.setattr(bench, "BUBBLES", [("gpipe", 2, 2)])
    monkeypatch.setattr(bench, "SPEED", {"steps": 2, "verify": "no", "width": 16, "length": 8})
    turns: list[tuple[int, int]] = []
    document = bench.run(1, lambda done, total: turns.append((done, total)))
    assert turns[-1][0] == turns[-1][1], "a bench that is whole says so"
    ratios = document["ratios"]
    assert ratios["weights_worst"] < 1e-9 and ratios["bytes_difference"] == 0
    assert ratios["memory_within_5_percent"] == 1
    assert {"bubble_within_3_points", "data_speedup", "tensor_speedup"} < ratios.keys()
    bubble = document["rows"][1]
    assert bubble["predicted"] == pytest.approx(1 / 3, abs=0.05)
