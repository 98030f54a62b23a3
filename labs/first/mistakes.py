"""Wrong answers that learners of lab 0 give, and a part of the hint that each has to get."""

from __future__ import annotations

from workshop.course.exercise_checks import Mistake

MISTAKES = {
    "whoami": [
        Mistake("left empty", code="%%ranks\ndef whoami(comm):\n    ...\n", hint="Nothing is there yet"),
        Mistake(
            "the ring has an end",
            code="%%ranks\ndef whoami(comm):\n    return comm.Get_rank(), comm.Get_size(), comm.Get_rank() + 1\n",
            hint="the ring goes on with rank 0",
        ),
        Mistake(
            "rank and size change places",
            code="""%%ranks
def whoami(comm):
    size, rank = comm.Get_rank(), comm.Get_size()
    return rank, size, (size + 1) % rank
""",
            hint="have changed places",
        ),
        Mistake(
            "counts ranks from 1",
            code="""%%ranks
def whoami(comm):
    rank, size = comm.Get_rank() + 1, comm.Get_size()
    return rank, size, rank % size + 1
""",
            hint="counted from 0",
        ),
        Mistake(
            "writes down what this session has",
            code="""%%ranks
def whoami(comm):
    rank = comm.Get_rank()
    return rank, 2, 1 - rank
""",
            hint="ask the communicator that you are given for its size",
        ),
        Mistake(
            "takes the left neighbour",
            code="""%%ranks
def whoami(comm):
    rank, size = comm.Get_rank(), comm.Get_size()
    return rank, size, (rank - 1) % size
""",
            hint="the neighbour on the left",
        ),
    ],
    "mine": [
        Mistake("left empty", code="def mine(count, rank, size):\n    ...\n", hint="Nothing is there yet"),
        Mistake(
            "everybody does everything",
            code="def mine(count, rank, size):\n    return range(count)\n",
            hint="every rank owns all numbers",
        ),
        Mistake(
            "forgets the remainder",
            code="""def mine(count, rank, size):
    each = count // size
    return range(rank * each, (rank + 1) * each)
""",
            hint="remainder",
        ),
        Mistake(
            "all ranks begin at 0",
            code="def mine(count, rank, size):\n    return range(0, count, size)\n",
            hint="the share should depend on the rank",
        ),
        Mistake(
            "counts ranks from 1",
            code="def mine(count, rank, size):\n    return range(rank + 1, count + 1, size)\n",
            hint="counted from 0",
        ),
        Mistake(
            "the last rank gets the rest",
            code="""def mine(count, rank, size):
    each = count // size
    return range(rank * each, count if rank == size - 1 else (rank + 1) * each)
""",
            hint="may differ by one at most",
        ),
        Mistake(
            "begins too early after a longer share",
            code="""def mine(count, rank, size):
    each, more = divmod(count, size)
    return range(rank * each, rank * each + each + (rank < more))
""",
            hint="more than one owner",
        ),
        Mistake(
            "rounds every share up",
            code="""def mine(count, rank, size):
    each = -(-count // size)
    return range(rank * each, (rank + 1) * each)
""",
            hint="which doesn't exist",
        ),
        Mistake(
            "returns how many",
            code="def mine(count, rank, size):\n    return count // size\n",
            hint="a single number",
        ),
    ],
    "squares": [
        Mistake("left empty", code="%%ranks\ndef squares(comm, count):\n    ...\n", hint="Nothing is there yet"),
        Mistake(
            "keeps its own part",
            code="""%%ranks
def squares(comm, count):
    return sum(number**2 for number in range(comm.Get_rank(), count, comm.Get_size()))
""",
            hint="no call added the parts up",
        ),
        Mistake(
            "everybody squares everything",
            code="""%%ranks
def squares(comm, count):
    return comm.allreduce(sum(number**2 for number in range(count)))
""",
            hint="times too much",
        ),
        Mistake(
            "doesn't share out",
            code="%%ranks\ndef squares(comm, count):\n    return sum(number**2 for number in range(count))\n",
            hint="share them out",
        ),
        Mistake(
            "reduces to rank 0",
            code="""%%ranks
def squares(comm, count):
    own = sum(number**2 for number in range(comm.Get_rank(), count, comm.Get_size()))
    return comm.reduce(own, root=0)
""",
            hint="only rank 0 has the sum",
        ),
        Mistake(
            "squares the sum",
            code="""%%ranks
def squares(comm, count):
    return comm.allreduce(sum(range(comm.Get_rank(), count, comm.Get_size()))) ** 2
""",
            hint="square each number before you add",
        ),
        Mistake(
            "all-reduces on rank 0 alone",
            code="""%%ranks
def squares(comm, count):
    own = sum(number**2 for number in range(comm.Get_rank(), count, comm.Get_size()))
    if comm.Get_rank() == 0:
        own = comm.allreduce(own)
    return own
""",
            hint="collective needs every rank",
        ),
        Mistake(
            "different collectives on different ranks",
            code="""%%ranks
def squares(comm, count):
    own = sum(number**2 for number in range(comm.Get_rank(), count, comm.Get_size()))
    return comm.reduce(own) if comm.Get_rank() == 0 else comm.bcast(own)
""",
            hint="rank 1 waits in bcast from rank 0",
        ),
        Mistake(
            "forgets the remainder",
            code="""%%ranks
def squares(comm, count):
    each = count // comm.Get_size()
    begin = comm.Get_rank() * each
    return comm.allreduce(sum(number**2 for number in range(begin, begin + each)))
""",
            hint="some numbers have no owner",
        ),
    ],
}
