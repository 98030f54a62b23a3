"""What commands that measure share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from workshop import bench
from workshop.cli import bench_output
from workshop.cli.main import run
from workshop.runtime import measurement_lock


def interrupted_after(turns: int) -> Callable[[], float]:
    left = iter(range(turns))

    def turn() -> float:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return 1.0

    return turn


def measured(turns: int) -> Callable[..., dict[str, Any]]:
    def measure(progress: bench.Progress, say: Callable[[str], None]) -> dict[str, Any]:
        results = bench.interleaved({"ours": interrupted_after(turns)}, 10, progress)
        return bench.document("speed", {}, [bench.row("ours", results["ours"], "s")], {})

    return measure


def test_an_interrupted_bench_keeps_its_rounds_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    document = bench_output.with_bar(measured(6))
    assert document["interrupted"] == {"done": 6, "total": 11} and document["rows"][0]["repeats"] == 5
    said = capsys.readouterr().err
    assert "2 of 11 turns measured." in said and "Interrupted after 6 of 11 turns" in said
    with pytest.raises(typer.Exit) as ended:
        bench_output.show(document, as_json=True)
    assert ended.value.exit_code == 130 and '"interrupted"' in capsys.readouterr().out
    with pytest.raises(KeyboardInterrupt):  # nothing but the warm-up
        bench_output.with_bar(measured(1))
    assert "interrupted" not in bench_output.with_bar(measured(20))


@pytest.mark.parametrize(
    "words",
    [
        ["run", "kmeans", "--measured"],
        ["study", "run", "scaling", "--workload", "kmeans"],
        ["tune", "kmeans"],
        ["bench", "kmeans"],
        ["bench", "tune"],
    ],
)
def test_no_wait_refuses_at_once_and_begins_nothing(
    words: list[str],
    workshop_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(measurement_lock, "LOCK", tmp_path / "lock")
    with measurement_lock.machine_held("workshop bench mnist"):
        code = run([*words, "--no-wait"])
    said = capsys.readouterr()
    assert code == 1 and said.out == ""
    assert "(workshop bench mnist) of user " in said.err and len(said.err.strip().splitlines()) == 1


def speed(repeats: int, progress: bench.Progress) -> dict[str, Any]:
    progress(repeats, repeats)
    return bench.document("speed", {}, [bench.row("ours", [1.0] * repeats, "s")], {})


def test_a_command_measures_as_often_as_somebody_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement_lock, "LOCK", tmp_path / "lock")
    app = typer.Typer()
    app.command("speed")(bench_output.command(f"{__name__}:speed", "How fast it is.", repeats=5, least=3))
    for words, repeats in (([], 5), (["--repeats", "4"], 4)):
        answer = CliRunner().invoke(app, [*words, "--json"])
        assert json.loads(answer.stdout)["rows"][0]["repeats"] == repeats
    assert CliRunner().invoke(app, ["--repeats", "2"]).exit_code == 2
    assert "How fast it is." in CliRunner().invoke(app, ["--help"]).stdout
