"""Elastic training on real ranks that are really killed: who goes on, from which state, and what they have read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.ranks import ROOT
from tests.support import limit, starts_processes, until
from workshop.core import processes
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.workloads.elastic.communicator import JOINER

pytestmark = pytest.mark.real

RANKS = 3
TRAINING = {"batch": 16, "epochs": 5}
KILLS = {"begin": "2@step:1", "first": "0@step:10", "both": "0@step:12,2@step:12"}
ROUNDED = 1e-3  # largest difference of a weight: sums may be added up in another order


def start(arguments: list[str], *options: str, ranks: int = RANKS) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [openmpi.launcher(), *options, "-n", str(ranks), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA,
         sys.executable, "-m", *arguments],
        cwd=ROOT,
        env=os.environ | openmpi.environment() | Placement().rank_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def launch(arguments: list[str], *options: str, ranks: int = RANKS) -> subprocess.CompletedProcess[str]:
    with start(arguments, *options, ranks=ranks) as process:
        try:
            output, errors = process.communicate(timeout=limit(90))
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def trained(output: Path, *doomed: str, ranks: int = RANKS, **params: Any) -> dict[str, Any]:
    """What the first rank that was left wrote."""
    options, variables = openmpi.tolerance({})
    program = ["tests.workloads.elastic.ranks_program", str(output), json.dumps(params), *doomed]
    done = launch(program, *options, *openmpi.assignments(variables), ranks=ranks)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(output.read_text())
    return result


@pytest.fixture(scope="module")
@starts_processes
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("elastic")
    runs = {name: trained(folder / name, **TRAINING, kill=kill) for name, kill in KILLS.items()}
    return runs | {"undisturbed": trained(folder / "undisturbed", ranks=2, **TRAINING)}


def difference(first: Any, second: Any) -> float:
    pairs = zip(first["weights"], second["weights"], strict=True)
    return max(float(np.abs(np.subtract(*pair)).max()) for pair in pairs)


@pytest.mark.parametrize(("name", "lost"), [("first", [0]), ("both", [0, 2])])
def test_the_others_go_on_and_end_with_the_same_weights(
    runs: dict[str, dict[str, Any]], name: str, lost: list[int]
) -> None:
    metrics = runs[name]["metrics"]
    left = [rank for rank in range(RANKS) if rank not in lost]
    assert metrics["ranks"] == left and len(metrics["weights"]) == len(left) and metrics["same_weights"]
    assert sorted(loss["rank"] for loss in metrics["losses"]) == lost
    assert metrics["losses"][-1]["ranks"] == left
    assert all(loss["next_step_seconds"] > loss["repair_seconds"] > 0 for loss in metrics["losses"])
    assert metrics["held_out_accuracy"] > 0.8


def test_two_ranks_that_are_left_at_the_begin_train_as_two_ranks_do(runs: dict[str, dict[str, Any]]) -> None:
    assert difference(runs["begin"], runs["undisturbed"]) < ROUNDED
    assert runs["begin"]["metrics"]["updates"] == runs["undisturbed"]["metrics"]["updates"] == 75


@pytest.mark.parametrize("name", KILLS)
def test_every_epoch_reads_every_example_once(runs: dict[str, dict[str, Any]], name: str) -> None:
    metrics = runs[name]["metrics"]
    assert metrics["exactly_once"] and metrics["images_read"] == 5 * 480
    assert metrics["examples_read"] == [{"epoch": epoch, "read": 480, "distinct": 480} for epoch in range(5)]


def test_a_loss_is_told_as_it_happens(runs: dict[str, dict[str, Any]]) -> None:
    assert "rank 0 is gone; ranks 1 and 2 go on" in runs["first"]["activities"], "the next rank tells it"
    assert {"loss", "ranks", "total images/s", "held-out accuracy"} <= set(runs["first"]["events"])
    assert runs["first"]["metrics"]["losses"][0]["step"] == 10


def test_new_ranks_join_with_the_state_of_the_others_also_where_one_is_lost_meanwhile(tmp_path: Path) -> None:
    grown = trained(
        tmp_path / "grow", "doomed", batch=16, epochs=round(limit(24)), pace=0.1, kill="1@step:5", on_failure="grow"
    )["metrics"]
    assert [loss["rank"] for loss in grown["losses"]] == [1, 2] and grown["losses"][1]["ranks"] == [0]
    assert [join["rank"] for join in grown["joins"]] == [1, 2] and grown["ranks"] == [0, 1, 2]
    assert len(grown["weights"]) == 3 and grown["same_weights"] and grown["exactly_once"]


def test_a_run_that_a_loss_would_end_is_refused() -> None:
    done = launch(["workshop.engine", "elastic", "--data", "digits"])
    assert done.returncode == 2 and "mpirun --with-ft ulfm, or choose on_failure stop" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_that_stops_at_a_loss_says_who_was_killed() -> None:
    params = ["--data", "digits", "--images", "480", "--model", "dense", "--on-failure", "stop", "--kill", "1@step:3"]
    done = launch(["workshop.engine", "elastic", *params])
    assert done.returncode == 128 + signal.SIGKILL and "process rank 1" in done.stderr and not done.stdout
    assert "Traceback" not in done.stderr


def test_nothing_is_left_of_a_new_rank_whose_mpirun_is_killed() -> None:
    params = ["--data", "digits", "--images", "480", "--model", "dense", "--epochs", "900", "--pace", "0.1"]
    command = ["workshop.engine", "elastic", *params, "--on-failure", "grow", "--kill", "1@step:3"]
    with start(command, "--with-ft", "ulfm") as process:

        def with_joiner() -> list[psutil.Process]:
            """All ranks, once a new one is among them."""
            ranks = psutil.Process(process.pid).children(recursive=True)
            with contextlib.suppress(psutil.Error):  # the killed one ends meanwhile
                if any(JOINER in rank.cmdline() for rank in ranks):
                    return ranks
            return []

        try:
            ranks = until(with_joiner, 60, "a new rank")
        finally:
            process.kill()
    until(lambda: not any(map(processes.alive, ranks)), 30, "the end of all ranks")


def test_a_restart_needs_a_session() -> None:
    done = launch(["workshop.engine", "elastic", "--data", "digits", "--on-failure", "restart"])
    assert done.returncode == 2 and "a session has to start new ranks" in done.stderr
