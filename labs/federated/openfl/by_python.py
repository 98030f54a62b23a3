"""The same federation through OpenFL's Python API: aggregator and collaborators as objects of one process, without
`fx`, network and certificates. Run it in a workspace that has each institution's folder in `data`:

    python ../by_python.py train       # all rounds of the plan; the model is kept in save/last.pbuf
    python ../by_python.py evaluate    # federated evaluation: each institution tests that model, and nobody trains

The plan is the one that `fx` reads. In place of gRPC, a collaborator's client calls the aggregator's methods.
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, ".")  # the plan names classes of the workspace's src

from openfl.federated import Plan

INTO, LAST = Path("data"), "save/last.pbuf"
SECONDS = 0.2  # between two questions for work


class DirectClient:
    """What a collaborator asks of the aggregator; one question at a time, as OpenFL's server answers them."""

    def __init__(self, aggregator: Any, name: str, lock: threading.Lock) -> None:
        self.aggregator, self.name, self.lock = aggregator, name, lock

    def get_tasks(self) -> tuple[list[str], int, float, bool]:
        with self.lock:
            tasks, number, _, over = self.aggregator.get_tasks(self.name)
        return tasks or [], number, SECONDS, over

    def get_aggregated_tensor(self, *request: Any) -> Any:
        with self.lock:
            return self.aggregator.get_aggregated_tensor(*request, requested_by=self.name)

    def send_local_task_results(self, *results: Any) -> None:
        with self.lock:
            self.aggregator.send_local_task_results(self.name, *results)


def plan(names: list[str]) -> Plan:
    """The workspace's plan with these collaborators. A plan makes one object of each kind, so that every party needs
    its own."""
    parsed = Plan.parse(Path("plan/plan.yaml"))
    parsed.authorized_cols = names
    parsed.cols_data_paths = {name: INTO / name for name in names}
    return parsed


def federate(task_group: str) -> None:
    """Run all rounds of the plan's task group: learning or evaluation."""
    names = sorted(folder.name for folder in INTO.iterdir() if folder.is_dir())
    plans = {name: plan(names) for name in names}
    runners = {name: own.get_task_runner(own.get_data_loader(name)) for name, own in plans.items()}
    central = plan(names)
    central.config["assigner"]["settings"]["selected_task_group"] = task_group
    central.config["aggregator"]["settings"]["init_state_path"] = LAST
    initial = runners[names[0]].get_tensor_dict(with_opt_vars=False) if task_group == "learning" else None
    aggregator, lock = central.get_aggregator(initial), threading.Lock()
    collaborators = [
        own.get_collaborator(name, task_runner=runners[name], client=DirectClient(aggregator, name, lock))
        for name, own in plans.items()
    ]
    with ThreadPoolExecutor(len(names)) as pool:
        for result in [pool.submit(collaborator.run) for collaborator in collaborators]:
            result.result()


if __name__ == "__main__":
    groups = {"train": "learning", "evaluate": "evaluation"}
    if sys.argv[1:] not in [[word] for word in groups]:
        sys.exit(f"Say what to do: python by_python.py {' or '.join(groups)}.")
    if sys.argv[1] == "evaluate" and not Path(LAST).exists():
        sys.exit(f"There is no {LAST} to evaluate; train first: python by_python.py train.")
    federate(groups[sys.argv[1]])
