"""The order in which a federation comes about: `fx` commands on both sides, and what travels between them.

What travels are three files: the workspace's archive to the institutions, each one's certificate request to the
authority, and the signed certificate back. Private keys are made where they are used and never leave that folder, the
authority's included. Here both sides are folders of one machine and of one user, who could read all of them; between
institutions they would be different machines.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.openfl import workspace
from workshop.workloads.openfl.fx import Fx, Steps

WORKSPACE = "federation"  # the name of the workspace and of its archive
CHAIN = Path("cert") / "cert_chain.crt"
SERVER = Path("cert") / "server" / f"agg_{workspace.AGGREGATOR}.crt"
SIGNING_CA = Path("cert") / "ca"  # the folder of the authority, in the workspace of the aggregator


@dataclass
class Side:
    """One party's folder: `here` is where its commands are run, `where` what it is called."""

    fx: Fx
    folder: Path
    where: str

    @property
    def here(self) -> Path:
        return self.folder / WORKSPACE

    @property
    def log(self) -> Path:
        return self.folder / "commands.log"

    def run(self, words: str, cwd: Path | None = None) -> Steps:
        return self.fx.run(words, self.where, cwd or self.here, self.log)


def certify_federation(side: Side, described: Mapping[str, Any], initial: bytes) -> Steps:
    """Make the workspace, the authority and the aggregator's certificate; returns the archive for the institutions."""
    workspace.write_workspace(side.here, described, initial)
    name = workspace.AGGREGATOR
    yield from side.run(f"fx plan initialize -a {name}")
    yield from side.run("fx workspace certify")
    yield from side.run(f"fx aggregator generate-cert-request --fqdn {name}")
    yield from side.run(f"fx aggregator certify --fqdn {name} --silent")
    yield from side.run("fx workspace export")
    return (side.here / f"{WORKSPACE}.zip").read_bytes()


def request(side: Side, name: str, archive: bytes, images: tuple[Mapping[str, NDArray[np.generic]], int]) -> Steps:
    """An institution unpacks the workspace and makes a key and a request for a certificate, which is returned. `images`
    are its arrays (see `workspace.write_images`) and its number."""
    side.folder.mkdir(mode=0o700, exist_ok=True)
    (side.folder / f"{WORKSPACE}.zip").write_bytes(archive)
    yield from side.run(f"fx workspace import --archive {WORKSPACE}.zip", side.folder)
    workspace.write_images(side.here / "data" / name, *images)
    yield from side.run(f"fx collaborator create -n {name} -d data/{name} --silent")
    yield from side.run(f"fx collaborator generate-cert-request -n {name} --silent")
    return (side.here / f"col_{name}_to_agg_cert_request.zip").read_bytes()


def sign(side: Side, name: str, request: bytes) -> Steps:
    """The authority signs a request and lists the name; returns the certificate's archive. `--silent` skips what people
    have to do: to compare the request's hash over another line."""
    package = side.here / f"col_{name}_to_agg_cert_request.zip"
    package.write_bytes(request)
    yield from side.run(f"fx collaborator certify --request-pkg {package.name} --silent")
    return (side.here / f"agg_to_col_{name}_signed_cert.zip").read_bytes()


def accept(side: Side, name: str, signed: bytes) -> Steps:
    """An institution's part again: put the certificate beside the key."""
    package = side.here / f"agg_to_col_{name}_signed_cert.zip"
    package.write_bytes(signed)
    yield from side.run(f"fx collaborator certify --import {package.name}")


def copy_certificate(source: Path, name: str, to: Path, other: str) -> None:
    """Put one workspace's key and certificate into another one under another's name."""
    folder = to / "cert" / "client"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for kind in ("key", "crt"):
        shutil.copy(source / "cert" / "client" / f"col_{name}.{kind}", folder / f"col_{other}.{kind}")


def certificate(name: str) -> Path:
    """Where a collaborator's certificate is, in its workspace."""
    return Path("cert") / "client" / f"col_{name}.crt"


def describe(side: Side, file: Path) -> Steps:
    """Subject, issuer with the key that has signed, and expiry (seconds since the epoch) of a certificate."""
    out = side.folder / "described.json"
    yield from side.run(shlex.join(["certificates.py", "describe", str(out), str(CHAIN), str(file)]))
    return json.loads(out.read_text())[0]
