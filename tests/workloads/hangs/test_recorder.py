"""The record of a process, written and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workshop.workloads.hangs import recorder
from workshop.workloads.hangs.recorder import ANY, SLOTS, CallRecord
from workshop.workloads.hangs.sampler import read_progress, read_record


def entry(name: str = "Recv", file: str = "work.py", ranks: str = "0-3,8", **fields: Any) -> dict[str, Any]:
    """An entry of the record."""
    return {"name": name, "comm": "COMM_WORLD", "ranks": ranks, "file": file, "line": 3, "time": 1.5, **fields}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "17"


def test_a_call_is_read_as_it_was_written(path: Path) -> None:
    record = CallRecord(str(path))
    place = record.begin(entry(source=ANY, recvtag=7, requests=(entry("Irecv", dest=1),)))
    read = read_record(path)
    assert read is not None
    [(mark, call)] = read.calls
    assert (mark, call.name, call.ranks, call.source, call.recvtag) == (
        recorder.INSIDE,
        "Recv",
        (0, 1, 2, 3, 8),
        ANY,
        7,
    )
    assert (call.place, call.time) == ("work.py:3", 1.5)
    assert [request.dest for request in call.requests] == [1]
    record.end(place)
    read = read_record(path)
    assert read is not None and [mark for mark, _ in read.calls] == [recorder.DONE]
    assert read_progress(path) == (1, 2)


def test_the_oldest_calls_are_written_over(path: Path) -> None:
    record = CallRecord(str(path))
    for line in range(SLOTS + 40):
        record.end(record.begin(entry(line=line)))
    read = read_record(path)
    assert read is not None
    assert [call.place for _, call in read.calls][-1] == f"work.py:{SLOTS + 39}"
    assert len(read.calls) == SLOTS - 1


def test_a_long_call_keeps_its_name(path: Path) -> None:
    record = CallRecord(str(path))
    record.begin(entry(file="/" + "f" * 1200 + "/work.py"))
    record.begin(entry(ranks=",".join(map(str, range(0, 900, 2)))))
    record.begin(entry(comm="c" * 1200))
    read = read_record(path)
    assert read is not None
    assert [(call.name, call.place) for _, call in read.calls] == [
        ("Recv", "work.py:3"),
        ("Recv", "work.py:3"),
        ("Recv", ""),
    ]


def test_repeated_tests_are_counted_and_are_no_progress(path: Path) -> None:
    record = CallRecord(str(path))
    for moment in range(5):
        record.poll(entry("Iprobe", time=moment))
    first = read_progress(path)
    read = read_record(path)
    assert read is not None and read.polls == 5 and [mark for mark, _ in read.calls] == [recorder.POLLED]
    record.poll(entry("Iprobe", time=9.0))
    assert read_progress(path) == first
    record.poll(entry("Iprobe", line=4))
    assert read_progress(path) != first


def test_tests_in_turn_are_no_progress(path: Path) -> None:
    record = CallRecord(str(path))
    for moment in range(5):
        for name in ("Test", "Iprobe"):
            record.poll(entry(name, time=moment))
    assert read_progress(path)[0] == 2
    read = read_record(path)
    assert read is not None and read.polls == 10
    record.end(record.begin(entry()))
    record.poll(entry("Test", time=9.0))
    assert read_progress(path)[0] == 4


def test_a_call_that_raises_is_not_done(path: Path) -> None:
    record = CallRecord(str(path))
    record.end(record.begin(entry("scatter")), recorder.RAISED)
    read = read_record(path)
    assert read is not None and [mark for mark, _ in read.calls] == [recorder.RAISED]


def test_the_first_end_counts(path: Path) -> None:
    record = CallRecord(str(path))
    record.close(how="raised", text="é: x" * 500, file="work.py", line=4)
    record.close(how="ended")
    read = read_record(path)
    assert read is not None and read.end is not None and read.end["how"] == "raised"


def test_there_may_be_no_record(path: Path) -> None:
    assert read_record(path) is None
    path.write_bytes(b"")
    assert read_record(path) is None
    assert read_progress(path) == (0, 0)


@pytest.mark.parametrize("numbers, text", [([0, 1, 2, 5], "0-2,5"), ([3], "3"), ([], ""), ([4, 2, 3], "4,2-3")])
def test_ranges(numbers: list[int], text: str) -> None:
    assert recorder.ranges(numbers) == text


@pytest.mark.parametrize(
    "result, found",
    [
        (True, True),
        (False, False),
        (None, False),
        ((False, None), False),
        ((True, {"a": 1}), True),
        ((1, True, None), True),
        ((-1, False), False),
    ],
)
def test_a_test_has_found_something(result: Any, found: bool) -> None:
    assert recorder._succeeded(result) is found
