"""The dashboard's server: its settings, templates, numbers in addresses, and what Streamlit's page shows before its
scripts have drawn anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from jinja2 import UndefinedError
from playwright.sync_api import Page, expect

from tests.browser.conftest import started
from tests.support import limit
from tests.web import seed
from tests.web.dashboard import Dashboard, sections
from workshop import registry
from workshop.web.templates import render

OPTIONS = """
from workshop.web.server import build
from workshop.store.store import Store
with Store.open() as store:
    build(store, 9999)
from streamlit import config
print(*map(config.get_option, ("global.developmentMode", "server.port", "browser.gatherUsageStats")))
"""


@pytest.mark.real
def test_the_users_streamlit_settings_are_not_read(workshop_home: Path, tmp_path: Path) -> None:
    folder = tmp_path / ".streamlit"
    folder.mkdir()
    (folder / "config.toml").write_text("[global]\ndevelopmentMode = true\n[server]\nport = 9000\n")
    done = subprocess.run(
        [sys.executable, "-c", OPTIONS],
        env=os.environ | {"HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=limit(60),
    )
    assert done.stdout.split() == ["False", "8501", "False"], done.stdout + done.stderr


def test_values_are_text() -> None:
    page = render("plain", title="<b>", words="'&<script>")
    assert "<title>&lt;b&gt;</title>" in page and "<p>&#39;&amp;&lt;script&gt;</p>" in page
    assert (
        render("dashboard/redirect", address="/</script>")
        == '<script>location.assign("/\\u003c/script\\u003e")</script>'
    )


def test_a_missing_value_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="words"):
        render("plain", title="Results")


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


WORDS = "Loading the dashboard …"
SCRIPTS = "**/static/js/*.js"


@pytest.mark.parametrize("path", ["/", "/session", "/run?run=1"])
def test_every_page_brings_its_first_words(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.learner().get(path)
    head, _, body = answer.text.partition("</head>")
    assert WORDS in head and '<div id="root"></div>' in body
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert answer.headers["content-security-policy"] == "frame-ancestors 'self'"
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/nowhere", "/run/deep/below", "/index.html"])
def test_an_unknown_address_is_a_404_with_a_way_home(dashboard: Dashboard, path: str) -> None:
    answer = dashboard.learner().get(path, Accept="text/html")
    assert answer.status == 404
    assert '<a href="./">' in answer.text


def test_pages_and_what_they_load_stay(dashboard: Dashboard) -> None:
    learner = dashboard.learner()
    script = re.search(r'src="\./(static/js/[^"]+)"', learner.get("/").text)
    assert script is not None
    for path in (
        f"/{script[1]}",
        *(f"/{page.name}" for page in registry.pages() if page.name != "home"),
        "/_stcore/health",
    ):
        assert learner.get(path).status == 200, path


def test_scripts_are_compressed(dashboard: Dashboard) -> None:
    learner = dashboard.learner()
    path = re.search(r'src="\./(static/js/[^"]+)"', learner.get("/").text)[1]
    whole = learner.get(f"/{path}", Accept_Encoding="identity")
    packed = learner.get(f"/{path}", Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip" and len(packed.body) < len(whole.body) / 2


def test_asked_for_its_headers_alone_a_page_keeps_them(dashboard: Dashboard) -> None:
    answer = dashboard.learner().ask("HEAD", "/", None, {})
    assert (answer.status, answer.body) == (200, b"")
    assert int(answer.headers["content-length"]) > 0


@pytest.mark.real
def test_the_words_go_when_the_page_is_there_and_stay_away(dashboard: Dashboard) -> None:
    with seed.alive(dashboard.store, "class"), started() as browser:
        page = browser.new_context(color_scheme="dark").new_page()
        page.route(SCRIPTS, lambda _: None)  # they are on their way
        page.goto(f"http://127.0.0.1:{dashboard.port}/?token={dashboard.token}", wait_until="commit")
        page.wait_for_function("document.getElementById('root')?.childElementCount === 0")
        assert shown(page) == [f'"{WORDS}"', "rgb(23, 34, 43)"]
        page.unroute(SCRIPTS)
        expect(page.get_by_role("link", name="Explore").first).to_be_visible(timeout=limit(30) * 1000)
        assert shown(page)[0] == "none"
        page.get_by_role("link", name="Explore").first.click()
        expect(page.get_by_text("Where does an MPI put")).to_be_visible(timeout=limit(30) * 1000)
        assert shown(page)[0] == "none"


def shown(page: Page) -> list[str]:
    """What lies over the page, and on what colour."""
    script = (
        "(({ content, backgroundColor }) => [content, backgroundColor])(getComputedStyle(document.body, '::before'))"
    )
    return page.evaluate(script)
