"""A real federation with OpenFL, from the command that starts it to its verdict on a learner's page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.dashboard import served
from tests import openfl
from tests.browser.conftest import NewPage
from tests.cli.test_cli import answer, workshop
from tests.conftest import leftovers
from tests.support import limit, until
from workshop.server.auth import new_secrets
from workshop.store.store import Store

pytestmark = [pytest.mark.real, pytest.mark.timeout(limit(400))]
SMALL = ["--data", "digits", "--images", "300", "--model", "dense", "--epochs", "1", "--rounds", "3"]


@pytest.mark.exhaustive
def test_a_federation_is_watched_from_its_first_command_to_its_end(workshop_home: Path, new_page: NewPage) -> None:
    openfl.use(workshop_home)
    with Store.open() as store, served() as (_, port):
        _, code = new_secrets(store)
        started = answer("federation", "start", "--collaborators", "3", *SMALL, "--minutes", "6")
        assert started["page"] == f"http://127.0.0.1:{port}/run?run={started['run']}"
        page = new_page()
        page.goto(started["page"])
        page.get_by_label("Class code").fill(code)
        page.get_by_label("Nickname").fill("Ada")
        page.get_by_role("button", name="Come in").click()
        page.wait_for_url(lambda url: "/join" not in url, wait_until="commit")

        row = page.get_by_role("row")
        expect(row.filter(has_text="fx plan initialize -a localhost")).to_be_visible(timeout=limit(120) * 1000)
        page.evaluate("window.stillTheSamePage = true")
        expect(row.filter(has_text="institution3").filter(has_text="Simple Signing CA")).to_be_visible(
            timeout=limit(180) * 1000
        )
        expect(row.filter(has_text="fx collaborator start -n institution3")).to_be_visible(timeout=limit(120) * 1000)
        expect(page.get_by_text(re.compile("3 institutions learned one model over mutual TLS"))).to_be_visible(
            timeout=limit(180) * 1000
        )
        assert page.evaluate("window.stillTheSamePage")
        signed = row.filter(has_text="Simple Signing CA")
        assert signed.count() == 4
        assert all(words.endswith("yes") for words in signed.all_inner_texts())
        assert "PRIVATE KEY" not in page.content()

        until(lambda: store.session(started["session"]).state == "stopped", 60, "its session to end with it")
        until(lambda: len(leftovers(workshop_home)) <= 1, 60, "its processes to end; the dashboard stays")
        shown = workshop("federation", "status")
        assert "round 3 of 3" in shown.stdout
        assert max(map(len, shown.stdout.splitlines())) <= 80
        told = answer("federation", "status")
        assert [one["code"] for one in told["fx"]] == [0] * len(told["fx"])
        assert [one["round"] for one in told["by_round"]] == [1, 2, 3]
        assert store.run(started["run"]).status == "completed"
