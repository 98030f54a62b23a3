"""Opening a store: new ones, others' ones, and places where there can't be one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import create_engine, text

from tests.postgres import PASSWORD, Server
from tests.store.test_events import new_run
from tests.support import limit, until
from workshop.core.errors import BadInput, WorkshopError
from workshop.store import database, tables
from workshop.store.database import network_filesystem
from workshop.store.store import Store


def test_a_store_of_a_newer_version(url: str) -> None:
    with Store.open(url) as store:
        new_run(store)
        with store.database.writing() as connection:
            connection.execute(tables.schema.update().values(version=tables.VERSION + 1))
    with pytest.raises(BadInput, match=f"version {tables.VERSION + 1}.*newer version of the workshop") as refused:
        Store.open(url)
    assert one_sentence(refused)


def test_a_database_of_something_else(url: str) -> None:
    theirs = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with theirs.begin() as connection:
        connection.execute(text("CREATE TABLE runs (kilometres INTEGER)"))
    with pytest.raises(BadInput, match=r"something else \(runs\)") as refused:
        Store.open(url)
    assert one_sentence(refused)
    with theirs.begin() as connection:
        assert connection.execute(text("SELECT * FROM runs")).all() == []
    theirs.dispose()


def one_sentence(refused: pytest.ExceptionInfo[WorkshopError]) -> bool:
    said = str(refused.value)
    return "\n" not in said and said.endswith(".") and "Traceback" not in said


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="WORKSHOP_HOME") as refused:
        Store.open(f"sqlite:///{tmp_path / 'file' / 'sub' / 'a.db'}")
    assert one_sentence(refused)


@pytest.mark.real
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """As somebody else: root may write everywhere."""
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o555)
    code = (
        "import os, sys\n"
        "from workshop.store.store import Store\n"
        "from workshop.core.errors import BadInput\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "try: Store.open(sys.argv[1])\n"
        "except BadInput as refused: print(refused)\n"
    )
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o011)
    said = subprocess.run(
        [sys.executable, "-c", code, f"sqlite:///{folder / 'a.db'}"], capture_output=True, text=True, timeout=limit(60)
    )
    assert "can't be written" in said.stdout and "WORKSHOP_HOME" in said.stdout, said
    assert said.stderr == "" and said.stdout.count("\n") == 1


@pytest.mark.parametrize("content", [b"This is a photo, not a database." * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "workshop.db"
    file.write_bytes(content)
    with pytest.raises(BadInput, match="damaged") as refused:
        Store.open(f"sqlite:///{file}")
    assert one_sentence(refused) and str(file) in str(refused.value)
    assert file.read_bytes() == content, "nothing is lost"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("nonsense", "can't be read"),
        ("postgresql://me:hun@ter2@host/database", "%40"),
        ("sqlite:///:memory:", "no file"),
        ("mysql://me:hunter2@host/database", "'mysql'"),
        ("postgresql://me:hunter2@127.0.0.1:1/database", "refused"),
        ("postgresql:///database?host=/nowhere&password=hunter2", "doesn't answer"),
    ],
)
def test_urls_that_lead_nowhere(url: str, says: str) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        database.Database(url)
    assert one_sentence(refused)
    assert "hunter2" not in str(refused.value) and "ter2" not in str(refused.value) and refused.value.__cause__ is None


def test_a_wrong_password_is_not_told(postgres: Server) -> None:
    url = postgres.new_database().replace("tester@", "guarded:hunter2@")
    with pytest.raises(BadInput, match="authentication failed") as refused:
        Store.open(url)
    assert one_sentence(refused) and "hunter2" not in str(refused.value)


def test_a_right_password_is_not_told_either(postgres: Server) -> None:
    url = postgres.new_database()
    Store.open(url).close()
    with pytest.raises(WorkshopError, match="permission denied") as refused:
        Store.open(url.replace("tester@", f"guarded:{PASSWORD.replace(' ', '%20')}@"))
    assert one_sentence(refused) and PASSWORD not in str(refused.value)
    assert PASSWORD.replace(" ", "%20") not in str(refused.value)


def test_a_server_that_went_away_and_came_back(postgres: Server) -> None:
    url = postgres.new_database()
    with Store.open(url) as store:
        run = new_run(store)
        admin = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
        with admin.connect() as connection:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            connection.execute(text(others + "AND datname = current_database()"))
        admin.dispose()
        assert until(lambda: store.run(run).id == run, 20, "the store to answer again")


MOUNTS = [("/", "ext4"), ("/home", "nfs4"), ("/home/local disk", "xfs"), ("/over", "nfs"), ("/over", "tmpfs")]


def mounted(monkeypatch: pytest.MonkeyPatch, mounts: list[tuple[str, str]]) -> None:
    found = [SimpleNamespace(mountpoint=point, fstype=kind) for point, kind in mounts]
    monkeypatch.setattr("psutil.disk_partitions", lambda all: found)


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", None), ("/home/ada/not/yet/there", "nfs4"), ("/home/local disk/ada", None), ("/over/x", None)],
)
def test_network_file_systems(monkeypatch: pytest.MonkeyPatch, path: str, kind: str | None) -> None:
    mounted(monkeypatch, MOUNTS)
    assert network_filesystem(Path(path)) == kind


def test_a_store_on_a_network_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, [("/", "ext4"), (f"{tmp_path}/nfs", "nfs4")])
    with pytest.raises(BadInput, match=r"nfs4.*local disk.*PostgreSQL") as refused:
        Store.open(f"sqlite:///{tmp_path / 'nfs' / 'workshop.db'}")
    assert one_sentence(refused)
    assert not (tmp_path / "nfs").exists()


def test_whoever_asks_for_changes_hears_of_those_of_others_only_once(url: str) -> None:
    with Store.open(url) as watching, Store.open(url) as writing:
        changes = watching.database.changes()
        assert changes.any() and not changes.any()
        new_run(writing)
        until(changes.any, limit(5), "the change is seen")
        assert not changes.any()
        with watching.database.reading() as connection:
            connection.execute(tables.runs.select()).all()
        assert not changes.any(), "reading is no change"
        changes.close()
        assert changes.any(), "what was written meanwhile is unknown"
        changes.close()
