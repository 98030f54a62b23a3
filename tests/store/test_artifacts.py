"""Artifacts: files of runs, equal contents kept once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import func, select

from tests.store.test_events import new_run
from workshop.core.errors import BadInput
from workshop.store.artifacts import LARGEST_ARTIFACT
from workshop.store.store import Store
from workshop.store.tables import blobs


def kept(store: Store) -> int:
    with store.database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(blobs)) or 0


def test_what_is_not_there(store: Store) -> None:
    run = new_run(store)
    with pytest.raises(BadInput, match="it has none"):
        store.artifact(run, "photo.png")
    store.put_artifact(run, "palette.json", "application/json", b"[]")
    with pytest.raises(BadInput, match=r"'photo.png'; it has palette.json"):
        store.artifact(run, "photo.png")
    with pytest.raises(BadInput, match="no run 99"):
        store.put_artifact(99, "photo.png", "image/png", b"")


def test_at_most_64_mb(store: Store) -> None:
    run = new_run(store)
    largest = bytes(LARGEST_ARTIFACT)
    store.put_artifact(run, "large", "application/octet-stream", largest)
    assert store.artifact(run, "large").data == largest
    with pytest.raises(BadInput, match=r"'large' of run \d+ has 64\.0 MB; at most 64 MB"):
        store.put_artifact(run, "large", "application/octet-stream", largest + b"x")
    assert store.artifact(run, "large").size == LARGEST_ARTIFACT


def test_a_file_that_is_replaced_moves_on_to_an_older_name(store: Store) -> None:
    run = new_run(store)
    names = ("new", "older", "oldest")
    for count, data in enumerate((b"1", b"2", b"2", b"3", b"4"), 1):  # the second 2 is a message that came twice
        store.put_artifact(run, "new", "application/octet-stream", data, names[1:])
        assert kept(store) == min(count - (count > 2), 3)
    assert {name: store.artifact(run, name).data for name in names} == {"new": b"4", "older": b"3", "oldest": b"2"}
    other = new_run(store)
    store.put_artifact(other, "new", "application/octet-stream", b"2", names[1:])
    store.put_artifact(run, "new", "application/octet-stream", b"5", names[1:])
    assert store.artifact(other, "new").data == b"2", "contents that another run has stay"
    with pytest.raises(BadInput, match="at most 64 MB"):
        store.put_artifact(run, "new", "application/octet-stream", bytes(LARGEST_ARTIFACT + 1), names[1:])
    assert store.artifact(run, "older").data == b"4", "nothing has moved"


class Files(RuleBasedStateMachine):
    """The model is a dictionary of dictionaries; the store must always look the same."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.runs = [new_run(self.store) for _ in range(2)]
        self.files: dict[tuple[int, str], bytes] = {}
        # Earlier examples left theirs in the same store.
        self.before = kept(self.store)
        self.salt = str(self.runs[0]).encode()

    @rule(run=st.integers(0, 1), name=st.sampled_from("abc"), data=st.sampled_from([b"", b"one", b"two", b"three"]))
    def put(self, run: int, name: str, data: bytes) -> None:
        self.store.put_artifact(self.runs[run], name, "text/plain", self.salt + data)
        self.files[run, name] = self.salt + data

    @invariant()
    def everything_is_there_and_nothing_else(self) -> None:
        found = {
            (number, file.name): self.store.artifact(run, file.name).data
            for number, run in enumerate(self.runs)
            for file in self.store.artifacts(run)
        }
        assert found == self.files
        assert kept(self.store) - self.before == len(set(self.files.values()))


def test_contents_are_kept_once_and_as_long_as_somebody_has_them(store: Store) -> None:
    machine = type("Files", (Files,), {"store": store})
    checks = [HealthCheck.function_scoped_fixture]
    run_state_machine_as_test(
        machine, settings=settings(max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=checks)
    )
