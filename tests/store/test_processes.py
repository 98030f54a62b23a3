"""Several processes and threads on one store at once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from tests.store.test_events import new_run
from tests.support import limit
from workshop.store.store import Store

# What a process does with the store; the first line it prints says that it is ready, the next line it reads lets it go.
OPEN = "import json, sys, time\nfrom workshop.store.store import Store\n"
GATE = "print('ready', flush=True); sys.stdin.readline()\n"
OPENER = OPEN + GATE + "Store.open(sys.argv[1]).close(); print('[]')"
WRITER = (
    OPEN
    + """
store = Store.open(sys.argv[1]); run, rank = int(sys.argv[2]), int(sys.argv[3])
"""
    + GATE
    + """
for batch in range(1, 101):
    told = [(time.time(), f"name {rank}", step, 1.0) for step in range(batch * 20, batch * 20 + 20)]
    assert store.add_events(run, rank, batch, told)
    store.put_artifact(run, "shared", "text/plain", str(batch).encode())
    store.heartbeat(1)
print('[]')
"""
)
TAKER = (
    OPEN
    + "store = Store.open(sys.argv[1])\n"
    + GATE
    + """
taken = []
while run := store.take_next(int(sys.argv[2])):
    taken.append(run.id)
    store.finish(run.id, "completed")
print(json.dumps(taken))
"""
)


def together(code: str, *arguments: tuple[object, ...]) -> list[list[int]]:
    """Run the code in a process for each tuple of arguments, all let go at once; what each printed last."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, *map(str, given)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for given in arguments
    ]
    try:
        for process in running:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [process.communicate(timeout=limit(120))[0] for process in running]
        assert [process.returncode for process in running] == [0] * len(running)
        return [json.loads(answer) for answer in answers]
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.mark.real
def test_opening_a_new_store_at_once(url: str) -> None:
    together(OPENER, *[(url,)] * 4)
    with Store.open(url) as store:
        assert store.sessions() == []


@pytest.mark.real
def test_writing_at_once(store: Store, url: str) -> None:
    run = new_run(store)
    together(WRITER, *[(url, run, rank) for rank in range(3)])
    assert store.last_event_id(run) == 6000
    assert [told.id for told in store.events(run)] == list(range(1, 6001))
    assert store.totals(run) == {f"name {rank}": {rank: (2000, 2000.0, 1.0, 1.0)} for rank in range(3)}
    assert store.missing_batches(run, 1_000_000) == {}
    assert store.artifact(run, "shared").data == b"100"


@pytest.mark.real
def test_a_run_is_taken_once(store: Store, url: str) -> None:
    ids = [new_run(store) for _ in range(60)]
    taken = together(TAKER, *[(url, 1)] * 3)
    assert Counter(run for some in taken for run in some) == Counter(ids)
