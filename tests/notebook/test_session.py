"""What a session knows of its machine, which needn't be the notebook's: without a kernel or ranks."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tests.report.analysis.cases import machine
from tests.web import seed
from workshop.core import topology
from workshop.extension import load
from workshop.notebook.session import Session
from workshop.registry import studies, workload
from workshop.store.store import Store


@pytest.fixture
def held(store: Store) -> Iterator[Session]:
    with seed.alive(store, "class") as record:
        yield Session(store, record)


@pytest.mark.real
def test_cores_are_those_of_the_sessions_machine(store: Store, held: Session) -> None:
    store.update_session(held.record.id, machine=machine(12, hardware_threads=2, host="elsewhere"))
    assert held.cores == 12, "whatever this machine has"
    wanted = load(studies()["scaling"].plan)(store, held.record, workload("kmeans"), {})
    assert wanted.description()["ranks"] == [1, 2, 4, 8]
    # Here a process may have fewer of them than there are.
    store.update_session(held.record.id, machine=machine(1000, host=socket.gethostname()))
    assert held.cores == topology.allowed_cores(held.record.machine) < 1000
    # Ranks that a queue starts, also on this host, have what the queue gives them.
    store.update_session(held.record.id, site={"kind": "slurm"})
    assert held.cores == 1000
