"""Several notebooks and the dashboard on one session at once."""

from __future__ import annotations

import threading
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.dashboard import served
from tests.notebook.kernel import Kernel, kernel
from tests.notebook.sessions import WORK, ended, running, shown
from tests.server.dashboard import Dashboard, sections
from tests.support import limit
from workshop.runtime import client
from workshop.server import actions
from workshop.store.records import Identity, RunRecord
from workshop.store.store import Store

RUNS = 2  # of each
LIMIT = limit(240)  # seconds
SUBMIT = f"""
import workshop
session = workshop.attach()
found = [session.run("kmeans", {WORK}, seed={{seed}}, ranks=2) for _ in range({RUNS})]
print([run.id for run in found], [run.params["seed"] for run in found], [run.status for run in found])
"""
CELL = """%%ranks --seconds 120
total = comm.allreduce(rank + 1)
print("all ranks together", total)
"""


@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.timeout(2 * LIMIT)
def test_notebooks_and_the_dashboard_share_a_session(
    store: Store, workshop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(store) as session, served() as (process, port):
        dashboard = Dashboard(store, process, port)
        monkeypatch.setenv("WORKSHOP_LEARNER", "ada")
        with kernel() as hers:
            monkeypatch.setenv("WORKSHOP_LEARNER", "grace")
            with kernel() as others:
                said: dict[str, str] = {}
                cells: dict[str, list[str]] = {}
                told: dict[str, list[str]] = {}
                instructor = Identity(0, "instructor", "instructor", 0.0)

                def notebook(name: str, of: Kernel, seed: int, with_cells: bool) -> None:
                    of.run("import workshop\nsession = workshop.attach()")
                    cells[name] = [_on_ranks(of)] if with_cells else []
                    said[name] = of.run(SUBMIT.format(seed=seed))
                    cells[name] += [_on_ranks(of)] if with_cells else []

                def from_the_dashboard() -> None:
                    made: list[RunRecord] = []
                    for seed in range(RUNS):
                        params = {"data": "blobs", "points": 2000, "clusters": 3, "iterations": 4, "seed": seed}
                        run = actions.submit(store, instructor, session, "kmeans", params, session.placement)
                        made.append(client.wait(store, run.id, timeout=LIMIT))
                    told["dashboard"] = [run.status for run in made]

                def viewer() -> None:
                    first = actions.submit(
                        store, instructor, session, "kmeans", {"data": "blobs", "points": 2000}, session.placement
                    )
                    with dashboard.instructor().listen(f"/live/run/{first.id}") as line:
                        states = [sections(line)["run"]["status"]]
                        while states[-1] not in ("completed", "failed", "interrupted"):
                            with suppress(TimeoutError):  # nothing changes while it waits for its turn
                                states.append(sections(line).get("run", {}).get("status", states[-1]))
                    told["viewer"] = states

                parts = [
                    threading.Thread(target=notebook, args=("ada", hers, 11, True)),
                    threading.Thread(target=notebook, args=("grace", others, 22, False)),
                    threading.Thread(target=from_the_dashboard),
                    threading.Thread(target=viewer),
                ]
                for part in parts:
                    part.start()
                for part in parts:
                    part.join(LIMIT)
                assert not any(part.is_alive() for part in parts), (said, told)

        runs = store.runs(session_id=session.id)
        assert [run.status for run in runs] == ["completed"] * (3 * RUNS + 1), said
        assert told["dashboard"] == ["completed"] * RUNS
        assert told["viewer"][-1] == "completed"
        for name, seed in (("ada", 11), ("grace", 22)):
            mine = sorted(run.id for run in runs if run.submitted_by == name)
            assert said[name].splitlines()[-1] == f"{mine} {[seed] * RUNS} {['completed'] * RUNS}"
        assert all("rank 1 | all ranks together 3" in text for text in cells["ada"]), cells
        assert len(cells["ada"]) == 2, "before and after her runs"
        _one_at_a_time(runs)
    ended(workshop_home)


def _on_ranks(of: Kernel) -> str:
    """What a cell on the notebook's own ranks has shown."""
    before = len(of.sent)
    of.run(CELL)
    return "\n".join(shown(of, before))


def _one_at_a_time(runs: list[RunRecord]) -> None:
    """No run began before the one that was taken before it had ended."""
    times = sorted((run.started_at or 0.0, run.finished_at or 0.0) for run in runs)
    for (_, over), (began, _) in pairwise(times):
        assert began >= over, times
