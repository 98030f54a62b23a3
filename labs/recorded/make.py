"""Make the recording that ships with the project: a class of eight at work, all of it by real runs on this machine.

    .venv/bin/python labs/recorded/make.py --out labs/recorded/course.db.gz

Takes about 40 minutes on two cores that do nothing else, or about 15 with `--short`, and needs no network. Its state is
in a folder of its own (`--state`, else a temporary one), and everything goes through the same ways as a class's work:
the queue of a session, the commands that run studies, the pages and sockets of a live round. The learners' answers,
guesses and progress are made up; every figure is measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from websockets.sync.client import ClientConnection, connect

from benchmarks.dashboard import HOST, HostClient, served
from workshop.core import config, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.course import catalogue, description
from workshop.extension import SIDES
from workshop.quiz import reader
from workshop.quiz.deck import Deck, ask
from workshop.quiz.types.choice import Choice
from workshop.quiz.types.match import Match, Order
from workshop.quiz.types.number import Number, Predict, Text
from workshop.quiz.types.place import Place
from workshop.report.failures import failures, failures_of
from workshop.sessions import client, lifecycle
from workshop.store.records import Identity, QuizRound, RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.study.guided.kind import Ask, ChoiceGuess
from workshop.study.guided.kind import ask as question
from workshop.study.guided.step_results import step_results
from workshop.study.kinds import Sofar
from workshop.study.kinds import read as trials_of
from workshop.web.auth import hashed, new_secrets
from workshop.web.quiz import rounds
from workshop.workloads.federated.study.kind import ASKS
from workshop.workloads.sgan.study.facts import GUIDE

NAME = "class"  # of the session
LEARNERS = 8
SECONDS = 600.0  # that a run may take
DIGITS: Mapping[str, Any] = {"data": "digits"}
SHORT: Mapping[str, Sequence[str]] = {"path": ("--steps", "a,b,e"), "sgan": ("300",), "seeds": ("2",)}
WHOLE: Mapping[str, Sequence[str]] = {"path": (), "sgan": ("800",), "seeds": ("5",)}
STUCK, STUCK_IN = 3, 2  # which learner is stuck, counted from 0, and in which lab
NOTE = "The learners and their answers are invented; the results of runs are measured."
QUESTIONS = 9  # of the deck that is played, beside those that are measured


class Classroom:
    """The store, the session and the people in it."""

    def __init__(self, store: Store, session: SessionRecord, sizes: Mapping[str, Sequence[str]]) -> None:
        self.store, self.session, self.sizes = store, session, sizes
        self.instructor = store.add_identity("instructor", "Instructor", _nobodys())
        self.learners = [store.learner(f"learner-{number}") for number in range(1, LEARNERS + 1)]
        self.chance = random.Random(8)

    def run(self, workload: str, who: Identity | None = None, ranks: int | Placement = 2, **params: Any) -> RunRecord:
        """A run of somebody's (default: the instructor's), to its end; one that fails is what some of them are for."""
        placement = ranks if isinstance(ranks, Placement) else Placement(ranks=ranks)
        session = self.store.session(self.session.id)
        run = client.submit(self.store, session, workload, params, placement.as_json(), identity=who or self.instructor)
        ended = client.wait(self.store, run.id, timeout=SECONDS)
        say(f"run {ended.id}: {workload} of {ended.submitted_by}: {ended.status}")
        return ended

    def study(self, *words: str) -> int:
        """A study, by its command; returns its number."""
        command = [sys.executable, "-c", "from workshop.cli import main; main()", "study", "run", *words]
        ended = subprocess.run([*command, "--session", NAME], stdout=subprocess.DEVNULL, timeout=7200, check=False)
        number = self.store.studies(limit=1)[0].id
        say(f"study {number}: {words[0]}: exit code {ended.returncode}")
        return number


def _nobodys() -> str:
    """The hash of a cookie that nobody has."""
    return hashed(secrets.token_urlsafe(32))


def kmeans(room: Classroom) -> None:
    one, two, three = room.learners[:3]
    room.run("kmeans", one, ranks=1, image="china", clusters=16)
    room.run("kmeans", one, image="china", clusters=16)
    room.run("kmeans", two, image="flower", clusters=8, pace=0.1)
    room.run("kmeans", three, data="blobs", points=500_000, clusters=32, mode="online")
    room.run(
        "kmeans", three, ranks=Placement(ranks=2, environment={"OMP_PROC_BIND": "true"}), image="china", clusters=4
    )


def broken_placements(room: Classroom) -> None:
    for failure in failures(topology.allowed_cores(topology.machine())):
        if not failure.needs_hosts:
            for placement in failure.placements().values():
                room.run(failure.workload, room.learners[3], ranks=placement, **failure.params)


def mnist(room: Classroom) -> None:
    four, five = room.learners[3:5]
    room.run("mnist", four, ranks=1, epochs=4, **DIGITS)
    room.run("mnist", four, epochs=4, **DIGITS)
    room.run("mnist", five, epochs=4, broadcast=False, **DIGITS)
    room.run("mnist", five, epochs=4, exchange="mpi-per-tensor", **DIGITS)
    room.run("mnist", five, epochs=4, rate=50.0, optimizer="sgd", **DIGITS)  # diverges


def allreduce(room: Classroom) -> None:
    room.run("allreduce", room.learners[5], largest=4 << 20, repeats=3)


def sgan(room: Classroom) -> None:
    room.run("sgan", room.learners[5], iterations=int(room.sizes["sgan"][0]), **DIGITS)


def federated(room: Classroom) -> None:
    six, seven = room.learners[5:7]
    room.run("federated", six, way="all", rounds=8, partition="label", model="dense", **DIGITS)
    room.run("federated", seven, rounds=5, privacy="institutions", model="dense", **DIGITS)
    for failure in failures_of("federated"):
        for side in SIDES:
            room.run(failure.workload, seven, **failure.params_of(side))
    room.run("segmentation", six, way="all", rounds=5, patients=40, size=32, evaluate_images=24)
    room.run("inversion", seven, images=8, **DIGITS)
    room.run("inversion", seven, **DIGITS)  # the newest, which the page of federations shows


def scaling(room: Classroom) -> None:
    room.study("scaling", "--workload", "kmeans", "--ranks", "1,2", "--repeats", "3", "--data", "blobs",
               "--points", "2000000", "--iterations", "40", "--tolerance", "0")  # fmt: skip


def grid(room: Classroom) -> None:
    room.study("grid", "--workload", "mnist", "--vary", "ranks=1,2", "--vary", "threads=1,2", "--set", "data=digits",
               "--set", "steps=30", "--oversubscribe")  # fmt: skip


def ways(room: Classroom) -> None:
    study = room.study(
        "ways", "--seeds", room.sizes["seeds"][0], "--rounds", "6", "--model", "dense", "--data", "digits"
    )
    for learner in room.learners[1:]:
        for other, wanted in ASKS.items():
            guess = {"guess": round(room.chance.gauss(4 if other == "centralised" else 12, 5) * 2) / 2}
            room.store.keep_guess(learner.id, f"study/{study}/{other}", guess | {"unit": wanted.unit})


def path(room: Classroom) -> None:
    study = room.study("path", *room.sizes["path"], "--quick")
    record = room.store.study(study)
    found = step_results(GUIDE, Sofar(record, *trials_of(room.store, study)))
    for step in GUIDE.steps:
        if step.key not in found.setting.steps:
            continue
        wanted = question(found, step.key)
        for learner in room.learners[2:]:
            room.store.keep_guess(learner.id, f"study/{study}/{step.key}", {"guess": _guess(room.chance, wanted)})


def _guess(chance: random.Random, wanted: Ask) -> float | str:
    if isinstance(wanted, ChoiceGuess):
        return chance.choice(wanted.options)
    most = min(wanted.high, wanted.low + 40 * wanted.step)
    return round(chance.uniform(wanted.low, most) / wanted.step) * wanted.step


def live_round(room: Classroom) -> None:
    """A deck with the class: five to nine answers to every question, some of which are measured."""
    path = reader.shipped()["kmeans"]
    deck = reader.read(path)
    measured = [question.id for question in deck.questions if isinstance(question, Predict)][:1]
    others = [question.id for question in deck.questions if not isinstance(question, (Predict, Place))][:QUESTIONS]
    kept = [question for question in deck.questions if question.id in (*others, *measured)]
    short = deck.selection([question.id for question in kept])
    with served() as (_, port):
        token, _ = new_secrets(room.store)
        record = rounds.host(room.store, short, path.parent, session=NAME)
        with ExitStack() as stack:
            host = HostClient(
                stack.enter_context(socket_of(_cookie(port, "GET", f"/?token={token}"), port, record, "host"))
            )
            players = [
                Player(
                    stack.enter_context(socket_of(join(port, record, one.nickname), port, record)), place, room.chance
                )
                for place, one in enumerate(room.learners)
            ]
            for question in kept:
                host.do("next", "question")
                for player in players:
                    player.answer(short, question.id, record.seed)
                host.do("close", "closed")
                if isinstance(question, Predict):
                    host.line.send(json.dumps({"kind": "command", "do": "run", "version": host.version}))
                    host.version = _until(host.line, "explained")
                else:
                    host.do("explain", "explained")
            host.do("podium", "podium")
            host.do("end", "ended")
    say(f"round {record.id}: {len(kept)} questions")


def _until(line: ClientConnection, phase: str) -> int:
    while True:
        message = json.loads(line.recv(timeout=SECONDS))
        if message["kind"] == "state" and message["phase"] == phase:
            return message["version"]
        if message.get("problem"):
            raise WorkshopError(f"Measuring came to nothing: {message['problem']}")


class Player:
    """A learner's phone. Those in front know more, and the last one is often too late."""

    def __init__(self, line: ClientConnection, place: int, chance: random.Random) -> None:
        self.line, self.place, self.chance = line, place, chance

    def answer(self, deck: Deck, question_id: str, seed: str) -> None:
        self._hear(lambda told: told["kind"] == "state" and (told.get("question") or {}).get("id") == question_id)
        if self.place == LEARNERS - 1 and self.chance.random() < 0.4:
            return
        asked = ask(deck, deck.question(question_id), seed)
        right = self.chance.random() < 0.95 - 0.09 * self.place
        time.sleep(self.chance.uniform(0.1, 0.5 + 0.1 * self.place))
        given = _raw(asked, right, self.chance)
        self.line.send(json.dumps({"kind": "answer", "question": question_id, "answer": given, "ref": self.place}))
        self._hear(lambda told: told["kind"] == "confirmed")

    def _hear(self, wanted: Callable[[dict[str, Any]], bool]) -> None:
        while not wanted(json.loads(self.line.recv(timeout=60))):
            pass


