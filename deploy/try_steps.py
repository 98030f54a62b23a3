"""Runs each step of deploy/Containerfile without an engine for containers: in root file systems that begin as a clean
Debian, in a user namespace. `python deploy/try_steps.py BASE.tar FOLDER`; BASE.tar comes from `mmdebstrap
--variant=minbase bookworm BASE.tar`. FROM, COPY, ENV, WORKDIR, USER and RUN are obeyed. The base image, layers and the
network of containers are not tried, nor CMD and HEALTHCHECK; at the end the image's user starts a run of two ranks.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
AGAIN = "WORKSHOP_IN_NAMESPACE"
PASSED = ("SSL_CERT_FILE", "PIP_EXTRA_INDEX_URL")  # how this machine reaches registries
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def instructions(text: str) -> list[tuple[str, str]]:
    """The names of a Containerfile's instructions and what follows each, on one line."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


class Stage:
    """A root file system and what ENV, WORKDIR and USER have said."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment, self.place, self.user = folder, environment, "/", "0:0"

    def run(self, command: str) -> None:
        settings = [f"{name}={value}" for name, value in self.environment.items()]
        accounts = [line.split(":") for line in (self.folder / "etc" / "passwd").read_text().splitlines()]
        (home,) = (account[5] for account in accounts if account[2] == self.user.partition(":")[0])
        inside = ["env", "-i", f"HOME={home}", *settings, "sh", "-c", f"cd {shlex.quote(self.place)} && {command}"]
        subprocess.run(["chroot", f"--userspec={self.user}", str(self.folder), *inside], check=True)


def copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def begin(folder: Path) -> None:
    """What an engine gives each container: devices, processes, names of hosts; and this machine's certificates."""
    for name in ("dev", "sys"):
        (folder / name).mkdir(exist_ok=True)
        subprocess.run(["mount", "--rbind", f"/{name}", str(folder / name)], check=True)
    # Of this namespace's processes: MPI binds ranks by what it reads there.
    subprocess.run(["mount", "-t", "proc", "proc", str(folder / "proc")], check=True)
    for name in ("/etc/resolv.conf", "/etc/hosts", CERTIFICATES):
        target = folder / name[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
        subprocess.run(["mount", "--bind", name, str(target)], check=True)


def steps(base: Path, folder: Path) -> None:
    stages: dict[str, Stage] = {}
    stage = Stage(folder, {})
    for name, rest in instructions((ROOT / "deploy" / "Containerfile").read_text()):
        print(f"{time.strftime('%H:%M:%S')} {name} {rest}", flush=True)
        words = rest.split()
        if name == "FROM":
            image, _, own = words
            parent = stages.get(image)
            stage = Stage(
                folder / own, dict(parent.environment) if parent else {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
            )
            stage.environment |= {key: os.environ[key] for key in PASSED if key in os.environ}
            stages[own] = stage
            stage.folder.mkdir(parents=True)
            if parent:
                words = [
                    "--one-file-system",
                    "--exclude=./dev/*",
                    "--exclude=./proc/*",
                    "--exclude=./sys/*",
                    "-cf",
                    "-",
                    ".",
                ]
                with subprocess.Popen(["tar", "-C", parent.folder, *words], stdout=subprocess.PIPE) as made:
                    subprocess.run(["tar", "-C", stage.folder, "-xpf", "-"], stdin=made.stdout, check=True)
            else:
                subprocess.run(["tar", "-C", stage.folder, "--exclude=./dev/*", "-xpf", base], check=True)
            begin(stage.folder)
        elif name == "COPY" and words[0].startswith("--from="):
            copied(stages[words[0][7:]].folder / words[1][1:], stage.folder / words[2][1:])
        elif name == "COPY":  # of the project, what git knows; an engine leaves out what .containerignore names
            listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
            for file in filter(None, listed.decode().split("\0")):
                copied(ROOT / file, stage.folder / words[1][1:] / file)
        elif name == "ENV":
            key, _, value = rest.partition("=")
            stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
        elif name == "WORKDIR":
            stage.place = rest
        elif name == "USER":
            stage.user = rest
        elif name == "RUN":
            stage.run(rest)
    stage.run("workshop run kmeans --ranks 2")


if __name__ == "__main__":
    if AGAIN not in os.environ:
        namespace = ["unshare", "--user", "--map-root-user", "--map-auto", "--mount", "--pid", "--fork"]
        os.execvpe(namespace[0], [*namespace, sys.executable, *sys.argv], os.environ | {AGAIN: "1"})
    steps(Path(sys.argv[1]), Path(sys.argv[2]))
