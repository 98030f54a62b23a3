"""What sessions on Slurm ask for and read, without a Slurm: the template, the options, the commands' words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import mpis
from tests.support import limit
from workshop.core import machines
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Host, Placement
from workshop.sessions.launchers import site
from workshop.sessions.launchers.slurm import HOLD_SCRIPT, Site, commands, queue, script
from workshop.sessions.launchers.slurm.commands import Job

TEMPLATE = "#!/bin/sh\n#SBATCH --ntasks={ranks}\nmodule load gcc/${VERSION}\n{hold}\n"
SECRETS = {"WORKSHOP_DATABASE_URL": "postgresql://user:secret@host/db", "IPP_CONNECTION_INFO": "{}", "TOKEN": "x"}
VALUES = dict.fromkeys(script.PLACEHOLDERS, None) | {"hold": "bash hold.sh", "ranks": 6}


def directives(text: str) -> dict[str, str]:
    return dict(line.removeprefix("#SBATCH --").split("=", 1) for line in text.splitlines() if "#SBATCH" in line)


def test_the_default_template_says_what_was_asked_for_and_nothing_else():
    text = script.DEFAULT.read_text()
    assert script.placeholders(text) == set(script.PLACEHOLDERS)
    placement = Placement(ranks=5, map_by="node", per_resource=2, cores_per_rank=3)
    values = VALUES | script.shape(placement, None) | {"time": 30, "account": "physics"}
    filled = script.fill(text, values)
    assert directives(filled) == {
        "account": "physics",
        "time": "30",
        "nodes": "3",
        "ntasks": "5",
        "ntasks-per-node": "2",
        "cpus-per-task": "3",
        "hint": "nomultithread",
    }
    assert filled.splitlines()[-1] == "bash hold.sh"


@given(
    ranks=st.integers(1, 1024),
    per_node=st.none() | st.integers(1, 64),
    nodes=st.none() | st.integers(1, 1024),
)
@settings(max_examples=100, deadline=None)
def test_nodes_and_ranks_per_node_have_room_for_all_ranks(ranks: int, per_node: int | None, nodes: int | None):
    placement = Placement(ranks=ranks, map_by="node" if per_node else "auto", per_resource=per_node)
    shape = script.shape(placement, nodes)
    assert (shape["nodes"] is None) == (shape["ranks_per_node"] is None)
    if shape["nodes"] is not None and (nodes is None or per_node is None):
        assert shape["nodes"] * shape["ranks_per_node"] >= ranks
        assert (shape["nodes"] - 1) * shape["ranks_per_node"] < ranks or nodes is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TEMPLATE.replace("{hold}", "{keep}"), r"Line 4 of the template has \{keep\}, which is not one of hold, ranks"),
        (TEMPLATE.replace("{hold}", "sleep 100"), r"has no \{hold\}: the command that holds"),
        (TEMPLATE.replace("{ranks}", "4"), r"has no \{ranks\}: number of ranks"),
        (TEMPLATE.removeprefix("#!"), "Line 1 of the template should name the shell"),
        (TEMPLATE + "\0", "not an sbatch template"),
    ],
)
def test_what_is_wrong_with_a_template_is_named(tmp_path: Path, text: str, words: str):
    (tmp_path / "t").write_text(text)
    with pytest.raises(BadInput, match=words):
        script.options(Placement(), template=tmp_path / "t")


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({"partition": "main\n#SBATCH --uid=0"}, "--partition is"),
        ({"partition": "--uid=0"}, "--partition is '--uid=0': it should be a name"),
        ({"time": "٣"}, "--time"),
        ({"nodes": "3"}, "at most one for each rank"),
        ({"wait": "-1"}, "--wait"),
    ],
)
def test_bad_options_are_named(given_: dict[str, str], words: str):
    with pytest.raises(BadInput, match=words):
        script.options(Placement(ranks=2), **given_)


@given(st.sampled_from(["partition", "account"]), st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_value_adds_a_line_to_the_script(name: str, value: str):
    try:
        chosen = script.options(Placement(ranks=2), **{name: value})
    except BadInput as error:
        assert name in str(error)
        return
    values = VALUES | chosen
    empty = script.fill(chosen["template"], values | {name: None})
    assert len(script.fill(chosen["template"], values).splitlines()) == len(empty.splitlines()) + 1


def test_hosts_are_slurms_to_choose():
    hosts = Placement(ranks=1, hosts=(Host(name="n1"),))
    with pytest.raises(BadInput, match="Slurm chooses the hosts"):
        script.options(hosts)
    chosen = script.options(Placement(ranks=2))
    with pytest.raises(BadInput, match="leave them out"):
        site.check(chosen, hosts)
    with pytest.raises(BadInput, match="asked Slurm for 2 cores, which take at most 16"):
        site.check(chosen, Placement(ranks=17))
    site.check(chosen, Placement(ranks=16))


@pytest.mark.parametrize("mpi", ["mpich", "intelmpi"])
def test_what_an_mpi_has_no_words_for_is_refused_before_anything_queues(workshop_home: Path, mpi: str):
    mpis.use(workshop_home, mpi)
    chosen = script.options(Placement(ranks=8))
    with pytest.raises(BadInput, match="has no words for 2 ranks per package"):
        site.check(chosen, Placement(ranks=4, mpi=mpi, map_by="package", per_resource=2))
    # Nodes may have the packages that the login node, where this is asked, lacks.
    many = Placement(ranks=8, mpi=mpi, map_by="package", bind_to="package", per_resource=1)
    site.check(chosen, many)
    with pytest.raises(BadInput, match="it has 4"):
        script.arguments(chosen, many, machines.synthetic("4x2").machine)


@pytest.mark.real
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--partition", "main"], "--partition is for a session on Slurm; give --slurm, too."),
        (["--slurm"], "Slurm's sbatch is not on this machine's PATH"),
    ],
)
def test_options_of_the_command_line(workshop_home: Path, words: list[str], said: str):
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "session", "start", *words]
    ended = subprocess.run(
        command, env=os.environ | {"PATH": "/nowhere"}, capture_output=True, text=True, timeout=limit(30)
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(said)
    assert len(ended.stderr.splitlines()) == 1


# What the commands say.


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_other_lines_are_refused(line: str):
    try:
        commands.read_job(line)
    except WorkshopError as error:
        assert "squeue says" in str(error)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "sbatch: error: invalid partition specified: nosuch\n"
            "sbatch: error: Batch job submission failed: Invalid partition name specified\n",
            "invalid partition specified: nosuch; Invalid partition name specified",
        ),
    ],
)
def test_what_sbatch_says(said: str, words: str):
    assert commands.refusal(said) == words


@given(st.lists(st.tuples(st.integers(1, 64), st.integers(1, 9)), min_size=1, max_size=4), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_slots_are_the_cores_that_were_asked_for(nodes: list[tuple[int, int]], cores: int):
    told = ",".join(f"{tasks}(x{times})" if times > 1 else str(tasks) for tasks, times in nodes)
    expected = ",".join(f"{tasks * cores}(x{times})" if times > 1 else str(tasks * cores) for tasks, times in nodes)
    assert commands.slots(told, cores) == expected


def test_without_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="sbatch is not on this machine's PATH: start the session on a login node"):
        commands.installed()


def test_an_allocation_that_we_are_in_is_nobodys_business(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("SBATCH_PARTITION", "main")
    found = commands.environment({"SBATCH_PARTITION"})
    assert {name for name in found if name.startswith(("SLURM_", "SBATCH_"))} == {"SLURM_CONF"}


@pytest.mark.parametrize(
    ("job", "minutes", "words"),
    [
        (None, None, "it does not know it any longer"),
        (Job("17", "TIMEOUT", "TimeLimit"), 1, "its time limit of 1 minute was reached"),
        (Job("17", "FAILED", "NonZeroExitCode"), None, "its script failed (no such module)"),
        (Job("17", "NODE_FAIL", "None", nodes="n[1-3]"), None, "one of its nodes (n[1-3]) failed"),
        (Job("17", "SOMETHING_NEW", "Why"), None, "SOMETHING_NEW (Why)"),
    ],
)
def test_why_a_job_ended(job: Job | None, minutes: int | None, words: str):
    said = queue.why_ended("17", job, minutes, "no such module")
    assert said.startswith(f"Slurm ended the allocation 17: {words}")


# What leaves this machine.


@pytest.mark.real
@pytest.mark.parametrize("mpi", ["openmpi", "mpich", "intelmpi"])
def test_no_secret_and_everything_needed_is_exported(
    workshop_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mpi: str
) -> None:
    if mpi != "openmpi":
        mpis.use(workshop_home, mpi)
    for name, value in {**SECRETS, "UCX_TLS": "tcp", "PYTHONPATH": "/p", "SLURM_CONF": "/c"}.items():
        monkeypatch.setenv(name, value)
    placement = Placement(ranks=2, mpi=mpi, environment={"OMP_PROC_BIND": "true"})
    made = Site(script.options(placement), tmp_path, placement)
    allocation = {"JOB_ID": "17", "JOB_NODELIST": "n", "JOB_NUM_NODES": "1"}
    told = allocation | {"TASKS_PER_NODE": "2", "JOB_CPUS_PER_NODE": "2"}
    monkeypatch.setattr(made, "_allocation", {f"SLURM_{name}": value for name, value in told.items()})
    launch = made.launch(placement, {"NEEDED": "x"})
    # As ipyparallel starts it, up to the launcher itself.
    *before, _ = launch.command
    asked = [*before, sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]
    variables = os.environ | launch.environment | {"IPP_PROFILE_DIR": "/profile"}
    had = json.loads(subprocess.run(asked, env=variables, capture_output=True, check=True).stdout)
    assert not SECRETS.keys() & had.keys()
    needed = {"NEEDED", "OMP_PROC_BIND", "OMP_NUM_THREADS", "WORKSHOP_HOME", "IPP_PROFILE_DIR", "PATH", "HOME"}
    assert had.keys() >= needed | {"UCX_TLS", "PYTHONPATH", "SLURM_CONF"}
    assert had["SLURM_JOB_ID"] == "17"


@pytest.mark.real
def test_slurms_commands_get_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sbatch and srun send all that they have."""
    (tmp_path / "sbatch").write_text(f'#!/bin/sh\nenv >{tmp_path}/env\necho "$@" >{tmp_path}/words\necho 17\n')
    (tmp_path / "sbatch").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name, value in {**SECRETS, "SBATCH_QOS": "high", "MODULEPATH": "/m", "SBATCH_PARTITION": "main"}.items():
        monkeypatch.setenv(name, value)
    number = commands.submit("#!/bin/sh\n", tmp_path, {"partition": "other"}, "w-1", tmp_path / "100%" / "out")
    assert number == "17"
    names = {line.partition("=")[0] for line in (tmp_path / "env").read_text().splitlines()}
    assert not names & {*SECRETS, "SBATCH_PARTITION"}
    assert names >= {"PATH", "HOME", "SBATCH_QOS", "MODULEPATH"}
    # By its name a job is found that nobody knows the number of, whatever a template says.
    words = (tmp_path / "words").read_text().split()
    assert {"--job-name=w-1", f"--output={tmp_path}/100%%/out"} <= set(words)


