"""The tables, for SQLAlchemy Core. A change of them raises VERSION."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

VERSION = 13
INSTRUCTOR = "Instructor"  # the nickname that no learner can have
SPANS = 2000  # rows of `spans`: the most points that a thinned series can have


class CleanText(TypeDecorator[str]):
    """Text that came from outside. PostgreSQL takes no NUL, neither database half a surrogate pair."""

    impl: type[String] = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


class Key(CleanText):
    """Such text as part of a key: `Key(80)` has at most 80 characters."""

    impl = String
    cache_ok = True


class Json(TypeDecorator[Any]):
    """JSON as ASCII text: what Python writes it reads again, NaN and infinity of a diverged run included."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


metadata = MetaData()
schema = Table("workshop_schema", metadata, Column("version", Integer, primary_key=True))

settings = Table(
    "settings", metadata, Column("key", String(100), primary_key=True), Column("value", CleanText, nullable=False)
)

identities = Table(
    "identities",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("role", String(20), nullable=False),
    Column("nickname", CleanText, nullable=False),
    Column("token_hash", String(128), nullable=False, unique=True),
    Column("created_at", Double, nullable=False),
    Column("let_in_at", Double),  # when they got their cookie; None: nobody is in by it
    Column("seen_at", Double),  # when a page of theirs was last open
    Column("action", CleanText),  # the last one on the dashboard, for instance "opened the page Run"
    Column("acted_at", Double),
    Column("help_asked_at", Double),  # None: they need no help
    Index("identities_of_nickname", "nickname"),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("state", String(20), nullable=False),
    Column("message", CleanText, nullable=False),
    Column("placement", Json, nullable=False),
    Column("limits", Json, nullable=False),
    Column("private", Boolean, nullable=False),
    Column("machine", Json, nullable=False),
    Column("rank_map", Json),
    Column("conductor_pid", Integer),
    Column("heartbeat_at", Double),
    Column("created_at", Double, nullable=False),
    Column("stop_requested", Boolean, nullable=False),
    Column("reset_requested", Boolean, nullable=False),
    Column("site", Json),  # None: this machine
    sqlite_autoincrement=True,
)

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("session_id", ForeignKey(sessions.c.id), nullable=False),
    Column("workload", CleanText, nullable=False),
    Column("status", String(20), nullable=False),
    Column("params", Json, nullable=False),
    Column("placement", Json, nullable=False),
    Column("submitted_by", CleanText, nullable=False),
    Column("identity_id", ForeignKey(identities.c.id)),
    Column("measured", Boolean, nullable=False),
    Column("rank_map", Json),
    Column("machine", Json),
    Column("metrics", Json, nullable=False),
    Column("verdict", Json),
    Column("error", Json),
    Column("notices", Json, nullable=False),
    Column("progress", Json),
    Column("activity", Json),  # what the run is doing, see `RunRecord.activity`
    Column("queued_at", Double, nullable=False),
    Column("started_at", Double),
    Column("finished_at", Double),
    Column("cancel_requested", Boolean, nullable=False),
    Column("kill_requested", Json),  # ranks that somebody wants to see killed
    Column("events", BigInteger, nullable=False),  # how many it has: the id of its last one
    Index("runs_of_session", "session_id", "status"),
    sqlite_autoincrement=True,
)

# Event names are few and long, events are many: an event carries its name's number.
names = Table(
    "names",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", CleanText, nullable=False, unique=True),
)

# Which batches of a run have arrived: what tells duplicates and gaps.
batches = Table(
    "batches",
    metadata,
    Column("run_id", ForeignKey(runs.c.id), primary_key=True),
    Column("rank", Integer, primary_key=True),
    Column("batch", Integer, primary_key=True),
    sqlite_with_rowid=False,
)

# Clustered by run, so that following a run reads only what is new. `id` counts from 1 within its run. No foreign key:
# a look-up for each of a million rows buys nothing, since runs are never deleted and `batches` has one.
events = Table(
    "events",
    metadata,
    Column("run_id", Integer, primary_key=True),
    Column("id", BigInteger, primary_key=True),
    Column("name_id", Integer, nullable=False),
    Column("rank", Integer, nullable=False),
    Column("step", BigInteger),
    Column("time", Double, nullable=False),
    Column("value", Double),  # null is not a number, which SQLite doesn't have
    # Plots and totals are answered from this index alone.
    Index("events_of_name", "run_id", "name_id", "rank", "step", "time", "value"),
    sqlite_with_rowid=False,
)

# The numbers 0 to SPANS - 1. Joined with the events, span by span, they thin a series without sorting it.
_Large = BigInteger().with_variant(Integer, "sqlite")  # SQLite's integers all have 64 bits, and it knows its row id
spans = Table("spans", metadata, Column("n", _Large, primary_key=True, autoincrement=False))

blobs = Table(
    "blobs",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

artifacts = Table(
    "artifacts",
    metadata,
    Column("run_id", ForeignKey(runs.c.id), primary_key=True),
    Column("name", CleanText, primary_key=True),
    Column("media_type", CleanText, nullable=False),
    Column("sha256", ForeignKey(blobs.c.sha256), nullable=False, index=True),
    Column("size", Integer, nullable=False),
    Column("created_at", Double, nullable=False),
)

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(40), nullable=False),
    Column("workload", CleanText, nullable=False),
    Column("description", Json, nullable=False),
    Column("state", String(20), nullable=False),
    Column("submitted_by", CleanText, nullable=False),
    Column("runner", String(40)),  # who works on it, if anybody
    Column("heartbeat_at", Double),  # when that one was last heard of
    Column("created_at", Double, nullable=False),
    Column("finished_at", Double),
    sqlite_autoincrement=True,
)

