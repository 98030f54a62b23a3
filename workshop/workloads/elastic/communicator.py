"""The group of ranks that train: it notices losses, shrinks, and grows (MPI's fault tolerance by ULFM, User-Level
Failure Mitigation: Bland et al., Post-failure recovery of MPI communication capability, IJHPCA 27(3), 2013).

All members leave a communicator together: whoever gets an error revokes it, which interrupts all others, and then every
member meets in `agree`. The agreement is the same for all, also where ranks die during it.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mpi4py import MPI

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.patience import patient
from workshop.mpi import openmpi

HEALTHY, READY = 1, 2  # bits that members agree on
ORDER, REPORT, WORD, GONE, BRIDGE = 71, 72, 73, 74, 75  # tags of messages to and from a new rank
JOINER = "workshop.workloads.elastic.joiner"
ROUNDS = 4  # of a recovery, beside one for each member
PAUSE = 0.02  # seconds between two looks for a message

CatchUp = Callable[[Any], None]  # called with a communicator: all its ranks get the state of the most advanced


class RankLost(Exception):
    """Members have agreed that this communicator isn't whole: each of them has to `recover`."""


def check_tolerance(comm: Any, on_failure: str) -> None:
    """Refuse to train where a loss would end all ranks. Raises BadInput."""
    vendor = MPI.get_vendor()[0]
    if comm.size == 1 or (vendor == "Open MPI" and openmpi.tolerates()):
        return
    how = "start the ranks with mpirun --with-ft ulfm" if vendor == "Open MPI" else "take Open MPI"
    raise BadInput(
        f"on_failure is {on_failure}, but this run's {vendor} ends all ranks when one is lost; {how}, or choose "
        "on_failure stop."
    )


class Membership:
    """The ranks that go on. `numbers` are those of the start, in the order of `comm`'s ranks; a new rank has the number
    of the lost one that it replaces."""

    def __init__(self, comm: Any, number: int, tolerant: bool, numbers: Sequence[int] = ()) -> None:
        self.number = number
        self.numbers = tuple(numbers)
        self.tolerant = tolerant  # whether a loss is survived
        self.preparing: tuple[int, ...] = ()  # numbers of new ranks that prepare themselves
        self.joiners: Any = None  # the first member's communicator with them, of which it is rank 0
        self._orders: list[Any] = []  # messages under way
        self._ready: set[int] = set()  # new ranks that are prepared
        self.comm = comm
        comm.Set_errhandler(MPI.ERRORS_RETURN)

    def _use(self, comm: Any) -> None:
        """Go on over another communicator. MPI_Finalize would wait for all ranks of the former one, if a new rank was
        among them."""
        former, self.comm = self.comm, comm
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        if former != MPI.COMM_WORLD:
            former.Free()

    def agree(self, bits: int = HEALTHY) -> int:
        """The bits that all members have in common. Collective. Raises RankLost, on all alike, where a member is lost
        or isn't healthy."""
        if not self.tolerant:
            return bits
        try:
            common = int(self.comm.Agree(bits))
        except MPI.Exception as error:
            raise RankLost from error
        if not common & HEALTHY:
            raise RankLost
        return common

    def give_up(self) -> None:
        """Leave what this communicator was doing: interrupt the others, and meet them."""
        self.comm.Revoke()
        with contextlib.suppress(RankLost):
            self.agree(0)

    def settle(self, catch_up: CatchUp) -> None:
        """Learn who is here, and have all at the same state. Collective. Raises RankLost, on all alike."""
        bits, numbers = HEALTHY, self.numbers
        try:
            numbers = tuple(self.comm.allgather(self.number))
            catch_up(self.comm)
        except MPI.Exception:
            self.comm.Revoke()
            bits = 0
        self.agree(bits)
        self.numbers = numbers

    def recover(self, catch_up: CatchUp) -> None:
        """Go on without those that are lost, also where more are lost meanwhile. Collective, behind RankLost."""
        joiners, self.joiners, self.preparing = self.joiners, None, ()
        if joiners is not None:
            # They prepared themselves for other members, and end. A new rank that has just been started may not hear
            # that its communicator was revoked; if the first member is lost, it notices that.
            with contextlib.suppress(MPI.Exception):
                self._orders += [joiners.isend(None, dest=rank, tag=GONE) for rank in range(1, joiners.size)]
            joiners.Revoke()
            joiners.Free()  # MPI_Finalize would wait for those that are lost
        for _ in range(len(self.numbers) + ROUNDS):  # each round that fails has lost a rank
            with contextlib.suppress(RankLost, MPI.Exception):
                self.comm.Revoke()
                self._use(self.comm.Shrink())
                self.settle(catch_up)
                return
        raise WorkshopError("The ranks that were left could not agree on how to go on; start the run again.")

    def spawn(self, numbers: Sequence[int], order: Mapping[str, Any]) -> None:
        """Start a new rank for each number, and send it what it needs to prepare itself. Collective. Raises RankLost,
        and on the first member MPI's own error where no process can be started.

        The first member starts them alone: MPI_Comm_spawn waits for ever where one of its ranks is lost meanwhile."""
        self.agree()
        self.preparing = tuple(numbers)
        if self.comm.rank == 0:
            self.joiners = merge(
                MPI.COMM_SELF.Spawn(sys.executable, ["-P", "-m", JOINER], maxprocs=len(numbers)), high=False
            )
            self._ready.clear()
            self._orders += [
                self.joiners.isend({**order, "number": number}, dest=rank, tag=ORDER)
                for rank, number in enumerate(numbers, 1)
            ]

    def grow(self, catch_up: CatchUp) -> bool:
        """Take new ranks in if all of them are ready. Collective. Returns whether they are members now. Raises
        RankLost."""
        bits = HEALTHY | (READY if self.comm.rank or self._all_ready() else 0)
        if not self.agree(bits) & READY:
            return False
        # Whoever gets an error interrupts the others, and the members agree after each step in which some may have.
        bridge = merged = None
        try:
            if self.comm.rank == 0:
                _send_all(self.joiners, True)
            bridge = connect(self.comm, self.joiners, 1)
        except MPI.Exception:
            self.comm.Revoke()
        self._agree_on(bridge)
        with contextlib.suppress(MPI.Exception):
            merged = merge(bridge, high=False)
        self._agree_on(merged)
        if self.comm.rank == 0:
            _send_all(self.joiners, True)  # all members have merged; without this word, new ranks end
            self.joiners.Free()
        self.joiners, self.preparing = None, ()
        self._use(merged)
        self.settle(catch_up)
        return True

    def _agree_on(self, comm: Any) -> None:
        """Agree that all members have this new communicator, which is None where there was an error. Collective. Raises
        RankLost, behind which nobody has it."""
        try:
            self.agree(0 if comm is None else HEALTHY)
        except RankLost:
            if comm is not None:
                comm.Revoke()
                comm.Free()
            raise

    def dismiss(self) -> None:
        """Send new ranks away that weren't needed any more, which the first member does."""
        if self.joiners is not None:
            _send_all(self.joiners, False)
            self.joiners.Free()
        self.joiners, self.preparing = None, ()

    def _all_ready(self) -> bool:
        """Whether each new rank has reported that it is prepared."""
        with contextlib.suppress(MPI.Exception):  # of a new rank that was lost
            for rank in range(1, self.joiners.size):
                if rank not in self._ready and self.joiners.iprobe(source=rank, tag=REPORT):
                    self.joiners.recv(source=rank, tag=REPORT)
                    self._ready.add(rank)
        return len(self._ready) == self.joiners.size - 1


