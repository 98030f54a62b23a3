"""What OpenFL writes, read while it grows."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.openfl.parties import GrowingFile, Log

CUTS = st.lists(st.integers(0, 200), max_size=8)


@given(st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), max_size=6), CUTS)
def test_a_file_that_grows_in_pieces_gives_every_line_once(tmp_path_factory, lines, cuts):
    path = tmp_path_factory.mktemp("tail") / "log"
    data = "".join(f"{line}\n" for line in lines).encode()
    tail, found, at = GrowingFile(path), [], 0
    assert tail.lines() == []
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        with open(path, "ab") as file:
            file.write(data[at:cut])
        at = cut
        found += tail.lines()
    assert found == lines


def test_metrics_are_rounds_and_what_was_cut_off_is_left_out(tmp_path):
    path = tmp_path / "aggregator_metrics.txt"
    metrics = GrowingFile(path)
    first = {"round_number": 0, "elapsed_seconds": 1.5, "aggregator/train/loss": 0.4}
    path.write_text(json.dumps(first) + '\n{"round_nu')
    assert metrics.rounds() == [first]
    with open(path, "a") as file:  # the process was killed there, and another one goes on
        file.write('{"round_number": 1}\n[]\nnull\n{"round_number": "x"}\n{"round_number": 2}\n')
    assert metrics.rounds() == [{"round_number": 2}]


def test_a_log_tells_of_rounds_refusals_and_the_end(tmp_path):
    path = tmp_path / "fx.log"
    log = Log(path)
    log.read()
    assert (log.listens, log.round, log.refusals, log.done) == (False, None, [], {})
    path.write_text(
        "[21:59:28] [aggregator_server.py:350] INFO Starting Aggregator gRPC Server\n"
        '[21:59:33] [collaborator.py:188] INFO Round: 0 Received Tasks: [name: "train"\n, name: "x"\n]\n'
        "[21:59:42] [aggregator_client.py:154] INFO Failed to send data request to aggregator localhost:5, "
        "error code StatusCode.UNAUTHENTICATED\n"
        '[21:59:42] [collaborator.py:188] INFO Round: 12 Received Tasks: [name: "train"\n'
        "[21:59:48] [aggregator.py:1333] INFO Round 0: Collaborators that have completed all tasks: ['a']\n"
        "[21:59:49] [aggregator.py:1333] INFO Round 0: Collaborators that have completed all tasks: ['a', 'b2']\n"
    )
    log.read()
    assert (log.listens, log.round, log.refusals) == (True, 12, ["UNAUTHENTICATED"])
    assert log.done == {0: ["a", "b2"]}

    log.listens = False  # a process that is started again writes into the same log
    log.read()
    assert not log.listens, "what an earlier process wrote is not this one's"