# What holds the allocation.


def hold(folder: Path) -> subprocess.CompletedProcess[str]:
    words = ["bash", str(HOLD_SCRIPT), str(folder), "0a1b", "1", "1"]
    told = {"SLURM_JOB_ID": "17", "SLURM_JOB_NODELIST": "n[1-3]", "PATH": "/usr/bin:/bin"}
    return subprocess.run(words, env=told, capture_output=True, text=True, timeout=limit(30))


@pytest.mark.real
def test_a_job_ends_when_its_conductor_is_silent(tmp_path: Path):
    (tmp_path / "alive-0a1b").write_text("0\n")
    ended = hold(tmp_path)
    assert ended.returncode == 0
    assert ended.stderr == "the conductor has been silent for 1 seconds\n"
    assert (tmp_path / "allocation-0a1b").read_text() == "SLURM_JOB_ID=17\nSLURM_JOB_NODELIST=n[1-3]\n"


@pytest.mark.real
def test_a_forgotten_job_that_begins_late_ends_at_once(tmp_path: Path):
    """Signs of life of the session's next job are none of its business."""
    (tmp_path / "alive-ffff").write_text("0\n")
    assert hold(tmp_path).returncode == 1
    assert [file.name for file in tmp_path.iterdir()] == ["alive-ffff"]


@pytest.mark.real
def test_a_node_that_does_not_see_the_session(tmp_path: Path):
    ended = hold(tmp_path / "elsewhere")
    assert ended.returncode == 1
    assert f"does not see {tmp_path / 'elsewhere'}" in ended.stderr


def test_the_documentation_names_every_placeholder_and_shows_the_template():
    text = (Path(__file__).parents[3] / "docs" / "slurm.md").read_text()
    for name in script.PLACEHOLDERS:
        assert f"`{{{name}}}`" in text, name
    assert script.DEFAULT.read_text() in text
