"""Limits: what is taken is given back, nobody gets more than they may, and a class behind one address gets in."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server import seed
from workshop.core.errors import BadInput
from workshop.server import auth, limits
from workshop.server.limits import Counts, Limit, Rate, ServerLimits, TooManyRequests, Who, network
from workshop.store.records import Identity, Role
from workshop.store.records import Limits as SessionLimits
from workshop.store.store import Store

ADA, BOB = Who(1, "a"), Who(2, "a")


def identity(number: int, role: Role = "learner") -> Identity:
    return Identity(number, role, f"learner {number}", 1.0)


def test_one_person_and_one_address_have_limits_of_their_own() -> None:
    counts = Counts(Limit("things", 2, 3))
    counts.take(ADA, 2)
    with pytest.raises(TooManyRequests, match="You have 2 things, and at most 2 are allowed"):
        counts.take(ADA)
    counts.take(BOB)
    with pytest.raises(TooManyRequests, match="Your network has 3 things"):
        counts.take(BOB)
    counts.take(Who(3, "b"), 2)
    counts.take(Who(None, "c"), 3)
    counts.give_back(ADA, 2)
    with counts.reserve(BOB), pytest.raises(TooManyRequests):
        counts.take(BOB)
    counts.take(BOB)


def test_who_has_little_is_not_refused_because_of_others_at_the_address() -> None:
    counts = Counts(Limit("things", 4, 4, few=1))
    counts.take(ADA, 4)
    counts.take(BOB)
    with pytest.raises(TooManyRequests, match="Your network has 5 things"):
        counts.take(BOB)
    with pytest.raises(TooManyRequests, match="Your network has 5 things"):
        counts.take(Who(None, "a"))


def test_new_names_are_strangers_until_they_open_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_UNUSED", 2)
    bounds = ServerLimits()
    new = [replace(identity(number), created_at=time.time()) for number in range(1, 5)]
    assert [bounds.joined(one, "a") for one in new[:2]] == [None, None]
    assert bounds.note(new[0], "a").stranger
    bounds.opened_page(new[0], "a")
    assert not bounds.note(new[0], "a").stranger and bounds.note(new[1], "a").stranger
    assert [bounds.joined(one, "a") for one in new[2:]] == [None, 2], "the oldest without a page gives way"
    assert bounds.joined(identity(9), "a") is None and not bounds.note(identity(9), "a").stranger, "it isn't new"


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from("ab"), st.integers(1, 3))))
def test_whatever_is_taken_and_given_back_leaves_nothing(asked: list[tuple[int, str, int]]) -> None:
    counts, there = Counts(Limit("things", 4, 6)), []
    for who, address, amount in asked:
        try:
            counts.take(Who(who, address), amount)
        except TooManyRequests:
            continue
        there.append((Who(who, address), amount))
        for key in (1, 2, 3):
            assert sum(amount for who, amount in there if who.identity == key) <= 4
        for key in "ab":
            assert sum(amount for who, amount in there if who.address == key) <= 6
    for who, amount in there:
        counts.give_back(who, amount)
    assert not counts._taken


def test_so_many_at_once_and_then_so_many_a_second() -> None:
    now = [0.0]
    rate = Rate(5, 10, lambda: now[0])
    for at, count, allowed in ((0.0, 7, 5), (0.25, 3, 2), (1000.0, 50, 5)):
        now[0] = at
        assert sum(rate.wait("") == 0.0 for _ in range(count)) == allowed


def test_a_class_joins_at_once_and_a_flood_does_not() -> None:
    now = [0.0]
    rate = Rate(limits.JOINS_AT_ONCE, limits.JOINS_A_SECOND, lambda: now[0])
    assert [rate.wait("school") for _ in range(130)] == [0.0] * 130
    joined = 130
    for second in range(60):
        now[0] = float(second)
        while rate.wait("school") == 0:
            joined += 1
    assert joined <= 800 and rate.wait("elsewhere") == 0.0
    assert 0 < rate.wait("school") <= 1 / limits.JOINS_A_SECOND
    rate.give_back("school")
    assert rate.wait("school") == 0.0


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("testclient", "testclient"),
    ],
)
def test_what_is_one_address(address: str, counted: str) -> None:
    assert network(address) == counted


def test_limits_per_address_are_multiplied_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.FACTOR, "3")
    assert Counts(Limit("things", 2, 3)).limit == Limit("things", 2, 9)
    for wrong in ("0", "-1", "1.5", "many", "9" * 5000, ""):
        monkeypatch.setenv(limits.FACTOR, wrong)
        with pytest.raises(BadInput, match="should be a whole number from 1 to 9999"):
            limits.factor()


def test_another_nickname_renews_no_limit() -> None:
    bounds = ServerLimits()
    first = bounds.note(identity(1), "10.0.0.1")
    bounds.same_person(identity(2), identity(1))
    bounds.same_person(identity(3), identity(2))
    assert bounds.note(identity(3), "10.0.0.1") == bounds.who(identity(2)) == first or first.identity == 1
    assert {bounds.who(identity(number)).identity for number in (1, 2, 3)} == {1}
    assert bounds.who(identity(4)).identity == 4
    assert bounds.note(identity(5, "instructor"), "10.0.0.1") == bounds.who(identity(5, "instructor")) == Who(None)


def test_a_log_out_renews_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds = ServerLimits()
    bounds.same_person(identity(2), identity(1))
    bounds.logged_out(identity(2), "left behind")
    bounds.same_person(identity(3), None, "of another browser")
    bounds.same_person(identity(4), None, "left behind")
    assert [bounds.who(identity(number)).identity for number in (2, 3, 4)] == [1, 3, 1]
    bounds.logged_out(identity(5, "instructor"), "link")
    bounds.same_person(identity(6), None, "link")
    assert bounds.who(identity(6)).identity == 6
    monkeypatch.setattr(limits, "MOST_KNOWN", 2)
    for number in (7, 8, 9):
        bounds.logged_out(identity(number), f"of {number}")
    assert len(bounds._logged_out) == 2, "only so many are remembered"


def test_a_large_class_behind_one_address_has_room_for_its_runs() -> None:
    defaults = SessionLimits()
    assert min(limits.RUNS.address, defaults.total) >= 130 * defaults.queued


def test_unfinished_runs_count_for_a_person_an_address_and_a_session(store: Store) -> None:
    bounds, session = ServerLimits(), seed.session(store)
    session = replace(session, limits=replace(session.limits, queued=2))
    people = [auth.let_in(store, "learner", name)[0] for name in ("Ada", "Ada again", "Bob")]
    for one in people:
        bounds.note(one, "10.0.0.1")
    bounds.same_person(people[1], people[0])

    def submit(one: Identity, **most: int) -> None:
        store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT, identity_id=one.id, **most)

    for one in people[:2]:
        bounds.check_run(store, session, one)
        submit(one)
    for one in people[:2]:
        with pytest.raises(TooManyRequests, match=r"You have 2 unfinished runs, .* under all nicknames"):
            bounds.check_run(store, session, one)
    bounds.check_run(store, session, people[2])
    bounds.runs.limit = replace(bounds.runs.limit, address=2)
    with pytest.raises(TooManyRequests, match="Your network has 2 unfinished runs"):
        bounds.check_run(store, session, people[2])
    with pytest.raises(BadInput, match="The queue of this session is full: 2 runs of learners"):
        submit(people[2], most_in_all=2)
    submit(people[2], most_in_all=3)
    assert store.unfinished(session.id) == {people[0].id: 1, people[1].id: 1, people[2].id: 1}


def test_who_has_left_nothing_is_forgotten(store: Store) -> None:
    bounds, session = ServerLimits(), seed.session(store)
    (idle, _), (busy, _) = (auth.let_in(store, "learner", name) for name in ("Zed", "Ada"))
    assert bounds.joined(idle, "a") is None
    store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT, identity_id=busy.id)
    for one in (idle, busy):
        store.remove_identity(one.id)
    again = [auth.let_in(store, "learner", name)[0].nickname for name in ("Zed", "Ada")]
    assert again == ["Zed", "Ada 2"], "who has a run stays"
