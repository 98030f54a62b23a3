"""A live round with a full lobby, a long question, and a server that is killed."""

from __future__ import annotations

import pytest
import yaml
from playwright.sync_api import expect

from benchmarks.dashboard import served
from tests.browser.conftest import NewPage
from tests.browser.quiz_players import SOON, Learner, instructor
from workshop.store.store import Store
from workshop.web.auth import new_secrets

pytestmark = pytest.mark.real

LONG = {
    "deck": "long",
    "title": "A long question",
    "seconds": 600,
    "questions": [
        {
            "id": "long",
            "type": "multiple",
            "text": f"Which of these are true?\n\n{'A session has ranks, which wait for each other. ' * 12}\n\n"
            "```python\nfor step in range(steps):\n    exchange(gradients(batch))\n```",
            "options": [
                {"text": f"Statement {number} is {'neither short nor long, and ' * 4}of its own.", "right": number < 3}
                for number in range(12)
            ],
        }
    ],
}


@pytest.mark.exhaustive
def test_a_full_lobby_a_long_question_and_a_killed_server(store: Store, new_page: NewPage) -> None:
    token, _ = new_secrets(store)
    host = new_page(1280, 800)
    with served() as (server, port):
        where, code = instructor(host, f"http://127.0.0.1:{port}", token, yaml.safe_dump(LONG))
        for number in range(1, 401):
            store.add_player(int(where.rpartition("/")[2]), None, f"learner {number}")
        projector = host.context.new_page()
        projector.set_viewport_size({"width": 1920, "height": 1080})
        projector.goto(f"{where}/projector")
        expect(projector.locator(".names .name")).to_have_count(60, timeout=SOON)
        expect(projector.locator(".names .name").first).to_have_text("learner 400")
        expect(projector.locator(".rest")).to_have_text("and 340 more")
        expect(projector.locator(".rest")).to_be_in_viewport(ratio=1)
        host.goto(f"{where}/host")
        expect(host.locator(".roster .rest")).to_have_text("and 200 more", timeout=SOON)
        host.get_by_label("Find a nickname").fill("learner 399")
        expect(host.locator(".roster tbody .name")).to_have_text(["learner 399"])

        # Nobody new, and many out at once: those that a search finds.
        host.get_by_role("button", name="Lock the round").click()
        expect(host.get_by_role("button", name="Unlock the round")).to_be_visible(timeout=SOON)
        host.get_by_role("button", name="Remove several").click()
        host.get_by_label("Find a nickname").fill("learner 3")
        host.get_by_role("button", name="Choose all found").click()
        host.get_by_role("button", name="Remove 111 learners").click()
        expect(host.locator(".roster h2")).to_have_text("289 learners, 0 here", timeout=SOON)
        expect(host.locator(".roster tbody .name")).to_have_count(0)
        host.get_by_role("button", name="Unlock the round").click()
        expect(host.get_by_role("button", name="Lock the round", exact=True)).to_be_visible(timeout=SOON)

        # All of a long question is on the screen, in type that can be read; so is its distribution.
        host.get_by_role("button", name="Open question 1").click()
        for page, smallest in ((projector, 14), (new_page(1024, 768), 7)):
            if page is not projector:
                page.context.add_cookies(host.context.cookies())
                page.goto(f"{where}/projector")
            expect(page.locator(".option")).to_have_count(12, timeout=SOON)
            for option in page.locator(".option").all():
                expect(option).to_be_in_viewport(ratio=1)
            size = page.locator(".option").first.evaluate("option => parseFloat(getComputedStyle(option).fontSize)")
            assert size > smallest, f"options are in type of {size} pixels"
        phone = Learner(new_page(390, 844))
        phone.join(f"http://127.0.0.1:{port}", code, "Ada", "Question 1 of 1")
        assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
        phone.page.get_by_role("checkbox").first.check()
        phone.send()

        # The server is killed: everybody waits, and is back by themselves with what they had.
        server.kill()
        for page in (host, projector, phone.page):
            expect(page.get_by_text("Connection lost, coming back…")).to_be_visible(timeout=SOON)
    with served(port):
        for page in (host, projector, phone.page):
            expect(page.get_by_text("Connection lost, coming back…")).to_be_hidden(timeout=SOON)
        phone.page.reload()
        expect(phone.page.get_by_text("Your answer is kept")).to_be_visible(timeout=SOON)
        host.get_by_role("button", name="Close now").click()
        expect(projector.locator(".bar-row")).to_have_count(12, timeout=SOON)
        for row in projector.locator(".bar-row").all():
            expect(row).to_be_in_viewport(ratio=1)
