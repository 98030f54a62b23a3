"""Who keeps the ranks, in states that are written down here; tests/workloads/hangs/test_watch.py has real ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from workshop.workloads.hangs.diagnosis import KINDS, Diagnosis, diagnose
from workshop.workloads.hangs.recorder import ANY
from workshop.workloads.hangs.states import Activity, Call, RankState

WORLD: dict[str, Any] = {"comm": "COMM_WORLD", "ranks": (0, 1, 2)}
PAIR: dict[str, Any] = {"comm": "Split 1 of COMM_WORLD", "ranks": (1, 2)}
BARRIER = Call("Barrier", **WORLD, number=1, place="work.py:9")
ALLREDUCE = replace(BARRIER, name="Allreduce", count=10, type="float64")
BCAST = replace(BARRIER, name="Bcast", root=0, count=10, type="float64")


def receive(source: int, tag: int = 7, **fields: Any) -> Call:
    return Call("Recv", **{**WORLD, "source": source, "recvtag": tag, "time": 2.0, **fields})


def send(dest: int, tag: int = 7, **fields: Any) -> Call:
    return Call("Send", **{**WORLD, "dest": dest, "tag": tag, "time": 1.0, **fields})


def states(*ranks: Call | Activity | RankState | tuple[Any, ...]) -> list[RankState]:
    """States of ranks 0, 1, 2: a call in which a rank waits or what it does, alone or with a call that it has made."""
    made = []
    for rank, state in enumerate(ranks):
        does, *history = state if isinstance(state, tuple) else (state,)
        if isinstance(does, RankState):
            made.append(replace(does, rank=rank, history=tuple(history)))
            continue
        call, activity = (does, "mpi") if isinstance(does, Call) else (None, does)
        made.append(RankState(rank, 100 + rank, activity, "work.py:9", call, history=tuple(history)))
    return made


IBARRIER = replace(BARRIER, name="Ibarrier", ranks=(0, 1))
PROBE = replace(receive(ANY, ranks=(0, 1)), name="iprobe")
POLLING = RankState(0, 1, "polling", call=receive(1))


def wait(*requests: Call) -> Call:
    return Call("Waitall", requests=requests)


HANGS = {
    "a rank receives": ("receive-without-send", [2], states(ALLREDUCE, ALLREDUCE, receive(0))),
    "a rank polls": ("receive-without-send", [0], states(POLLING, BARRIER, BARRIER)),
    "another collective": ("other-collective", [2], states(ALLREDUCE, ALLREDUCE, BARRIER)),
    "a nonblocking collective": ("other-collective", [2], states(BCAST, BCAST, replace(BCAST, name="Ibcast"))),
    "another root": ("other-root", [1], states(BCAST, replace(BCAST, root=1), BCAST)),
    "a root that has gone on": ("other-root", [0], states(("ended", replace(BCAST, root=1)), BCAST, BCAST)),
    "another size": ("other-size", [1], states(ALLREDUCE, replace(ALLREDUCE, count=9), ALLREDUCE)),
    "another type": ("other-size", [1], states(ALLREDUCE, replace(ALLREDUCE, type="float32"), ALLREDUCE)),
    "two communicators": (
        "other-communicator", [1, 2],
        states(replace(BARRIER, number=2), replace(BARRIER, number=2), replace(BARRIER, **PAIR))[1:],
    ),
    "a message on another communicator": (
        "other-communicator", [1, 2], states("ended", ("ended", send(1, **PAIR)), receive(1)),
    ),
    "nobody sends": ("receive-without-send", [0, 1], states("ended", receive(0), "ended")),
    "nobody receives": ("send-without-receive", [0, 1], states("ended", send(0), "ended")),
    "nobody sends, any source": ("receive-without-send", [1], states(receive(2), receive(ANY), receive(0, tag=3))[1:2]),
    "another tag": ("tag-mismatch", [0, 1], states(("ended", send(1, tag=8)), receive(0), "ended")),
    "another tag, both wait": ("tag-mismatch", [0, 1], states(send(1, tag=8), receive(0), "ended")),
    "another source": ("wrong-peer", [1, 2], states("ended", receive(0), ("ended", send(1)))),
    "itself": ("wrong-peer", [1], states("ended", receive(1), "ended")),
    "sends in a circle": ("circular-sends", [0, 1, 2], states(send(1), send(2), send(0))),
    "receives in a circle": ("circular-receives", [0, 1], states(receive(1), receive(0), "ended")),
    "a mixed circle": ("circular-wait", [0, 1, 2], states(send(1), receive(2, tag=9), receive(0))),
    "another tag in Sendrecv": ("tag-mismatch", [0, 1], states(
        replace(receive(1), dest=1, tag=0), receive(0, tag=5), "computing"
    )),
    "a rank has ended": ("ended", [2], states(BARRIER, BARRIER, "ended")),
    "two ranks have ended": ("ended", [1, 2], states(BARRIER, "ended", "ended")),
    "all have ended, any source": ("receive-without-send", [0], states(receive(ANY), "ended", "ended")),
    "a send in a circle": ("circular-wait", [0, 1, 2], states(send(1), receive(2), send(0))),
    "a message without room": ("other-size", [1], states(
        (RankState(0, 1, "raised", detail="Exception: MPI_ERR_TRUNCATE"), ALLREDUCE),
        replace(ALLREDUCE, count=9),
        ALLREDUCE,
    )),
    "a rank has gone": ("ended", [0], states(RankState(0, 1, "ended", detail="it is gone"), receive(0), "ended")),
    "a rank has raised": ("raised", [1], states(BARRIER, RankState(1, 1, "raised", detail="ValueError: x"), BARRIER)),
    "a chain to one that has raised": ("raised", [0], states("raised", receive(0), receive(1))),
    "a lock": ("lock", [1], states(BARRIER, "lock", BARRIER)),
    "a lock alone": ("lock", [1], states("ended", "lock", "ended")),
    "input": ("input", [0], states("input", BARRIER, BARRIER)),
    "a stopped rank": ("stopped", [1], states(BARRIER, "stopped", BARRIER)),
    "a request": ("wait-for-request", [0, 1], states("ended", wait(receive(0)), "ended")),
    "a probe": ("probe", [0, 1], states("ended", replace(receive(0), name="Probe"), "ended")),
    "a call without a record": ("missing-from-collective", [0], states(Call("Win_fence"), BARRIER, BARRIER)),
    "a send before a collective": ("send-without-receive", [0], states(send(1), ALLREDUCE, ALLREDUCE)),
    "a chain before a collective": ("receive-without-send", [1], states(receive(1), receive(2), ALLREDUCE)),
    "polls in turn": ("probe", [1], states(
        (replace(POLLING, call=Call("Test", requests=(IBARRIER, PROBE))), IBARRIER),
        replace(POLLING, call=replace(PROBE, source=0)),
    )),
    "calls without a record": ("unknown", [0, 1], states(Call("Win_fence"), Call("Win_lock"))),
    "two, while another computes": ("circular-receives", [0, 1], states(receive(1), receive(0), "computing")),
}  # fmt: skip


@pytest.mark.parametrize("name", HANGS)
def test_a_hang_has_its_cause(name: str) -> None:
    kind, ranks, found = HANGS[name]
    diagnosis = diagnose(found)
    assert diagnosis is not None
    assert (diagnosis.kind, list(diagnosis.ranks), diagnosis.hang) == (kind, ranks, True)
    assert diagnosis.fix == KINDS[kind]["fix"]
    assert diagnosis.sentence.startswith("Rank") and diagnosis.sentence.endswith(".")
    assert len(diagnosis.lines) == len(found)


NO_HANGS = {
    "a rank computes": ("computing", states(BARRIER, BARRIER, "computing")),
    "a rank sleeps": ("sleeping", states(receive(1), "sleeping", receive(0))),
    "a chain to one that computes": ("computing", states("computing", receive(0), receive(1))),
    "a leaf waits for the root": ("computing", states("computing", BCAST, receive(1))),
    "a rank can't be seen": ("unknown", states(BARRIER, BARRIER, "unknown")),
    "another process": ("pipe", states(BARRIER, "pipe", BARRIER)),
    "all are in the call": ("", states(BARRIER, BARRIER, BARRIER)),
    "all have passed it": ("", states(BCAST, (receive(2), BCAST), (send(1), BCAST))),
    "a message is on its way": ("", states(send(1), receive(0), "ended")),
    "any message is on its way": ("", states(send(1), receive(ANY, ANY), "ended")),
    "half of it may be complete": ("computing", states(replace(receive(2), dest=1, tag=0), "ended", "computing")),
    "a request may be complete": ("computing", states(wait(send(1), receive(2)), "ended", "computing")),
    "a file is written": ("", states(Call("File_write_all"), Call("File_write_all"))),
    "no call can be seen": ("unseen", states("unknown", "ended", "unknown")),
    "no call of one is seen": ("", states(("unknown", BARRIER), "unknown", "unknown")),
    "all compute": ("", states("computing", "computing", "computing")),
    "all have ended": ("", states("ended", "ended", "ended")),
}


@pytest.mark.parametrize("name", NO_HANGS)
def test_what_may_end_by_itself_is_no_hang(name: str) -> None:
    kind, found = NO_HANGS[name]
    diagnosis = diagnose(found)
    assert (diagnosis.kind if diagnosis else "", diagnosis.hang if diagnosis else False) == (kind, False)


def sentence(*ranks: Call | Activity | RankState) -> str:
    diagnosis = diagnose(states(*ranks))
    assert isinstance(diagnosis, Diagnosis)
    return diagnosis.sentence


def test_what_is_said() -> None:
    assert sentence(ALLREDUCE, ALLREDUCE, receive(0)) == (
        "Rank 2 waits in Recv from rank 0, tag 7, at work.py:9, and no rank sends it. "
        "So ranks 0 and 1 wait for it in Allreduce (number 1 on COMM_WORLD), at work.py:9."
    )
    assert sentence(Call("Win_fence"), BARRIER, BARRIER) == (
        "Rank 0 is missing from Barrier (number 1 on COMM_WORLD), for which ranks 1 and 2 wait at work.py:9: "
        "it waits in Win_fence, at work.py:9."
    )
    assert sentence(BARRIER, "lock", BARRIER) == (
        "Rank 1 waits for a lock of its own process, at work.py:9, and ranks 0 and 2 wait for it in Barrier."
    )
    lines = diagnose(states(ALLREDUCE, receive(0), "computing"))
    assert lines is not None
    assert lines.lines == (
        "rank 0  Allreduce of 10 float64 (number 1)  work.py:9",
        "rank 1  Recv from rank 0, tag 7  work.py:9",
        "rank 2  computes  work.py:9",
    )


def test_a_poll_for_one_of_several_tags_is_no_tag_mismatch() -> None:
    asks = replace(POLLING, call=Call("Test", requests=(IBARRIER, PROBE)))
    ranks = states(
        (asks, send(1, tag=1, ranks=(0, 1)), IBARRIER), replace(POLLING, call=replace(PROBE, source=0, recvtag=2))
    )
    named = diagnose(ranks)
    assert named is not None and (named.kind, named.ranks) == ("probe", (1,))
    assert named.sentence == (
        "Rank 1 polls iprobe from rank 0, tag 2, and no rank sends it. "
        "So rank 0 waits for it in Ibarrier (number 1 on COMM_WORLD), at work.py:9."
    )


def test_polls_in_turn_are_said_as_such() -> None:
    state = replace(POLLING, call=Call("Test", requests=(IBARRIER, PROBE)), place="work.py:7")
    assert state.describe() == "polls Ibarrier and iprobe from any rank, tag 7, at work.py:7"
    assert state.line == "rank 0  polls Ibarrier and iprobe from any rank, tag 7  work.py:7"


def test_a_receive_that_has_its_message_takes_no_other() -> None:
    sent = replace(send(1, tag=8), time=1.0)
    received = replace(receive(0, tag=8), time=1.0)
    ranks = states("ended", receive(0), "ended")
    ranks[0] = replace(ranks[0], history=(sent,))
    ranks[1] = replace(ranks[1], history=(received,))
    diagnosis = diagnose(ranks)
    assert diagnosis is not None and diagnosis.kind == "receive-without-send"


def test_a_send_from_before_the_history_counts_as_received() -> None:
    ranks = states("ended", receive(0), "ended")
    ranks[0] = replace(ranks[0], history=(replace(send(1, tag=8), time=1.0),))
    ranks[1] = replace(ranks[1], history=(replace(BARRIER, time=1.5),))
    diagnosis = diagnose(ranks)
    assert diagnosis is not None and diagnosis.kind == "receive-without-send"


def test_a_wait_for_several_lacks_a_message() -> None:
    """The other one has its message, also where the history begins with the receive that was posted for it."""
    posted = receive(1, time=0.5)
    waits = replace(wait(posted, receive(2)), name="waitall")
    ranks = states((waits, posted), ("ended", send(0)), "ended")
    assert diagnose(ranks) is None, "the histories may not have all calls"
    diagnosis = diagnose([replace(state, complete=True) for state in ranks])
    assert diagnosis is not None
    assert (diagnosis.kind, diagnosis.ranks) == ("wait-for-request", (0, 2))


def test_a_send_before_the_first_receive_counts_in_a_whole_history() -> None:
    ranks = states(("ended", send(1, tag=1, time=0.1)), (receive(0, tag=3), receive(0, tag=2, time=0.5)), "ended")
    diagnosis = diagnose([replace(state, complete=True) for state in ranks])
    assert diagnosis is not None and diagnosis.kind == "tag-mismatch"


def test_no_ranks_no_diagnosis() -> None:
    assert diagnose([]) is None
