"""JupyterHub for a class: a JupyterLab for everybody, with copies, limits, and the session that all share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from traitlets.config import Config

from tests import postgres
from tests.notebook.jupyter.hubs import PATIENCE, Hub, hub
from tests.support import limit, starts_processes, until
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.notebook.jupyter import hub as configuration
from workshop.notebook.jupyter.settings import DASHBOARD
from workshop.sessions import lifecycle
from workshop.store.records import Limits
from workshop.store.store import Store

pytestmark = pytest.mark.timeout(limit(600))
ATTACH = "import workshop\nsession = workshop.attach()\n"


def test_what_a_site_may_say() -> None:
    c = Config()
    configuration.configure(
        c,
        database="postgresql://class@db/workshop",
        dashboard="https://lab.example.org:8501/",
        memory="800M",
        cores=1.5,
        idle=30,
        servers=12,
        environment={"OMP_WAIT_POLICY": "passive"},
    )
    assert c.Spawner.environment == {
        "WORKSHOP_DATABASE_URL": "postgresql://class@db/workshop",
        "WORKSHOP_MEMORY": "800M",
        DASHBOARD: "https://lab.example.org:8501",
        "OMP_WAIT_POLICY": "passive",
    }
    assert (c.Spawner.mem_limit, c.Spawner.cpu_limit, c.JupyterHub.active_server_limit) == ("800M", 1.5, 12)
    assert "--MappingKernelManager.cull_idle_timeout=1800" in c.Spawner.args


def test_the_service_stands_beside_those_of_the_site() -> None:
    c = Config()
    c.JupyterHub.services = [{"name": "cull"}]
    configuration.configure(c, database="postgresql://db/workshop", service=["--ranks", "3", "--port", "8777"])
    names = [service["name"] for service in c.JupyterHub.services]
    ours = c.JupyterHub.services[-1]
    assert (names, ours["url"]) == (["cull", "workshop"], "http://127.0.0.1:8777")
    assert ours["environment"]["WORKSHOP_DATABASE_URL"] == "postgresql://db/workshop"
    assert "access:services!service=workshop" in c.JupyterHub.load_roles[0]["scopes"]
    without = Config()
    configuration.configure(without, database="postgresql://db/workshop")
    assert "services" not in without.JupyterHub and "load_roles" not in without.JupyterHub


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"memory": "4 big"}, "memory is '4 big'; it should be a size like 4G"),
        ({"dashboard": "http://lab:8501/?token=secret"}, "without a token"),
    ],
)
def test_what_a_site_may_not_say(given: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said.replace("?", r"\?")) as refused:
        configuration.configure(Config(), **({"database": "postgresql://db/workshop"} | given))
    assert "secret" not in str(refused.value)


@pytest.fixture(scope="module")
@starts_processes
def class_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hub, str]]:
    """A hub with a database, and the servers of two learners."""
    folder = tmp_path_factory.mktemp("hub")
    with postgres.server() as server:
        database = server.new_database()
        with hub(folder, database) as up:
            up.start("ada")
            up.start("bob")
            yield up, database
        assert not up.processes(), "nothing outlives the hub"


@pytest.mark.exhaustive
@pytest.mark.real
def test_a_class_shares_a_session_within_its_limits(
    class_: tuple[Hub, str], workshop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    up, database = class_
    monkeypatch.setenv("WORKSHOP_DATABASE_URL", database)
    with Store.open() as store:
        session, conductor = lifecycle.start_session(store, "class", Placement(ranks=2), limits=Limits(ranks=2))
        try:
            lifecycle.wait_ready(store, session, conductor)
            told = up.run("ada", f"{ATTACH}run = session.run('allreduce', ranks=2)\nprint(session.name, run.status)")
            assert "class completed" in told
            assert [(run.workload, run.submitted_by, run.session) for run in store.runs()] == [
                ("allreduce", "ada", "class")
            ]
            assert "ranks is 4: this session allows at most 2" in up.run(
                "bob", f"{ATTACH}session.run('kmeans', ranks=4)"
            )
            cells = f"{ATTACH}get_ipython().run_cell_magic('ranks', '', 'print(rank, size, comm.allreduce(rank))')"
            said = up.run("bob", cells)
            assert "0 2 1" in said and "1 2 1" in said, "on ranks of his own"
            until(lambda: [one.name for one in store.sessions() if one.up] == ["class"], 60, "bob's ranks to end")
        finally:
            lifecycle.stop_session(store, "class")
            conductor.wait(limit(60))


def test_everybody_has_copies_of_their_own(class_: tuple[Hub, str]) -> None:
    up, _ = class_
    names = {path.name for path in config.notebooks_folder().glob("*.ipynb")}
    assert "0-first.ipynb" in names
    with up.client() as client:
        for learner in ("ada", "bob"):
            there = client.get(f"{up.server(learner)}/api/contents/").raise_for_status().json()
            assert names <= {one["name"] for one in there["content"]}
            assert "solutions" not in {one["name"] for one in there["content"]}
        path = f"{up.server('ada')}/api/contents/0-first.ipynb"
        mine = client.get(path).json()["content"]
        mine["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": "Ada was here"})
        client.put(path, json={"type": "notebook", "format": "json", "content": mine}).raise_for_status()
        assert "Ada was here" in client.get(path).text
        assert "Ada was here" not in client.get(f"{up.server('bob')}/api/contents/0-first.ipynb").text
    assert "Ada was here" not in (config.notebooks_folder() / "0-first.ipynb").read_text()


def test_learners_see_the_labs_and_get_no_ticket(class_: tuple[Hub, str]) -> None:
    up, _ = class_
    with up.client() as client:
        course = client.get(f"{up.server('ada')}/workshop/course").raise_for_status().json()
        assert course["dashboard"] == "http://127.0.0.1:8501"
        assert course["labs"][0]["path"] == "0-first.ipynb"
        assert client.post(f"{up.server('ada')}/workshop/enter").json() == {"ticket": None}


def test_nobody_comes_into_somebody_elses(class_: tuple[Hub, str]) -> None:
    up, _ = class_
    with httpx.Client(follow_redirects=True, timeout=PATIENCE) as client:
        page = client.get(f"{up.url}/hub/login")
        entered = client.post(
            f"{up.url}/hub/login",
            data={"username": "bob", "password": up.password, "_xsrf": client.cookies["_xsrf"]},
        )
        assert page.status_code == entered.status_code == 200
        assert client.get(f"{up.server('bob')}/api/contents/").status_code == 200
        assert client.get(f"{up.server('ada')}/api/contents/").status_code in (403, 404)
    assert httpx.get(f"{up.server('ada')}/api/contents/", timeout=PATIENCE).status_code == 403
    assert json.loads(httpx.get(f"{up.url}/hub/api/", timeout=PATIENCE).text)["version"]
