"""Numbers in addresses, of any length."""

from __future__ import annotations

import pytest

from tests.support import limit
from tests.web import seed
from tests.web.dashboard import Dashboard, sections
from workshop.store.runs import MOST_RUNS
from workshop.web.request_body import number

LONG = "9" * 5000  # more digits than Python reads


@pytest.mark.parametrize(("given", "read"), [("7", 7), (" 7 ", 7), ("007", 7), ("0" * 5000 + "7", 7), ("0", 0)])
def test_a_number_is_read(given: str, read: int) -> None:
    assert number(given) == read


def test_a_long_one_is_nobody_s_and_of_a_length_that_a_sentence_can_hold() -> None:
    assert number(LONG) > MOST_RUNS
    assert number("0" * 5000 + "1" + "0" * 5000) > MOST_RUNS
    assert len(str(number(LONG))) == 40


@pytest.mark.parametrize("given", ["", " ", "x", "-1", "+1", "1e9", "1_000", "1.0", "²", "٣"])
def test_what_is_no_number(given: str) -> None:
    with pytest.raises(ValueError, match="is no number"):
        number(given)


@pytest.mark.parametrize(
    "path",
    [
        *("/artifact/{}/original.png", "/quiz/{}", "/quiz/{}/host", "/quiz/{}/projector", "/quiz/{}/code.svg"),
        *("/quiz/{}/picture/one", "/quiz/{}/results", "/quiz/{}/results.csv"),
    ],
)
def test_pages_of_such_numbers_are_not_there(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.instructor().get(path.format(LONG))
    assert answer.status == 404
    assert "There is no " in answer.text and len(answer.text) < 2000


def test_what_is_sent_to_such_numbers_is_refused_in_a_sentence(dashboard: Dashboard) -> None:
    visitor = dashboard.instructor()
    assert visitor.post(f"/quiz/{LONG}/forget").status == 404
    cancelled = visitor.post(f"/run/{LONG}/cancel")
    assert (cancelled.status, "There is no run 999" in cancelled.text) == (400, True)


@pytest.mark.parametrize("path", ["/live/run/{}", "/quiz/{}/socket?view=host"])
def test_lines_to_such_numbers_say_so(dashboard: Dashboard, path: str) -> None:
    with dashboard.instructor().listen(path.format(LONG)) as line:
        assert "There is no " in line.recv(timeout=limit(10))


def test_a_number_that_is_there_is_still_found(dashboard: Dashboard) -> None:
    with seed.alive(dashboard.store, "class") as session:
        run = seed.completed(dashboard.store, session)
        with dashboard.learner().listen(f"/live/run/000{run.id}") as line:
            assert sections(line)["run"]["status"] == "completed"
        assert dashboard.learner().get(f"/artifact/{run.id}/original.png").body == seed.png("#102030")
