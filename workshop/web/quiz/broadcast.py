"""The part of a room that sends its state: each message is made once for all who get the same."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from workshop.quiz.live import state
from workshop.quiz.live.state import RoundState
from workshop.store.records import QuizRound
from workshop.web.quiz import messages
from workshop.web.quiz.client import Client
from workshop.web.quiz.participants import Participant, Participants
from workshop.web.quiz.question import RoundQuestion

COUNTED = 0.2  # seconds between counts for the host


class Broadcast:
    record: QuizRound
    participants: Participants
    state: RoundState
    ids: list[str]  # of the deck's questions

    def __init__(self) -> None:
        self.current: RoundQuestion | None = None  # the question that is open, or was the last one
        self.clients: set[Client] = set()
        self.progress: tuple[float, float] | None = None  # of what is being measured
        self._messages: dict[bool, str] = {}  # the state for players and for staff
        self._touched = False

    @property
    def ranked(self) -> bool:
        return bool(self.record.settings.get("ranking", True))

    @property
    def twice(self) -> bool:
        """Whether the class may vote twice on the question."""
        marked = self.current is not None and (self.current.question.marked or self.current.question.measured)
        return marked and bool(self.record.settings.get("vote_twice"))

    @property
    def hides_votes(self) -> bool:
        """Whether the class must not see the votes yet, because it may vote again."""
        return self.twice and self.state.vote == 1 and self.state.phase in ("closed", "discussing")

    @property
    def question(self) -> str | None:
        """The id of the question that is open, or was the last one."""
        return self.current.question.id if self.current else None

    @property
    def ballot(self) -> str | None:
        """The name of the vote that is open, or was the last one."""
        return state.ballot(self.current.question.id, self.state.vote) if self.current else None

    def enter(self, client: Client, participant: Participant | None) -> None:
        """Take somebody in, who gets all there is at once."""
        self.clients.add(client)
        client.show("state", self._state(client))
        if participant is not None:
            participant.clients.add(client)
            client.show("you", messages.you(self, participant))
        if client.view == "host":
            client.show("players", messages.players(self))
        if client.view == "projector":
            client.show("names", messages.names(self))
        if self.state.phase == "ended":
            client.tell(kind="ended")
            client.close("The round has ended.")
        self.touch()

    def leave(self, client: Client) -> None:
        self.clients.discard(client)
        if client.player in self.participants.all:
            self.participants.all[client.player].clients.discard(client)
        self.touch()

    def announce(self, *, personal: bool = False) -> None:
        """Tell everybody the state, made once; and each player what is theirs, where that changed."""
        self._messages = {}
        texts: dict[bool, str] = {}
        for client in self.clients:
            staff = client.view != "player"
            if staff not in texts:
                texts[staff] = self._state(client)
            client.show("state", texts[staff])
        if personal:
            for participant in self.participants.present:
                if participant.clients:
                    text = messages.you(self, participant)
                    for client in participant.clients:
                        client.show("you", text)
        self.touch()

    def touch(self) -> None:
        """Somebody came, went or answered: tell the host and the projector, not for each one of a crowd."""
        if not self._touched:
            self._touched = True
            asyncio.get_running_loop().call_later(COUNTED + self.participants.count / 2000, self._tell_staff)

    def _tell_staff(self) -> None:
        self._touched = False
        self._messages = {}
        views = {
            "host": (messages.count, messages.players),
            "projector": (messages.count, messages.names) if self.state.phase == "lobby" else (messages.count,),
        }
        texts: dict[Callable[[Broadcast], str], str] = {}
        for client in self.clients:
            for make in views.get(client.view, ()):
                if make not in texts:
                    texts[make] = make(self)
                client.show(make.__name__, texts[make])

    def _state(self, client: Client) -> str:
        staff = client.view != "player"
        if staff not in self._messages:
            self._messages[staff] = messages.state_message(self, staff=staff)
        return messages.stamped(self._messages[staff])