def connect(comm: Any, pair: Any, leader: int) -> Any:
    """The intercommunicator between members and new ranks, whose first ranks are in `pair`. Collective over both."""
    bridge = comm.Create_intercomm(0, pair or comm, leader, BRIDGE)
    bridge.Set_errhandler(MPI.ERRORS_RETURN)
    return bridge


def merge(intercomm: Any, high: bool) -> Any:
    """All ranks of both groups in one communicator, in place of the intercommunicator. Collective over both."""
    intercomm.Set_errhandler(MPI.ERRORS_RETURN)
    try:
        merged = intercomm.Merge(high=high)
        merged.Set_errhandler(MPI.ERRORS_RETURN)
        return merged
    except MPI.Exception:
        intercomm.Revoke()
        raise
    finally:
        intercomm.Free()


def _send_all(joiners: Any, word: bool) -> None:
    for rank in range(1, joiners.size):
        with contextlib.suppress(MPI.Exception):  # of a new rank that was lost
            joiners.send(word, dest=rank, tag=WORD)


def is_wanted(members: Any) -> bool:
    """For a new rank: whether the members count on it. They don't where they have gone on without it, or where the
    first one is lost."""
    try:
        return not members.iprobe(source=0, tag=GONE) and not members.Is_revoked()
    except MPI.Exception:
        return False


def receive(members: Any, tag: int, seconds: float) -> Any:
    """A message from the first member, for a new rank. None where the members don't count on it any more, and after so
    many seconds of an idle machine."""
    began = time.monotonic()
    with contextlib.suppress(MPI.Exception):
        while time.monotonic() - began < patient(seconds) and is_wanted(members):
            if members.iprobe(source=0, tag=tag):
                return members.recv(source=0, tag=tag)
            time.sleep(PAUSE)
    return None
