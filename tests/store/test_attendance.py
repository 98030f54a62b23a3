"""Presence, help, and the removal of all names from a store."""

from __future__ import annotations

import time

from tests.store.test_migration import written
from tests.web import seed
from workshop.store import tables
from workshop.store.identities import FORMER
from workshop.store.records import QuizAnswer
from workshop.store.store import Store
from workshop.web import auth


def test_presence_and_actions_are_kept_together(store: Store) -> None:
    ada, eve = (store.add_identity("learner", name, name * 16) for name in ("adaa", "evee"))
    store.add_identity("instructor", "Instructor", "i" * 64)
    store.keep_presence([ada.id, eve.id], 100.0, {eve.id: ("opened the page Run", 90.0)})
    store.keep_presence([], 200.0)
    first, second = store.attendances()
    assert (first.nickname, first.seen_at, first.action, first.acted_at) == ("adaa", 100.0, None, None)
    assert (second.seen_at, second.action, second.acted_at) == (100.0, "opened the page Run", 90.0)


def test_help_is_asked_for_since_the_first_time(store: Store) -> None:
    ada = store.add_identity("learner", "ada", "1" * 64)
    store.keep_help(ada.id, True)
    since = store.attendances()[0].help_asked_at
    store.keep_help(ada.id, True)
    assert since is not None and store.attendances()[0].help_asked_at == since
    store.keep_help(ada.id, False)
    assert store.attendances()[0].help_asked_at is None


def test_learners_are_removed_and_their_rows_stay_without_names(store: Store) -> None:
    session = seed.session(store)
    ada, ada_secret = auth.let_in(store, "learner", "Ada Secretname")
    _, eve_secret = auth.let_in(store, "learner", "Eve Secretname")
    instructor, instructor_secret = auth.let_in(store, "instructor", "Instructor")
    run = store.submit(session.id, "kmeans", {}, {"ranks": 1}, submitted_by=ada.nickname, identity_id=ada.id)
    quiz = store.add_round("live", {"deck": "try", "title": "Try"})
    player = store.add_player(quiz.id, ada.id, ada.nickname)
    store.keep_answers([QuizAnswer(quiz.id, "q", player.id, "", 1, time.time(), None)])
    store.create_study("scaling", "kmeans", {}, [], "Ada Secretname")
    for name in ("Ada Secretname", "Instructor"):
        store.keep_opened(name, "first")
    before = store.changes()
    for _ in range(2):
        store.remove_learners("Instructor")
        assert store.attendances() == []
    assert store.changes() != before, "dashboards ask again who is in"
    assert store.identity(auth.hashed(ada_secret)) is None is store.identity(auth.hashed(eve_secret))
    assert store.identity(auth.hashed(instructor_secret)) == instructor
    assert store.run(run.id).submitted_by == FORMER and len(store.answers(quiz.id)) == 1
    assert [row.learner for row in store.progress()] == ["Instructor"]
    with store.database.reading() as connection:
        rows = [row for table in tables.metadata.sorted_tables for row in connection.execute(table.select())]
    assert "Secretname" not in str(rows)
    assert len(store.players(quiz.id)) == 1
    assert store.add_identity("learner", "Ada Secretname", "a" * 64, numbered=True).nickname == "Ada Secretname"


def test_progress_of_root_is_the_instructor_s_after_an_upgrade(url: str) -> None:
    with Store.open(written(url, 3)) as store:
        store.keep_opened("root", "first")
        with store.database.writing() as connection:
            connection.execute(tables.schema.update().values(version=8))
            for column in (*tables.SINCE[9], *tables.SINCE[10], *tables.SINCE[11]):
                connection.exec_driver_sql(f"ALTER TABLE {column.table.name} DROP COLUMN {column.name}")
    with Store.open(url) as store:
        assert [row.learner for row in store.progress()] == ["Instructor"]
        ada = store.add_identity("learner", "ada", "1" * 64)
        store.keep_presence([ada.id], 5.0)
        assert store.attendances()[0].seen_at == 5.0
