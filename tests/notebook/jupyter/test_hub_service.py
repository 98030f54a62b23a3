"""The `jupyterhub_config.py` of docs/jupyterhub.md as it is: one class, whose dashboard is the hub's service."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.affected import ROOT
from tests.conftest import leftovers
from tests.notebook.jupyter.hubs import PATIENCE, Hub, hub
from tests.notebook.jupyter.lab import words
from tests.support import limit, starts_processes, until
from workshop.core.ports import free_port
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web.auth import CLASS_CODE, hashed

pytestmark = pytest.mark.timeout(limit(300))
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
@starts_processes
def class_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, Store]]:
    folder = tmp_path_factory.mktemp("service")
    home = folder / "home"
    database = f"sqlite:///{home}/workshop.db"
    (site,) = re.findall(r"^```python\n(.+?)^```", (ROOT / "docs" / "jupyterhub.md").read_text(), re.M | re.S)
    site = site.replace("8501", str(free_port()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.setenv("WORKSHOP_DATABASE_URL", database)
        with Store.open() as store, hub(folder, database, site, WORKSHOP_HOME=str(home)) as up:
            until(lambda: answers(up), 90, f"the dashboard behind the hub; {up.log.read_text()}")
            until(lambda: any(one.state == "ready" for one in store.sessions()), 90, "the session")
            yield up, store
        until(lambda: not leftovers(home), 60, "everything to end with the hub")


def answers(up: Hub) -> bool:
    try:
        return httpx.get(f"{up.url}/services/workshop/join", timeout=10).status_code == 200
    except httpx.HTTPError:
        return False


def browser() -> httpx.Client:
    return httpx.Client(follow_redirects=True, timeout=PATIENCE, headers=HTML)


def visit(client: httpx.Client, up: Hub, page: str, account: str) -> httpx.Response:
    """Open a page of the dashboard and log in where the hub asks for it."""
    form = client.get(f"{up.url}/services/workshop/{page}")
    assert form.url.path == "/class/hub/login", form.url
    entered = {"username": account, "password": up.password, "_xsrf": client.cookies["_xsrf"]}
    return client.post(form.url, data=entered)


def visitor(client: httpx.Client, store: Store) -> Identity | None:
    (secret,) = (cookie.value or "" for cookie in client.cookies.jar if re.fullmatch("workshop_[0-9]+", cookie.name))
    return store.identity(hashed(secret))


def test_accounts_come_in_without_a_code(class_: tuple[Hub, Store]) -> None:
    up, store = class_
    up.start("ada")
    with browser() as ada, browser() as grace, browser() as teacher, browser() as phone:
        opened = visit(ada, up, "run?run=1", "ada")
        assert (opened.status_code, str(opened.url)) == (200, f"{up.url}/services/workshop/run?run=1")
        assert visit(grace, up, "", "grace").status_code == visit(teacher, up, "", "teacher").status_code == 200
        people = [visitor(client, store) for client in (ada, grace, teacher)]
        assert [(one.role, one.nickname) for one in people if one] == [
            ("learner", "ada"),
            ("learner", "grace"),
            ("instructor", "Instructor"),
        ]
        ada_here = people[0]
        assert ada_here is not None
        session = (
            "import workshop\nsession = workshop.attach()\nrun = session.run('allreduce', ranks=2)\nprint(run.status)"
        )
        assert "completed" in up.run("ada", session)
        assert [(run.submitted_by, run.identity_id) for run in store.runs()] == [("ada", ada_here.id)], "one person"

        with browser() as second:  # of the same account
            assert visit(second, up, "", "ada").status_code == 200
            assert visitor(second, store) == ada_here == visitor(ada, store)

        joined = phone.post(
            f"{up.url}/services/workshop/join", data={"code": store.setting(CLASS_CODE), "nickname": "Guest"}
        )
        guest = visitor(phone, store)
        assert joined.status_code == 200 and guest is not None and guest.nickname == "Guest"


def test_an_answer_to_nobodys_question_lets_nobody_in(class_: tuple[Hub, Store]) -> None:
    up, _ = class_
    with browser() as client:
        for query in ("", "?code=guessed", "?code=guessed&state=guessed", "?state=guessed"):
            refused = client.get(f"{up.url}/services/workshop/oauth_callback{query}")
            assert refused.status_code == 403 and "come in again" in refused.text
        client.get(f"{up.url}/services/workshop/")  # asks for a login
        (state,) = (cookie.value for cookie in client.cookies.jar if "_state_" in cookie.name)
        refused = client.get(f"{up.url}/services/workshop/oauth_callback?code=guessed&state={state}")
        assert refused.status_code == 403 and "did not confirm" in refused.text


def test_only_the_dashboard_knows_the_hubs_token(class_: tuple[Hub, Store], tmp_path: Path) -> None:
    up, _ = class_
    home = up.homes.parent / "home"
    told = [one for one in leftovers(home) if "JUPYTERHUB_API_TOKEN" in one.environ()]
    assert any("workshop.web.server" in words(one) for one in told)
    assert not any("workshop.sessions" in word or "engine" in word for one in told for word in words(one))
