"""A real PostgreSQL server of a test session's own: in a temporary folder, on a unix socket, gone afterwards."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.support import limit, need, until
from tests.watchdog import temporary_folder

PASSWORD = "correct horse battery"
LOCAL_USERS = "local all guarded scram-sha-256\nlocal all all trust\n"
# Nothing has to survive a power cut here.
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


@dataclass(frozen=True)
class Server:
    """A running server; its only address is a socket in `folder`."""

    folder: Path

    def new_database(self) -> str:
        """The URL of an empty database."""
        name = f"test_{secrets.token_hex(6)}"
        with psycopg.connect(host=str(self.folder), user="tester", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        return f"postgresql://tester@/{name}?host={self.folder}"


def _programs() -> Path | None:
    """Where Debian keeps initdb and postgres, the newest version first."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    if versions:
        return versions[-1].parent
    found = shutil.which("initdb")
    return Path(found).resolve().parent if found else None


def _user() -> str | None:
    """PostgreSQL refuses to run as root: the user to run it as, None for ourselves."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    return None


@contextmanager
def server() -> Iterator[Server]:
    """Start a server and stop it afterwards; skips (in CI: fails) where PostgreSQL is not installed."""
    programs = _programs()
    need(programs is not None, "PostgreSQL's server programs (Debian's package postgresql)")
    assert programs is not None
    user = _user()
    # Not pytest's folder: that is readable for its owner only, and too deep for a socket's name.
    folder = temporary_folder("pg")
    running = None
    try:
        if user is not None:
            shutil.chown(folder, user)
        data = folder / "data"
        identity = {"user": user, "extra_groups": []} if user is not None else {}
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True, capture_output=True, cwd=folder, **identity,
        )  # fmt: skip
        (data / "pg_hba.conf").write_text(LOCAL_USERS)
        settings = [word for setting in FAST for word in ("-c", setting)]
        with open(folder / "log", "wb") as log:
            running = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-h", "", *settings],
                stdout=log, stderr=log, cwd=folder, start_new_session=True, **identity,
            )  # fmt: skip
        until(lambda: _answers(folder) or running.poll() is not None, 30, "PostgreSQL to answer")
        assert running.poll() is None, (folder / "log").read_text()
        with psycopg.connect(host=str(folder), user="tester", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}'")
        yield Server(folder)
    finally:
        if running is not None:
            running.send_signal(signal.SIGINT)  # a fast shutdown: whoever is still connected is disconnected
            try:
                running.wait(limit(10))
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGQUIT)
                running.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(folder: Path) -> bool:
    try:
        psycopg.connect(host=str(folder), user="tester", dbname="postgres").close()
        return True
    except psycopg.OperationalError:
        return False