def _raw(asked: Any, right: bool, chance: random.Random) -> Any:
    """An answer as a browser would send it."""
    told, question = asked.question.solution(asked), asked.question
    match question:
        case Choice():
            keys = list(asked.keys) if right is False else told["keys"]
            several = question.type == "multiple"
            wrong = chance.sample(list(asked.keys), 2) if several else chance.choice(keys)
            return (list(told["keys"]) if several else told["keys"][0]) if right else wrong
        case Order():
            return told["order"] if right else chance.sample(told["order"], len(told["order"]))
        case Match():
            values = list(told["match"].values())
            return told["match"] if right else dict(zip(told["match"], chance.sample(values, len(values)), strict=True))
        case Number():
            return told["value"] if right else round(told["value"] * chance.choice([0.5, 2, 10]) + 1)
        case Text():
            return question.accept[0] if right else "no idea"
        case Predict(kind="rank"):
            return chance.choice([0, 1])
        case Predict():
            return round(chance.uniform(0.5, 4), 1)
    return chance.choice(list(asked.keys))  # a poll


def join(port: int, record: QuizRound, nickname: str) -> str:
    """Through the form, as on a phone; returns the cookie."""
    return _cookie(port, "POST", "/quiz", urlencode({"code": record.code or "", "nickname": nickname}))


