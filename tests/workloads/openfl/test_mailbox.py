"""What ranks tell each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from mpi4py import MPI

from workshop.workloads.openfl.mailbox import Mailbox, pack, unpack

TOLD = st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.text(max_size=9) | st.integers(-9, 9))
MAIL = st.lists(st.tuples(st.integers(0, 9), st.text(max_size=9), st.binary(max_size=99)), max_size=5)


@given(TOLD, MAIL)
def test_what_is_packed_is_what_is_unpacked(told, mail):
    assert unpack(pack(told, mail)) == (told, mail)


def test_letters_arrive_with_the_next_exchange_in_their_order():
    post = Mailbox(MPI.COMM_SELF)
    post.send(0, "request", b"first")
    post.send(0, "request", b"")
    post.send(7, "request", b"somebody else's")
    assert post.take("request") is None
    waiting = post.wait("request")
    next(waiting)
    assert post.exchange({"done": False}) == [{"done": False}]
    assert post.exchange({}) == [{}]
    try:
        next(waiting)
    except StopIteration as arrived:
        assert arrived.value == b"first"
    assert post.take("request") == b""
    assert post.take("request") is None
