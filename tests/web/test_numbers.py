"""Numbers in addresses, of any length."""

from __future__ import annotations

import pytest

from tests.web import seed
from tests.web.dashboard import Dashboard, sections

LONG = "9" * 5000  # more digits than Python reads


@pytest.mark.parametrize(
    "path",
    [
        *("/artifact/{}/original.png", "/quiz/{}", "/quiz/{}/host", "/quiz/{}/projector"),
        *("/quiz/{}/picture/one", "/quiz/{}/results", "/quiz/{}/results.csv"),
    ],
)
def test_pages_of_such_numbers_are_not_there(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.instructor().get(path.format(LONG))
    assert answer.status == 404
    assert "There is no " in answer.text and len(answer.text) < 2000


def test_a_number_that_is_there_is_still_found(dashboard: Dashboard) -> None:
    with seed.alive(dashboard.store, "class") as session:
        run = seed.completed(dashboard.store, session)
        with dashboard.learner().listen(f"/live/run/000{run.id}") as line:
            assert sections(line)["run"]["status"] == "completed"
        assert dashboard.learner().get(f"/artifact/{run.id}/original.png").body == seed.png("#102030")
