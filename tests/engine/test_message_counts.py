"""Messages between ranks: what the MPI wrote, and what it counted of known messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.message_counts_program import CALLS, SENT, VALUES
from tests.ranks import run_ranks
from workshop.engine.message_counts import KINDS, counts, document
from workshop.mpi.tool_interface import COUNTING
from workshop.report.panels import messages
from workshop.report.panels.messages import parts, sentences

PROFILE = """# POINT TO POINT
E\t0\t1\t800 bytes\t1 msgs sent\t0,0,1
I\t0\t1\t64 bytes\t2 msgs sent
I\t0\t3\t6 bytes\t1 msgs sent\t1,0
# OSC
# COLLECTIVES
C\t0\t2\t80 bytes\t1 msgs sent
D\tMPI_COMM_WORLD\tprocs: 0,1,2,3
O2A\t0\t0 bytes\t0 msgs sent
"""


def test_lines_of_ranks_are_read_by_their_kind():
    read = counts(PROFILE, 4)
    assert read["program"].tolist() == [[0, 800, 0, 0], [0, 1, 0, 0]]
    assert read["inside"].tolist() == [[0, 64, 0, 6], [0, 2, 0, 1]]
    assert read["buffers"].tolist() == [[0, 0, 80, 0], [0, 0, 1, 0]]


@given(st.text("EIC0159 \tbytes\n,-") | st.text())
def test_other_text_counts_nothing_or_something_but_never_fails(text):
    read = counts(text, 2)
    assert set(read) == set(KINDS.values()) and all((counted >= 0).all() for counted in read.values())


def test_ranks_at_other_activities_are_counted_together():
    rows = {kind: np.ones((2, 2), np.int64) for kind in KINDS.values()}
    ranks = [("a", "", [("reading", rows), ("computing", rows)]), ("b", "", [("reading", rows)])]
    merged = document(ranks)
    (activity,) = merged["activities"]
    assert activity["name"] == "the whole run" and activity["inside"]["bytes"] == [[2, 2], [1, 1]]
    assert merged["hosts"] == ["a", "b"]


@pytest.mark.real
@pytest.mark.parametrize("ranks", [2, 4])
def test_known_messages_are_counted_in_their_activities(ranks, monkeypatch):
    for name, value in COUNTING.items():
        monkeypatch.setenv(name, value)
    counted = run_ranks("tests.engine.message_counts_program", ranks)
    summing, sending = counted["activities"]
    assert (summing["name"], sending["name"]) == ("adding up", "sending")
    assert not np.any(summing["program"]["bytes"]) and not np.any(sending["inside"]["bytes"])
    program = np.array(sending["program"]["bytes"])
    assert program[0, 1] == 8 * SENT and program.sum() == 8 * SENT
    buffers = messages.total(counted, "buffers", "bytes").max(axis=1)
    assert (buffers == 8 * VALUES * CALLS).all()
    ratio = messages.ratio(messages.total(counted, "inside", "bytes"), messages.total(counted, "buffers", "bytes"))
    assert ratio == pytest.approx(2 * (ranks - 1) / ranks, rel=0.02), "Open MPI takes an algorithm that sends the least"
    assert any("ring or by halves" in sentence and "the first fits" in sentence for sentence in sentences(counted))
    kinds = [part["kind"] for part in parts(counted)]
    assert kinds.count("figure") == 2 and kinds[-1] == "table"
