"""A live round's people in a browser: an instructor who begins it, and learners who join and answer."""

from __future__ import annotations

from dataclasses import dataclass, field

from playwright.sync_api import Locator, Page, WebSocketRoute, expect

from tests.support import limit
from workshop.quiz import reader
from workshop.store.store import Store
from workshop.web.quiz import rounds

SOON = limit(30) * 1000  # milliseconds


@dataclass
class Learner:
    """A learner's browser, whose line to the server can be cut."""

    page: Page
    sockets: list[WebSocketRoute] = field(default_factory=list)
    cut: bool = False

    def __post_init__(self) -> None:
        self.page.route_web_socket("**/socket*", self._connect)

    def _connect(self, socket: WebSocketRoute) -> None:
        if self.cut:
            socket.close()
            return
        socket.connect_to_server()
        self.sockets.append(socket)

    def join(self, url: str, code: str, nickname: str, heading: str = "You are in") -> None:
        self.page.goto(f"{url}/quiz?code={code}")
        self.page.get_by_label("Nickname").fill(nickname)
        self.page.get_by_role("button", name="Join").click()
        self.at(heading)

    def at(self, heading: str) -> None:
        expect(self.page.get_by_role("heading", level=1)).to_have_text(heading, timeout=SOON)

    def send(self) -> None:
        self.page.get_by_role("button", name="Send my answer").click()
        expect(self.page.get_by_text("Your answer is kept")).to_be_visible(timeout=SOON)

    def choose(self, text: str) -> None:
        self.page.get_by_role("radio", name=text).check()
        self.send()

    def type(self, text: str) -> None:
        self.page.get_by_role("textbox").fill(text)
        self.send()

    def items(self) -> list[str]:
        return self.page.locator(".item-text").all_inner_texts()

    @property
    def judged(self) -> Locator:
        return self.page.locator(".judged")


def instructor(page: Page, url: str, token: str, deck: str, **wishes: bool) -> tuple[str, str]:
    """Begin a round of a deck as the instructor. Gives its address and its code."""
    page.context.request.get(f"{url}/?token={token}", max_redirects=0)
    with Store.open() as store:
        record = rounds.host(store, reader.parse(deck, "trial.yaml"), **wishes)
    return f"{url}/quiz/{record.id}", record.code or ""


def put_by_keys(learner: Learner, wanted: list[str]) -> None:
    """Put the items into order with the arrow keys alone, then send."""
    for place, item in enumerate(wanted):
        learner.page.get_by_role("button", name=f"Move {item}").focus()
        while learner.items().index(item) > place:
            learner.page.keyboard.press("ArrowUp")
    assert learner.items() == wanted
    learner.send()


def put_by_arrows(learner: Learner, wanted: list[str]) -> None:
    for place, item in enumerate(wanted):
        while learner.items().index(item) > place:
            learner.page.get_by_role("button", name=f"Up: {item}").click()
    assert learner.items() == wanted
    learner.send()
