"""What OpenFL writes, read while it grows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.openfl.parties import GrowingFile, Party

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


def test_a_log_tells_of_rounds_refusals_and_the_end(tmp_path):
    party = Party(None, tmp_path / "one", "institution1", "institution 1")
    party.read()
    assert (party.listens, party.round, party.refusals, party.done, party.rounds()) == (False, None, [], {}, [])
    logs = party.here / "logs"
    logs.mkdir(parents=True)
    (logs / "fx.log").write_text(
        "[21:59:28] [aggregator_server.py:350] INFO Starting Aggregator gRPC Server\n"
        '[21:59:33] [collaborator.py:188] INFO Round: 0 Received Tasks: [name: "train"\n, name: "x"\n]\n'
        "[21:59:42] [aggregator_client.py:154] INFO Failed to send data request to aggregator localhost:5, "
        "error code StatusCode.UNAUTHENTICATED\n"
        '[21:59:42] [collaborator.py:188] INFO Round: 12 Received Tasks: [name: "train"\n'
        "[21:59:48] [aggregator.py:1333] INFO Round 0: Collaborators that have completed all tasks: ['a']\n"
        "[21:59:49] [aggregator.py:1333] INFO Round 0: Collaborators that have completed all tasks: ['a', 'b2']\n"
    )
    party.read()
    assert (party.listens, party.round, party.refusals) == (True, 12, ["UNAUTHENTICATED"])
    assert party.done == {0: ["a", "b2"]}
    (logs / "institution1_metrics.txt").write_text('{"round_number": 0}\n{"round_nu')
    assert party.rounds() == [{"round_number": 0}]
