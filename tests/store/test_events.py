"""Events: numbered batches, what comes back, and plots of very many of them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, text

from workshop.core.errors import BadInput
from workshop.store.records import Event, Series
from workshop.store.store import Store
from workshop.store.tables import SPANS


def new_run(store: Store, name: str = "demo") -> int:
    session = next((known for known in store.sessions() if known.name == name), None)
    session = session or store.create_session(name, {"ranks": 2})
    return store.submit(session.id, "kmeans", {}, {"ranks": 2}).id


@pytest.fixture
def run(store: Store) -> int:
    return new_run(store)


def test_events_come_back_in_the_order_in_which_they_came(store: Store, run: int) -> None:
    assert store.add_events(run, 1, 1, [(10.5, "inertia", 1, 4.25), (10.6, "note", None, -1)])
    assert store.add_events(run, 0, 1, [(10.1, "inertia", 1, 4.5)])
    assert store.events(run) == [
        Event(1, 10.5, "inertia", 1, 4.25, 1),
        Event(1, 10.6, "note", None, -1.0, 2),
        Event(0, 10.1, "inertia", 1, 4.5, 3),
    ]
    assert [told.id for told in store.events(run, names=["inertia"])] == [1, 3]
    assert [told.id for told in store.events(run, names=[])] == []
    assert [told.id for told in store.events(run, rank=1)] == [1, 2]
    assert [told.id for told in store.events(run, after=1, limit=1)] == [2]
    assert store.last_event_id(run) == 3
    assert store.event_names(run) == ["inertia", "note"]
    assert store.totals(run) == {
        "inertia": {0: (1, 4.5, 4.5, 4.5), 1: (1, 4.25, 4.25, 4.25)},
        "note": {1: (1, -1.0, -1.0, -1.0)},
    }


def test_runs_do_not_mix(store: Store, run: int) -> None:
    other = new_run(store)
    store.add_batches([(run, 0, 1, [(1.0, "a", 0, 1.0)]), (other, 0, 1, [(2.0, "b", 0, 2.0), (3.0, "a", 1, 3.0)])])
    assert [told.id for told in store.events(run)] == [1]
    assert [told.id for told in store.events(other)] == [1, 2]
    assert (store.event_names(run), store.event_names(other)) == (["a"], ["a", "b"])
    assert [series.count for series in store.series(other, "a")] == [1]


def test_a_batch_that_comes_twice_is_stored_once(store: Store, run: int) -> None:
    assert store.add_events(run, 0, 1, [(1.0, "a", 0, 1.0)])
    assert not store.add_events(run, 0, 1, [(1.0, "a", 0, 1.0)])
    assert store.add_batches([(run, 0, 2, [(2.0, "a", 1, 2.0)]), (run, 0, 2, [(2.0, "a", 1, 9.0)])]) == 1
    assert [told.value for told in store.events(run)] == [1.0, 2.0]


def test_gaps_are_named(store: Store, run: int) -> None:
    for rank, number in [(0, 1), (0, 2), (1, 2), (1, 5), (1, 4)]:
        store.add_events(run, rank, number, [])
    assert store.missing_batches(run, 1_000_000) == {1: [1, 3]}
    store.add_events(run, 1, 1, [])
    store.add_events(run, 1, 3, [])
    assert store.missing_batches(run, 1_000_000) == {}


def test_a_run_that_is_not_there(store: Store, run: int) -> None:
    with pytest.raises(BadInput, match="no run 999"):
        store.add_batches([(run, 0, 1, [(1.0, "a", 0, 1.0)]), (999, 0, 1, [])])
    assert store.events(run) == [], "all batches of one call, or none"


def test_values_that_are_no_numbers(store: Store, run: int) -> None:
    told = [(1.0, "loss", 0, 2.0), (2.0, "loss", 1, math.nan), (3.0, "loss", 2, math.inf), (4.0, "loss", 3, -math.inf)]
    store.add_events(run, 0, 1, told)
    values = [told.value for told in store.events(run)]
    assert values[0] == 2.0 and math.isnan(values[1]) and values[2:] == [math.inf, -math.inf]
    store.add_events(run, 1, 1, [(1.0, "diverged", step, math.nan) for step in range(50)])
    (thinned,) = store.series(run, "diverged", points=5)
    assert thinned.count == 50 and all(map(math.isnan, thinned.means))
    assert store.totals(run)["diverged"] == {1: (50, 0.0, None, None)}


def test_few_events_are_points_of_their_own(store: Store, run: int) -> None:
    store.add_events(run, 0, 1, [(1.0, "a", 10, 3.0), (3.0, "a", 30, 1.0)])
    store.add_events(run, 0, 2, [(2.0, "a", 20, 2.0)])
    values = [3.0, 2.0, 1.0]
    assert store.series(run, "a") == [Series("a", 0, 3, [10, 20, 30], [1.0, 2.0, 3.0], values, values, values)]


def test_many_events_are_thinned_by_steps(store: Store, run: int) -> None:
    told = [(float(step), "a", step, float(step % 10)) for step in range(1000)]
    store.add_events(run, 0, 1, told)
    (series,) = store.series(run, "a", points=100)
    assert series.steps == list(range(9, 1000, 10))
    assert series.times == [float(step) for step in series.steps]
    assert (series.lows, series.means, series.highs) == ([0.0] * 100, [4.5] * 100, [9.0] * 100)
    assert series.count == 1000


def test_events_without_steps_are_thinned_by_time(store: Store, run: int) -> None:
    store.add_events(run, 0, 1, [(1e9 + tick / 10, "memory", None, float(tick)) for tick in range(1000)])
    (series,) = store.series(run, "memory", points=50)
    assert series.count == 1000 and len(series.steps) == 50
    assert series.steps[-1] == 999 and series.times[-1] == 1e9 + 99.9
    assert series.lows[0] == 0.0 and series.highs[-1] == 999.0
    at_once = [(5.0, "at once", None, float(tick)) for tick in range(100)]
    store.add_events(run, 0, 2, at_once)
    (series,) = store.series(run, "at once", points=10)
    assert (series.count, series.steps, series.lows, series.highs) == (100, [99], [0.0], [99.0])


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)
one_told = st.tuples(
    st.floats(min_value=0, max_value=4e9),
    st.sampled_from(["inertia", "time.compute", "π"]),
    st.none() | st.integers(-(2**53), 2**53),
    finite | st.just(math.inf),
)
batch = st.tuples(st.integers(0, 2), st.integers(1, 4), st.lists(one_told, max_size=30))


# A run of its own for each example; the store may stay.
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_batches=st.lists(st.lists(batch, max_size=4), max_size=5), points=st.integers(2, 12))
def test_events_come_back_as_written(store: Store, given_batches: list[list[tuple]], points: int) -> None:
    run = new_run(store)
    first: dict[tuple[int, int], list[tuple]] = {}
    for together in given_batches:
        new = {(rank, number) for rank, number, _ in together} - first.keys()
        assert store.add_batches([(run, *one) for one in together]) == len(new)
        for rank, number, told in together:
            first.setdefault((rank, number), told)
    written = [(rank, *told) for (rank, _), batch in first.items() for told in batch]
    found = store.events(run)
    assert [told.id for told in found] == list(range(1, len(written) + 1))

    def plain(rows: list[tuple]) -> list[tuple]:
        return sorted((rank, at, name, step is None, step or 0, value) for rank, at, name, step, value in rows)

    assert plain([(told.rank, told.time, told.name, told.step, told.value) for told in found]) == plain(written)
    assert store.last_event_id(run) == len(written)
    for name in ("inertia", "time.compute", "π"):
        for series in store.series(run, name, points):
            of_rank = [row for row in written if row[0] == series.rank and row[2] == name]
            with_step = [row for row in of_rank if row[3] is not None]
            behind = of_rank if len(of_rank) <= points or not with_step else with_step
            assert series.count == len(behind)
            assert len(series.steps) == len(series.means) == len(series.times) <= points
            assert min(series.lows) == min(row[4] for row in behind)
            assert max(series.highs) == max(row[4] for row in behind)
            assert max(series.times) == max(row[1] for row in behind)


# Many events.

MANY = 200_000


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.real)])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, int]]:
    """A run with many events of one name on two ranks."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('many') / 'workshop.db'}"
    else:
        url = request.getfixturevalue("postgres").new_database()
    with Store.open(url) as store:
        run = new_run(store)
        half, size = MANY // 2, 10_000
        for start in range(0, half, size):
            told = [(1e9 + step * 1e-3, "inertia", step, float(step % 100)) for step in range(start, start + size)]
            store.add_batches([(run, rank, start // size + 1, told) for rank in (0, 1)])
        if request.param == "postgresql":
            # What its daemon does within a minute or so; done here, plans don't depend on when.
            with store.database._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("VACUUM ANALYZE"))
        yield store, run


def test_many_events_make_a_small_plot(many: tuple[Store, int]) -> None:
    store, run = many
    series = store.series(run, "inertia")
    assert [one.count for one in series] == [MANY // 2] * 2
    for one in series:
        assert len(one.means) == 400 and one.steps[-1] == MANY // 2 - 1
        # 250 values to a span, counting from 0 to 99 over and over.
        assert (one.lows[0], one.highs[0]) == (0.0, 99.0)
        assert one.means[0] == pytest.approx((2 * sum(range(100)) + sum(range(50))) / 250)
    assert store.totals(run)["inertia"][0] == (MANY // 2, pytest.approx(MANY // 2 * 49.5), 0.0, 99.0)
    assert len(store.series(run, "inertia", points=10**9)[0].means) <= SPANS
    assert [told.id for told in store.events(run, after=MANY - 2)] == [MANY - 1, MANY]


def test_plots_read_the_index_only_and_sort_nothing(many: tuple[Store, int]) -> None:
    """The plan is the measure: the time that it takes depends on who else works on the machine."""
    store, run = many
    statements = []
    engine = store.database._engine

    def listen(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        statements.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", listen)
    try:
        store.series(run, "inertia")
        store.totals(run)
    finally:
        event.remove(engine, "before_cursor_execute", listen)
    reading = [(statement, values) for statement, values in statements if "FROM" in statement and "events" in statement]
    explain = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    with store.database.reading() as connection:
        plans = ["\n".join(str(row[-1]) for row in connection.exec_driver_sql(explain + s, v)) for s, v in reading]
    touching = [plan for plan in plans if "events" in plan]
    assert len(touching) >= 7  # for each of 2 ranks: the first ones, both ends, the spans; and the totals
    for plan in touching:
        assert "events_of_name" in plan or "GroupAggregate" in plan or "HashAggregate" in plan, plan
        assert "TEMP B-TREE" not in plan and "SCAN events" not in plan, plan
        assert "Join Filter" not in plan, plan
