"""The proof that the house grows by adding rooms: the package that `workshop new workload` writes, in an environment of
its own, shows itself everywhere; taken away again, its runs can still be read."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import limit
from tests.web import seed
from workshop.cli import new
from workshop.store.store import Store

NAME, LAB = "pi_darts", "pi-darts"


BROKEN = "The extension broken (not_there:EXTENSION) can't be loaded: No module named 'not_there'"
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
COMMAND = "from workshop.cli import main; main()"

# What the conductor does at the end of a run.
FINISH = """
import json, sys
from dataclasses import replace
from workshop.report.verdict import verdict
from workshop.store.store import Store

with Store.open() as store:
    run, metrics = store.run(int(sys.argv[1])), json.loads(sys.argv[2])
    said = verdict(replace(run, status="completed", metrics=metrics), store.totals(run.id))
    store.finish(run.id, "completed", metrics=metrics, verdict=said)
"""

# What a run's page shows, and the dashboard's pages.
SHOW = """
import json, sys
from workshop import registry
from workshop.report.panels import panels
from workshop.report.snapshot import Snapshot
from workshop.store.store import Store

with Store.open() as store:
    snapshot = Snapshot(store, store.run(int(sys.argv[1])))
    cards = {card.name: [part["kind"] for part in card.parts] for panel in panels(snapshot)
             for card in panel.show(snapshot)}
    print(json.dumps({"cards": cards, "verdict": snapshot.run.verdict,
                      "pages": {page.name: page.function for page in registry.pages()}}))
"""

# The page itself, as Streamlit draws it.
PAGE = """
from streamlit.testing.v1 import AppTest
from workshop.web.pages import frame
from workshop.store.records import Identity

frame.visitor = lambda: Identity(1, "learner", "ada", 0.0)  # whom the door would have let in
drawn = AppTest.from_string("from pi_darts_workshop.page import main\\nmain()", default_timeout=60).run()
print([error.message for error in drawn.exception], drawn.header[0].value, len(drawn.dataframe[0].value))
"""


@dataclass(frozen=True)
class Environment:
    """A Python environment of a test's own, which sees all packages of ours beside its own."""

    folder: Path

    @property
    def packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.folder)}))

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        """A Python command. It fails the test unless it returns 0."""
        command = [str(self.folder / "bin" / "python"), *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit(300), cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done

    def workshop(self, *words: object) -> str:
        """What `workshop` with these words prints; the broken extension is named whatever they are."""
        done = self.run("-c", COMMAND, *words)
        assert BROKEN in done.stderr
        return done.stdout

    def install(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(self.packages)

    def uninstall(self, wheel: Path) -> None:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                (self.packages / name).unlink()


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """A new environment, with a broken extension in it."""
    made = Environment(tmp_path / "environment")
    venv.EnvBuilder(symlinks=True).create(made.folder)
    # Our packages, and the source that an editable installation names in a file of their folder.
    ours = sysconfig.get_path("purelib")
    (made.packages / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n")
    # Where mpi4py looks for the MPI's library: in the environment of the Python that runs.
    for library in Path(sys.prefix, "lib").iterdir():
        if not library.name.startswith("python"):
            (made.folder / "lib" / library.name).symlink_to(library)
    for program in Path(sys.prefix, "bin").iterdir():  # the MPI's, too
        if not (link := made.folder / "bin" / program.name).exists():
            link.symlink_to(program)
    broken = made.packages / "broken-0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 0\n")
    (broken / "entry_points.txt").write_text("[workshop.extensions]\nbroken = not_there:EXTENSION\n")
    return made


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """The package, built as pip would build it. Neither pip nor uv is asked, since they may be missing or want a
    network: the build back end is among our packages, and a wheel without programs only has to be unpacked."""
    package = new.write_workload(NAME, tmp_path)
    command = [sys.executable, "-c", BUILD, str(tmp_path)]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, timeout=limit(120))
    assert done.returncode == 0, done.stderr
    (built,) = tmp_path.glob("*.whl")
    return built


@pytest.mark.real
def test_it_shows_itself_everywhere_and_its_runs_outlive_it(
    environment: Environment, wheel: Path, store: Store, tmp_path: Path
) -> None:
    environment.install(wheel)
    assert f"{NAME} " in environment.workshop("run", "--help")
    assert "--darts" in environment.workshop("run", NAME, "--help")
    assert "Pi with darts" in environment.workshop("labs", "list")
    assert "nothing is wrong" in environment.workshop("labs", "check", LAB)
    assert "Pi with darts" in environment.workshop("quiz", "list")
    handed_out = json.loads(environment.workshop("labs", "copy", "--to", tmp_path / "mine", "--json"))["copies"]
    (notebook,) = [copied["path"] for copied in handed_out if copied["name"].endswith(f"-{LAB}.ipynb")]
    text = Path(notebook).read_text()
    assert "BEGIN SOLUTION" not in text
    assert "comm.allreduce(hits)" not in text
    lab = f"import workshop; lab = workshop.lab({LAB!r}); print(lab.name, lab.described.exercises)"
    assert environment.run("-c", lab).stdout == f"{LAB} ('estimate',)\n"

    told = json.loads(environment.run("-m", "workshop.engine", NAME, "--steps", "20", "--output", tmp_path).stdout)
    assert told["metrics"]["error"] < 0.02
    run = stored(store, tmp_path / "events-0.jsonl")
    environment.run("-c", FINISH, run, json.dumps(told["metrics"]))
    shown = json.loads(environment.run("-c", SHOW, run).stdout)
    assert shown["verdict"]["verdict"].startswith("Pi is about 3.1")
    assert shown["cards"]["pi"] == ["tiles", "figure"]
    assert shown["pages"][LAB] == f"{NAME}_workshop.page:main"
    assert environment.run("-c", PAGE).stdout.strip() == "[] Pi darts 1"

    environment.uninstall(wheel)
    assert NAME not in environment.workshop("run", "--help")
    assert LAB not in environment.workshop("labs", "list") + environment.workshop("quiz", "list")
    later = json.loads(environment.run("-c", SHOW, run).stdout)
    assert later["verdict"] == shown["verdict"]
    assert "pi" not in later["cards"]
    assert {"verdict", "estimate", "total darts/s", "metrics"} <= later["cards"].keys()
    assert LAB not in later["pages"]
    assert "Pi is about 3.1" in environment.workshop("runs", "show", run)
    assert NAME in environment.workshop("runs", "list")


def stored(store: Store, events: Path) -> int:
    """A run of the workload on two ranks that goes on, with what one rank told for both; returns its number."""
    session = seed.session(store)
    submitted = store.submit(session.id, NAME, {"steps": 20}, seed.PLACEMENT)
    assert store.take_next(session.id) is not None
    store.set_run(submitted.id, rank_map=session.rank_map, machine=session.machine)
    told = [json.loads(line) for line in events.read_text().splitlines()]
    for rank in (0, 1):
        mine = [one for one in told if rank == 0 or one["name"].startswith("time.")]
        store.add_events(submitted.id, rank, 1, [(one["time"], one["name"], one["step"], one["value"]) for one in mine])
    return submitted.id
