"""What an OpenFL federation came to: metrics as the workload `federated` has them, and what was seen of its faults."""

from __future__ import annotations

import hashlib
import time
from typing import Any

import numpy as np

from workshop.workloads.openfl.environment import OPENFL
from workshop.workloads.openfl.parties import Aggregator, home
from workshop.workloads.openfl.telling import Telling

WAY = "federated"


def conditions(telling: Telling, ranks: int, parameters: int) -> dict[str, Any]:
    """What is known before the first round."""
    task, about = telling.task, telling.task.about
    return {
        **task.known,
        "openfl": OPENFL,
        "measure": task.measure,
        "ways": [WAY],
        "algorithm": "fedavg",
        "parameters": parameters,
        "bytes_model": 4 * parameters,
        "held_out_images": len(task.held_out[1]),
        "train_images": sum(one["images"] for one in about),
        "institutions": [{"rank": home(one, ranks), **dict(known)} for one, known in enumerate(about)],
    }


def metrics(telling: Telling, aggregator: Aggregator, stopped: bool) -> dict[str, Any]:
    """At the end. Seconds are None where no round has ended; `seconds_start` is all that was before the first round
    began, keys and imports included, `seconds_stop` all that was after the last one."""
    ranks, params = telling.ctx.size, telling.params
    known = conditions(telling, ranks, telling.learner.parameters)
    each = _seconds_per_round(telling)
    held_out = [sums.mean_score for sums in telling.held_out]
    last = telling.held_out[-1] if telling.held_out else None
    own = telling.own[-1] if telling.own else None
    for one, institution in enumerate(known["institutions"]):
        institution["took_part"] = aggregator.took_part(one)
        institution["own_score"] = {WAY: telling.score(one, telling.number)}
    took_part = sum(one["took_part"] for one in known["institutions"])
    found = {
        **known,
        "by_way": {
            WAY: {
                "held_out_score": held_out[-1] if held_out else None,
                "own_score": own,
                "images_read": sum(params.epochs * one["images"] * one["took_part"] for one in known["institutions"]),
                "held_out": held_out,
                "own": telling.own,
            }
        },
        "held_out_loss": last.mean_loss if last else None,
        f"held_out_{telling.task.measure}": held_out[-1] if held_out else None,
        f"own_{telling.task.measure}": own,
        "loss": telling.loss,
        "drift": None,  # OpenFL shows nobody single updates
        "dropped": [],
        "participants": took_part / telling.number if telling.number else 0.0,
        "rounds": telling.number,
        "stopped": stopped,
        "seconds_per_round": each,
        "images_per_second": telling.images / each if each else None,
        **{name: telling.listed(name) for name in ("fx", "certificates", "faults")},
        **_around(telling, each),
    }
    if telling.digest:
        found["model_digest"] = hashlib.sha256(telling.digest).hexdigest()
    if telling.task.notices:
        found["notices"] = list(telling.task.notices)
    return found


def _seconds_per_round(telling: Telling) -> float | None:
    """The mean over all rounds but the first, in which collaborators start and TensorFlow compiles, as the workload
    `federated` reckons; of the only one where there are no more."""
    took = [float(np.diff(pair)[0]) for pair in zip(telling.ended_at, telling.ended_at[1:], strict=False)]
    if took:
        return float(np.mean(took))
    return float(telling.rounds[0]["elapsed_seconds"]) if telling.number else None


def _around(telling: Telling, each: float | None) -> dict[str, float | None]:
    if each is None:
        return {"seconds_start": None, "seconds_stop": None}
    return {
        "seconds_start": max(telling.ended_at[0] - telling.began - each, 0.0),
        "seconds_stop": max(time.monotonic() - telling.ended_at[-1], 0.0),
    }


def observe(telling: Telling, aggregator: Aggregator) -> None:
    """Tell in sentences what came of a process that was killed on purpose."""
    params = telling.params
    if params.fault == "dies":
        one = params.collaborators - 1
        gone = telling.gone.get(one, {})
        waited = [telling.rounds[number]["elapsed_seconds"] for number in range(1, telling.number)]
        telling.fault(
            f"Institution {one + 1} was killed in round {int(gone.get('round') or 0) + 1}, after it had taken part in "
            f"{aggregator.took_part(one)} of {telling.number} rounds. With a straggler policy in the plan the others "
            f"went on without it; each round from then on took {np.mean(waited):.1f} s, since OpenFL never learns that "
            f"it is dead and waits {params.patience:g} s for it again in every round."
        )
        if aggregator.left:
            telling.fault(
                "When all rounds were over, OpenFL's aggregator went on waiting for it, to tell it that it may go: it "
                "was ended by us."
            )
    if params.fault == "restart" and aggregator.restarted is not None:
        following = [number for number in telling.order[aggregator.restarted :]]
        went_on = f"went on with round {following[0] + 1}" if following else "went on with no round"
        again = [one for one, said in telling.gone.items() if said["code"] != 0]
        others = "no collaborator had to be" if not again else f"{len(again)} collaborators had ended"
        telling.fault(
            f"The aggregator was killed after round {aggregator.restarted} and started again: it read what it had kept "
            f"and {went_on}, since its plan has persist_checkpoint: true; {others} started again."
        )
