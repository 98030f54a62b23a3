"""The measured rank map: what each rank reports of itself."""

from __future__ import annotations

import os
import threading
import time

from workshop.core import rank_map


def test_a_process_measures_itself() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, allowed[:1])
    try:
        report = rank_map.measure(3, 1)
    finally:
        os.sched_setaffinity(0, allowed)
    assert (report["rank"], report["local_rank"], report["pid"]) == (3, 1, os.getpid())
    assert report["units"] == allowed[:1]
    assert len(report["cores"]) == len(report["packages"]) == len(report["numa"]) == 1
    assert os.getpid() in {thread["tid"] for thread in report["threads"]}


def test_threads_are_seen_where_they_work() -> None:
    threads = rank_map.ThreadUnits()
    working = threading.Event()
    found: list[int] = []

    def work() -> None:
        found.append(threading.get_native_id())
        while not working.is_set():
            sum(range(1000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            time.sleep(0.02)
            threads.look()
    finally:
        working.set()
        thread.join()
    seen = {row["tid"]: row["units_seen"] for row in threads.as_json()}
    assert seen[found[0]]
    assert set(seen[found[0]]) <= os.sched_getaffinity(0)


def test_ranks_are_in_order_and_threads_can_be_renewed() -> None:
    one, zero = rank_map.measure(1, 1), rank_map.measure(0, 0)
    known = rank_map.rank_map([one, zero])
    assert [row["rank"] for row in known["ranks"]] == [0, 1]
    later = [{"tid": 1, "name": "worker", "units_seen": [0]}]
    renewed = rank_map.with_later(known, {1: {"threads": later}})
    assert renewed["ranks"][1]["threads"] == later
    assert renewed["ranks"][0] == known["ranks"][0]
