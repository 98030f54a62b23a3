"""What the nodes of an allocation are asked before ranks start there: the same questions as other hosts are."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from workshop.session import preflight
from workshop.session.guard import guarded
from workshop.session.slurm import commands

SECONDS = 60.0  # that all nodes get to answer, Python's start from a shared file system included
LOOK = """
import json, sys
from workshop.session import outpost
print(json.dumps(outpost.look(json.loads(sys.argv[1]))), flush=True)
"""


def check(allocation: Mapping[str, str], count: int, folder: Path, address: str) -> list[str]:
    """Ask all nodes at once, in one step of the job; what makes one of them unfit, in sentences.

    `allocation` are Slurm's variables for the job with its `count` nodes, `folder` is the session's, which all of them
    have to see, and `address` this machine's, which they have to reach.
    """
    here = preflight.Here.described(address)
    nonce = folder / f"nonce-{secrets.token_hex(4)}"
    nonce.write_text(here.nonce)
    step = ["srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--mpi=none"]
    question = {"packages": list(preflight.PACKAGES), "nonce": str(nonce), "address": address}
    try:
        with socket.create_server((address, 0)) as door:
            asked = json.dumps(question | {"port": door.getsockname()[1]})
            done = subprocess.run(
                guarded([*step, "--input=none", sys.executable, "-c", LOOK, asked]),
                env=commands.environment() | dict(allocation),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
    except subprocess.TimeoutExpired:
        return [f"The nodes have not answered within {SECONDS:.0f} s; is their file system well?"]
    except OSError as error:
        return [f"This machine can't listen at {address} ({error.strerror}); give another address with --address."]
    finally:
        nonce.unlink()
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failures = [words for answer in answers for words in preflight.differences(answer["host"], answer, here, folder)]
    if len(answers) < count:
        said = commands.refusal(done.stderr) if done.stderr else f"srun ended with {done.returncode}"
        failures.append(f"{len(answers)} of {count} nodes have answered ({said}).")
    return failures