def _cookie(port: int, method: str, path: str, form: str | None = None) -> str:
    line = http.client.HTTPConnection(HOST, port, timeout=60)
    line.request(method, path, form, {"Content-Type": "application/x-www-form-urlencoded"} if form else {})
    answer = line.getresponse()
    answer.read()
    line.close()
    if answer.status != 303:
        raise WorkshopError(f"The dashboard answered {answer.status} to {path.partition('?')[0]}.")
    return (answer.getheader("set-cookie") or "").partition(";")[0]


@contextmanager
def socket_of(cookie: str, port: int, record: QuizRound, view: str = "player") -> Iterator[ClientConnection]:
    address = f"ws://{HOST}:{port}/quiz/{record.id}/socket?view={view}"
    here = {"additional_headers": {"Cookie": cookie}, "origin": f"http://{HOST}:{port}"}
    # Nobody reads all that is said, so nobody waits for an answer or a farewell.
    with connect(address, **here, max_size=None, max_queue=None, ping_interval=None, close_timeout=1) as line:
        yield line


def progress(room: Classroom) -> None:
    """Most have come some way; learner-4 is stuck, learner-8 has opened one notebook only."""
    for place, learner in enumerate(room.learners):
        for number, folder in enumerate(catalogue.folders(config.labs_folder())):
            if number > (STUCK_IN if place == STUCK else max(6 - place, 0)):
                break
            lab = description.read(folder)
            room.store.keep_opened(learner.nickname, folder.name)
            if place == LEARNERS - 1:
                break
            room.store.keep_prediction(learner.nickname, folder.name, "speed-up", guess=1.5 + 0.1 * place, measured=1.7)
            stuck = place == STUCK and number == STUCK_IN
            for exercise in lab.exercises:
                for _ in range(6 if stuck else place % 3):
                    said = "Not yet: what would one rank alone have, and what do all of them have together?"
                    room.store.keep_check(learner.nickname, folder.name, exercise, "hint", said)
                if stuck:
                    break
                room.store.keep_check(learner.nickname, folder.name, exercise, "right", "")
    say("progress of the learners")


