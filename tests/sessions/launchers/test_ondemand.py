"""The app for Open OnDemand (deploy/ondemand): its templates, rendered and run in a job of a real Slurm in the order
that OnDemand's documentation gives for the template `basic`."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

import pytest
import yaml

from tests.conftest import leftovers
from tests.slurm import NODES, Slurm
from tests.support import limit, need, until
from workshop.sessions import client
from workshop.store.store import Store

ROOT = Path(__file__).parents[3]
APP = ROOT / "deploy" / "ondemand"
CLUSTERS = {"data": "blobs", "points": 3000, "clusters": 5, "iterations": 20, "backend": "numpy"}
SITE = "ondemand.example.org"
# Attributes are methods: those of the form of `context` in templates, else of what a template is rendered in.
RENDER = """
require "erb"
require "json"
context = Object.new
JSON.parse(ARGV[1]).each { |name, value| context.define_singleton_method(name) { value } }
scope = context.instance_eval { binding }
scope.local_variable_set(:context, context)
print ERB.new(File.read(ARGV[0]), trim_mode: "-").result(scope)
"""
SHELLCHECK = ["shellcheck", "--shell=bash", "--exclude=SC2034,SC2154"]  # the scripts and OnDemand share variables
# What OnDemand makes of the template `basic`: helpers, before, the script, after, the connection, clean.
JOB = """#!/bin/bash
cd {folder}
find_port () {{
  "{python}" -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}}
export -f find_port
export host port
clean_up () {{
  if [ -e clean.sh ]; then source clean.sh; fi
  pkill -P "$SCRIPT_PID"
  pkill -P $$
  exit "$1"
}}
host=$(hostname)
source before.sh
./script.sh &
SCRIPT_PID=$!
if [ -e after.sh ]; then source after.sh; fi
(umask 077; for name in {parameters}; do echo "$name: ${{!name}}"; done >connection.yml)
wait "$SCRIPT_PID" || clean_up 1
clean_up 0
"""


def rendered(file: Path, **attributes: str) -> str:
    words = ["ruby", "-e", RENDER, str(file), json.dumps(attributes)]
    return subprocess.run(words, capture_output=True, text=True, timeout=limit(20), check=True).stdout


def scripts(folder: Path, attributes: dict[str, str]) -> Path:
    """The folder of a job, with the rendered scripts in it."""
    (folder / "job").mkdir()
    for file in (APP / "template").iterdir():
        script = folder / "job" / file.stem
        script.write_text(rendered(file, **attributes))
        script.chmod(file.stat().st_mode)
    return folder / "job"


@pytest.fixture
def attributes(workshop_home: Path) -> dict[str, str]:
    """The form's, with what this centre sets and what an instructor enters; all of them text, as OnDemand has them."""
    need(shutil.which("ruby"), "Ruby (apt-get install ruby)")
    form = yaml.safe_load((APP / "form.yml").read_text())
    assert set(form["attributes"]) <= set(form["form"])
    chosen = {name: str(each.get("value", "")) for name, each in form["attributes"].items() if isinstance(each, dict)}
    path = os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ["PATH"]])
    variables = {"PATH": path, "WORKSHOP_HOME": str(workshop_home), "PYTHONPATH": str(ROOT)}
    setup = "\n".join(f"export {name}={shlex.quote(value)}" for name, value in variables.items())
    return {**chosen, "setup": setup, "proxy": "127.0.0.1"}


@pytest.mark.real
def test_scripts_are_good_shell(attributes: dict[str, str], tmp_path: Path) -> None:
    need(shutil.which("shellcheck"), "shellcheck (apt-get install shellcheck)")
    words = [*SHELLCHECK, *map(str, scripts(tmp_path, attributes).iterdir())]
    checked = subprocess.run(words, capture_output=True, text=True, timeout=limit(20))
    assert checked.returncode == 0, checked.stdout


@pytest.mark.real
def test_a_class_in_a_job(
    attributes: dict[str, str], cluster: Slurm, tmp_path: Path, workshop_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = yaml.safe_load(rendered(APP / "submit.yml.erb", **attributes))
    assert submit["batch_connect"]["template"] == "basic"
    folder = scripts(tmp_path, attributes)
    parameters = ["host", "port", "password", *submit["batch_connect"]["conn_params"]]
    job = folder / "job.sh"
    job.write_text(JOB.format(folder=folder, python=sys.executable, parameters=" ".join(parameters)))
    log, connection = folder / "output.log", folder / "connection.yml"
    # OnDemand gives jobs nothing of its own environment.
    words = ["sbatch", "--parsable", "--export=NONE", "-o", str(log), *submit["script"]["native"], str(job)]
    number = cluster.ask(*words)
    until(lambda: connection.exists() and connection.read_text().endswith("\n"), 180, "the dashboard to answer")
    told = yaml.safe_load(connection.read_text())
    assert told["token"], log.read_text()
    for file in (connection, folder / "links.json"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert told["token"] not in log.read_text()

    # The instructor presses the button in OnDemand, whose Apache passes the whole path and names itself in another way.
    view = rendered(APP / "view.html.erb", **{name: str(value) for name, value in told.items()})
    (action,) = re.findall(r'<form action="([^"]+)" method="post"', view)
    ((name, value),) = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)">', view)
    assert value not in action, "web servers log addresses"

    def ask(method: str, path: str, body: str = "", **headers: str) -> HTTPResponse:
        line = HTTPConnection("127.0.0.1", told["port"], timeout=limit(30))
        forwarded = {"X-Forwarded-Host": SITE, "X-Forwarded-Proto": "https", "Host": f"{told['host']}:{told['port']}"}
        line.request(method, path, body, {**forwarded, **headers})
        return line.getresponse()

    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"https://{SITE}"}
    answer = ask("POST", action, urlencode({name: value}), **form)
    assert (answer.status, answer.headers["Location"]) == (303, "./")
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    base = action.rpartition("/")[0]
    assert ask("GET", f"{base}/", Accept="text/html").headers["Location"] == "./join", "a stranger"
    assert ask("GET", f"{base}/", Accept="text/html", Cookie=cookie).status == 200

    # The class has the job's ranks on both nodes. Its store is on a local disk until the class ends.
    assert not (workshop_home / "workshop.db").exists()
    (url,) = {process.environ().get("WORKSHOP_DATABASE_URL", "") for process in leftovers(workshop_home)} - {""}
    monkeypatch.setenv("WORKSHOP_DATABASE_URL", url)
    with Store.open() as store:
        run = client.submit(store, store.session("workshop"), "kmeans", CLUSTERS)
        done = client.wait(store, run.id, timeout=limit(120))
        assert done.status == "completed", done.error
        assert len(done.rank_map["ranks"]) == int(attributes["ranks"])
        if cluster.told_apart:
            assert {rank["host"] for rank in done.rank_map["ranks"]} == set(NODES[: int(attributes["nodes"])])
    assert cluster.jobs() == [number]

    cluster.ask("scancel", "--batch", "--signal=TERM", number)  # as Slurm does before the end of the job's time
    until(lambda: not cluster.jobs(), 60, "the job to end")
    assert not Path(url.removeprefix("sqlite:///")).parent.exists()
    monkeypatch.delenv("WORKSHOP_DATABASE_URL")
    with Store.open() as store:
        assert store.session("workshop").state == "stopped", log.read_text()
        assert store.run(run.id).status == "completed"
