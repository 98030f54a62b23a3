"""The lines that a run's program printed, in the terminal."""

from __future__ import annotations

import io

from rich.console import Console

from tests.web import seed
from workshop.cli.show import show_run
from workshop.extension import OUTPUT
from workshop.store.records import SessionRecord
from workshop.store.store import Store


def test_a_run_shows_the_lines_that_its_program_printed(store: Store, session: SessionRecord, capsys) -> None:
    run = store.submit(session.id, "resnet", {}, seed.PLACEMENT)
    line = f"Iter #0: 12.3 img/sec per CPU {'[x]' * 40}"
    store.put_artifact(run.id, OUTPUT, "text/plain", f"{line}\nImg/sec per CPU: 12.3 +-0.0\n".encode())
    show_run(store.run(run.id), store, Console(file=io.StringIO()))
    shown = capsys.readouterr().out.splitlines()
    assert shown[1:3] == [line, "Img/sec per CPU: 12.3 +-0.0"], "a long line stays one line, and [x] is no style"
