"""Runs with a WORKSHOP_HOME on a small disk of its own: fills that during a run, and prints how the runs ended."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.support import limit, until
from workshop.core import config
from workshop.core.disk import NoRoom, is_full
from workshop.core.placement import Placement
from workshop.sessions import client, lifecycle
from workshop.store.store import Store

LONG = {"clusters": 4, "pace": 0.2, "tolerance": 0.0, "iterations": 500, "backend": "numpy"}


def fill(file: Path) -> None:
    """Write until nothing more can be written."""
    with open(file, "wb", buffering=0) as opened:
        try:
            while True:
                opened.write(bytes(4096))
        except OSError as error:
            assert is_full(error), error


def main() -> None:
    filler = config.home() / "filler"
    with Store.open() as store:
        fill(filler)
        try:
            lifecycle.start_session(store, "none", Placement(ranks=2))
            refused = ""
        except NoRoom as error:
            refused = str(error)
        filler.unlink()
        session, conductor = lifecycle.start_session(store, "small", Placement(ranks=2), attached=True)
        try:
            lifecycle.wait_ready(store, session, conductor)
            run = client.submit(store, session, "kmeans", LONG)
            until(lambda: store.last_event_id(run.id), 30, "the run's first events")
            fill(filler)
            began = time.monotonic()
            full = client.wait(store, run.id, timeout=limit(60))
            seconds = time.monotonic() - began
            filler.unlink()
            following = client.submit(store, session, "kmeans", {**LONG, "pace": 0.0, "iterations": 3})
            after = client.wait(store, following.id, timeout=limit(60))
        finally:
            lifecycle.end_conductor(conductor)
    ends = [{"status": run.status, "error": run.error, "verdict": run.verdict} for run in (full, after)]
    print(json.dumps({"refused": refused, "seconds": seconds, "full": ends[0], "after": ends[1]}))


if __name__ == "__main__":
    main()