PARTS: tuple[Callable[[Classroom], None], ...] = (
    kmeans, broken_placements, mnist, allreduce, sgan, federated, scaling, grid, ways, path, live_round, progress,
)  # fmt: skip


def say(words: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, help="the recording; without it only the state is made")
    parser.add_argument("--state", type=Path, help="a folder for the state, which stays; default: a temporary one")
    parser.add_argument("--short", action="store_true", help="fewer and shorter studies")
    parser.add_argument("--only", metavar="PART,…", help=f"some of {', '.join(part.__name__ for part in PARTS)}")
    given = parser.parse_args()
    only = set((given.only or ",".join(part.__name__ for part in PARTS)).split(","))
    if others := only - {part.__name__ for part in PARTS}:
        parser.error(f"there is no part {min(others)}")
    with ExitStack() as stack:
        folder = given.state or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workshop-course-")))
        os.environ |= {"WORKSHOP_HOME": str(folder.absolute()), "WORKSHOP_OFFLINE": "1"}
        os.environ.pop("WORKSHOP_DATABASE_URL", None)
        store = stack.enter_context(Store.open())
        session, conductor = lifecycle.start_session(store, NAME, Placement(ranks=2), attached=True)
        stack.callback(lifecycle.end_conductor, conductor)
        room = Classroom(store, lifecycle.wait_ready(store, session, conductor), SHORT if given.short else WHOLE)
        failed = []
        for part in PARTS:
            if part.__name__ in only:
                try:
                    part(room)
                except WorkshopError as error:
                    failed.append(part.__name__)
                    say(f"{part.__name__} went wrong: {error}")
        if given.out is not None and not failed:
            from workshop.cli.main import run

            return run(["record", NAME, "--out", str(given.out), "--overwrite", "--note", NOTE])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
