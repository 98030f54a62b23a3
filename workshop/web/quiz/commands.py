"""A host's commands to a room. A command names the version of the state that its button belonged to, so that a second
click, or another tab that is behind, does nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from workshop.core.errors import BadInput
from workshop.quiz import live
from workshop.store.records import Identity
from workshop.web.quiz import measurement
from workshop.web.quiz.room import Room


async def obey(room: Room, do: str, value: Any, version: int, identity: Identity) -> None:
    """Do what a command says. Raises BadInput where it can't be, or isn't meant for the round as it is now."""
    async with room.lock:
        if do != "remove" and version != room.state.version:
            raise BadInput("The round has gone on meanwhile, by another click or in another tab; look at it again.")
        await _do(room, do, value, identity)


async def _do(room: Room, do: str, value: Any, identity: Identity) -> None:
    now, current = room.state, room.current
    measured = current is not None and current.question.measured
    match do:
        case "remove":
            await room.remove(value if isinstance(value, list) else [value])
        case "next":
            await _forward(room, live.next_)
        case "skip":
            await _forward(room, live.skip)
            await asyncio.to_thread(measurement.cancel, room.store, now.runs)
        case "close":
            await room.become(live.close(now, time.time()))
        case "discuss":
            if not room.twice:
                raise BadInput("The class can't vote twice on this question: it is a poll, or the round has one vote.")
            await room.discuss(live.TALK if value is None else value)
        case "vote":
            await room.become(live.vote_again(now, room.limits[now.position], time.time()))
        case "pause":
            await room.become(live.pause(now, time.time()))
        case "resume":
            await room.become(live.resume(now, time.time()))
        case "extend":
            await room.become(live.extend(now, live.REOPENED if value is None else value, time.time()))
        case "reopen":
            await room.become(live.reopen(now, time.time(), live.REOPENED if value is None else value))
        case "explain":
            if measured and now.phase == "closed":
                raise BadInput("The answer has to be measured first: run it, or skip the question.")
            await room.explain()
        case "run":
            if current is None or not measured:
                raise BadInput("There is nothing to measure in this question.")
            live.run(now, {})  # refused before anything is submitted
            question: Any = current.question  # a Predict, since it is measured
            runs = await asyncio.to_thread(measurement.submit, room.store, room.record.session, question, identity)
            await room.become(live.run(room.state, runs))
        case "ranking":
            if not room.ranked:
                raise BadInput("This round has no ranking.")
            await room.become(live.ranking(now))
        case "podium":
            await room.become(live.podium(now))
        case "lock" | "unlock":
            await room.become(live.lock(now, do == "lock"))
        case "end":
            await room.become(live.end(now))
            await asyncio.to_thread(measurement.cancel, room.store, now.runs)
        case _:
            raise BadInput(f"There is no command {do[:40]!r}.")


async def _forward(room: Room, go: Callable[..., live.RoundState]) -> None:
    """Open the next question, whose clock begins when it is ready to be shown."""
    before, former_question = room.state, room.current
    new = go(before, room.ids, room.limits, time.time())
    try:
        if new.phase == "question":
            # Nobody may answer the new question while the old one is still the state.
            await room.prepare(new.position)
        await room.become(go(before, room.ids, room.limits, time.time()))
    except BaseException:
        room.current = former_question
        raise
