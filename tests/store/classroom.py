"""A store as a class has left it, with known names, hosts, paths and secrets in every place where they can be."""

from __future__ import annotations

import gzip
import json
import time
from dataclasses import dataclass

from tests.web import seed
from workshop.store.records import Identity, QuizAnswer, RunRecord, SessionRecord, Trial
from workshop.store.store import Store
from workshop.web.auth import hashed, new_secrets

PEOPLE = ("Zoë Lovelace", "Mehmet", "quentin")  # the last one is known by progress only
HOSTS = ("gpu7.uni.example", "login1")
PLACES = ("/home/mehmet/secret-project", "secret-project", "uni.example")
COOKIE = "cookie of Zoë"
CODE = "QKX7ZP"
# Files that name somebody, in forms in which nobody sees it at once.
NAMED = {
    "log.utf8": "Zoë Lovelace was here, so was Zoe\u0308 Lovelace".encode(),
    "log.utf16": "Mehmet and Zoë Lovelace".encode("utf-16"),
    "scores.bin": json.dumps({"Zoë Lovelace": 1}).encode(),
    "bare.utf16": "Mehmet".encode("utf-16-le"),
    "dump.pickle": b"\x80\x04\x95Mehmet",
    "class.gz": gzip.compress(b"Mehmet"),
}
DECK = {
    "deck": "kmeans",
    "title": "A try",
    "questions": [{"id": "one", "type": "text", "text": "See /proc/self/status?", "accept": ["yes"]}],
}


@dataclass
class Left:
    """What is there."""

    session: SessionRecord
    people: list[Identity]
    runs: list[RunRecord]
    study: int
    mixed: int  # the run of a study that also has one elsewhere
    round: int
    secrets: list[str]


def leave(store: Store) -> Left:
    """Sessions class (recorded later) and other (not)."""
    token, class_code = new_secrets(store)
    session, other = seed.session(store), seed.session(store, "other")
    people = [store.add_identity("learner", name, hashed(f"{COOKIE} {name}")) for name in PEOPLE[:2]]
    first = seed.completed(store, session, people[0])
    message = f"rank 1 on {HOSTS[0]} can't open {PLACES[0]}/photo of Mehmet.jpg ({HOSTS[1]}, 10.11.12.13)"
    second = seed.failed(store, session, message)
    ranks = (first.rank_map or {})["ranks"]
    up = {"measured": True, "ranks": [rank | {"host": host} for rank, host in zip(ranks, HOSTS, strict=True)]}
    store.set_run(second.id, rank_map=up, notices=[f"Zoë Lovelace's rank on {HOSTS[0]} told nothing"])
    store.put_artifact(first.id, "input/photo", "application/octet-stream", b"a photo of Mehmet")
    store.put_artifact(first.id, "checkpoint.npz", "application/octet-stream", b"weights")
    store.put_artifact(first.id, "large.bin", "application/octet-stream", bytes(3 << 20))
    store.put_artifact(first.id, "timeline.json", "application/json", f'{{"on": "{HOSTS[0]}"}}'.encode())
    for name, data in NAMED.items():
        store.put_artifact(first.id, name, "application/octet-stream", data)
    elsewhere = seed.completed(store, other, people[1])
    study = store.create_study("scaling", "kmeans", {"ranks": [1, 2]}, [_trial(1), _trial(2)], people[1].nickname)
    third = store.submit(
        session.id, "kmeans", {**seed.PARAMS, "image": f"{PLACES[0]}/me.jpg"}, seed.PLACEMENT, trial=(study.id, 1)
    )
    store.take_next(session.id)
    events = [(time.time(), "value", 1, float("nan")), (time.time(), "value", 2, float("inf"))]
    store.add_batches([(third.id, 0, 1, events), (third.id, 0, 2, [(5.0, "loss of Mehmet", None, 1.5)])])
    store.finish(third.id, "completed", metrics={"by": {HOSTS[1]: float("nan")}})
    waiting = store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT, submitted_by=people[1].nickname)
    mixed = store.create_study("scaling", "kmeans", {}, [_trial(1), _trial(2)])
    both = [
        store.submit(of.id, "kmeans", seed.PARAMS, seed.PLACEMENT, trial=(mixed.id, number)).id
        for number, of in ((1, session), (2, other))
    ]
    for run in both:
        store.finish(run, "cancelled")
    store.keep_guess(people[0].id, f"study/{study.id}/a", {"guess": 2.5})
    store.keep_guess(people[1].id, f"study/{mixed.id}/a", {"guess": 1.5})
    round_ = _round(store, people)
    store.add_round("live", DECK, code="STILLON", seed="s")
    for name in PEOPLE:
        store.keep_check(name, "first", "whoami", "hint", f"{name}, count from 0")
    runs = [store.run(run.id) for run in (first, second, third, waiting, elsewhere)]
    kept = [token, hashed(token), class_code, CODE, "STILLON", *(hashed(f"{COOKIE} {name}") for name in PEOPLE)]
    return Left(store.session(session.id), people, runs, study.id, both[0], round_, kept)


def _trial(number: int) -> Trial:
    return Trial(number, f"{number} ranks", dict(seed.PARAMS), dict(seed.PLACEMENT), 1, point={"ranks": number})


def _round(store: Store, people: list[Identity]) -> int:
    made = store.add_round(
        "live", DECK, code=CODE, seed="s", deck_folder="/home/mehmet/decks", settings={"ranking": True}
    )
    player = store.add_player(made.id, people[0].id, people[0].nickname)
    named = store.add_player(made.id, None, "Mehmet 2")
    for who in (player, named):
        store.keep_answers([QuizAnswer(made.id, "one", who.id, "", "ask Mehmet", time.time(), 1.5)])
    store.set_round_state(made.id, {"phase": "ended", "position": 0, "done": ["one"]}, ended=True)
    return made.id