trials = Table(
    "trials",
    metadata,
    Column("study_id", ForeignKey(studies.c.id), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("label", CleanText, nullable=False),
    Column("params", Json, nullable=False),
    Column("placement", Json, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("run_id", ForeignKey(runs.c.id), index=True),
    Column("error", Json),
    Column("point", Json),  # None: a study of one axis, whose label says it
    Column("pruned", Json),  # why it was ended before its time, and what it had reached
)

# What people thought would come out, before they saw it.
guesses = Table(
    "guesses",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("about", String(200), nullable=False, index=True),  # for instance "study/12/b"
    Column("identity_id", ForeignKey(identities.c.id)),
    Column("value", Json, nullable=False),
    Column("created_at", Double, nullable=False),
    sqlite_autoincrement=True,
)

_GOING_ON: dict[str, Any] = dict.fromkeys(("sqlite_where", "postgresql_where"), text("ended_at IS NULL"))
# Decks that are gone through: live with a class, or by people alone. The deck is kept as it was.
quiz_rounds = Table(
    "quiz_rounds",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("code", String(20)),  # what learners type to join; None: nobody joins by one
    Column("name", String(80), nullable=False, index=True),  # the deck's
    Column("title", CleanText, nullable=False),
    Column("deck", Json, nullable=False),
    Column("deck_folder", CleanText, nullable=False),
    Column("session", CleanText, nullable=False),  # where questions are measured; "": whichever is up
    Column("seed", String(80), nullable=False),
    Column("settings", Json, nullable=False),
    Column("state", Json, nullable=False),
    Column("created_at", Double, nullable=False),
    Column("ended_at", Double),
    # A code leads to one round; it may be used again when that has ended.
    Index("quiz_rounds_of_code", "code", unique=True, **_GOING_ON),
    sqlite_autoincrement=True,
)

quiz_players = Table(
    "quiz_players",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("round_id", ForeignKey(quiz_rounds.c.id), nullable=False),
    Column("identity_id", ForeignKey(identities.c.id), index=True),  # None: on the command line or in a notebook
    Column("attempt", Integer, nullable=False),
    Column("nickname", CleanText, nullable=False),
    Column("joined_at", Double, nullable=False),
    Column("removed", Boolean, nullable=False),
    UniqueConstraint("round_id", "nickname"),
    UniqueConstraint("round_id", "identity_id", "attempt"),
    sqlite_autoincrement=True,
)

# One answer per question and player: the primary key sees to it.
quiz_answers = Table(
    "quiz_answers",
    metadata,
    Column("round_id", ForeignKey(quiz_rounds.c.id), primary_key=True),
    Column("question", String(80), primary_key=True),
    Column("player_id", ForeignKey(quiz_players.c.id), primary_key=True, index=True),
    Column("answer", Json, nullable=False),
    Column("received_at", Double, nullable=False),
    Column("seconds", Double),  # since it was opened; None where nobody knows
    Column("share", Double),  # of a right answer, 0 to 1; None, like the next two: not judged yet
    Column("right", Boolean),
    Column("points", Double),
    sqlite_with_rowid=False,
)

# How far everybody has come in each lab: one row for each exercise, prediction, and notebook that was opened.
progress = Table(
    "progress",
    metadata,
    Column("learner", Key(80), primary_key=True),
    Column("lab", Key(40), primary_key=True),
    Column("kind", String(20), primary_key=True),  # notebook, exercise, prediction
    Column("item", Key(80), primary_key=True),  # the exercise's or prediction's id; "" for a notebook
    Column("state", String(20), nullable=False),  # of an exercise, named as in `course.exercise_checks`; "" else
    Column("tries", Integer, nullable=False),  # checks so far
    Column("wrong", Integer, nullable=False),  # checks since the last right one that were wrong (not: empty)
    Column("said", CleanText, nullable=False),  # the last hint
    Column("value", Json),  # of a prediction: {"guess": ..., "measured": ...}
    Column("began_at", Double, nullable=False),
    Column("changed_at", Double, nullable=False),
    Column("right_at", Double),  # when it was right for the first time
    sqlite_with_rowid=False,
)

# The tables, columns and indexes that came with a version; an older store gets those it lacks.
SINCE: dict[int, tuple[Table | Column[Any] | Index, ...]] = {
    2: (studies, trials),
    3: (sessions.c.site,),
    4: (trials.c.point, trials.c.pruned, guesses),
    5: (quiz_rounds, quiz_players, quiz_answers),
    6: (progress,),
    8: (identities.c.let_in_at, *identities.indexes),
    9: (identities.c.seen_at, identities.c.action, identities.c.acted_at, identities.c.help_asked_at),
    10: (runs.c.activity,),
    11: (runs.c.kill_requested,),
}

# The tables that went with a version.
UNTIL: dict[int, tuple[str, ...]] = {12: ("leases",), 13: ("quiz_rooms",)}
