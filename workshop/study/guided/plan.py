"""What the guided study is asked to do, in its quick or its thorough setting, and how long that is likely to take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Workload
from workshop.store.records import RunRecord, Trial

KIND = "path"
WORKLOAD = "sgan"
TITLE = "The article's path"
STEPS = "abcdefghi"
QUICK, THOROUGH = "quick", "thorough"
MPIS = ("openmpi", "mpich", "intelmpi")
# What the steps vary themselves, or what would keep them from being compared.
OURS = ("exchange", "inference", "evaluate_by", "evaluate_unit", "evaluate_every", "evaluate_images", "trace", "pace")
ITERATIONS = {QUICK: 100, THOROUGH: 400}
LARGEST = 64  # ranks that any step starts
# Seconds of a trial where no past run says better: new ranks, TensorFlow's import and the compilation of its steps,
# for ranks that have cores of their own; more ranks than cores take turns with all of that.
TRIAL = 13.0


@dataclass(frozen=True)
class Setting:
    """A guided study's description, checked."""

    name: str  # quick or thorough
    cores: int  # of the machine that the ranks of all trials share
    mpis: tuple[str, ...]  # those that are there
    params: Mapping[str, Any]  # of every trial, `batch` being that of all ranks together
    steps: str  # those that are wanted, for instance "bc"
    rate: str  # the metric that is compared
    unit: str

    @property
    def quick(self) -> bool:
        return self.name == QUICK

    @property
    def repeats(self) -> int:
        """How often a cell is run that is run more than once."""
        return 2 if self.quick else 3

    @property
    def ranks(self) -> tuple[int, ...]:
        """Numbers of ranks to compare, ascending."""
        return tuple(number for number in _numbers(self.cores, self.quick) if number <= LARGEST)

    @property
    def threads(self) -> tuple[int, ...]:
        """Numbers of threads to compare, ascending."""
        return _numbers(self.cores, self.quick)

    def description(self) -> dict[str, Any]:
        """What the store keeps; equal descriptions are the same study."""
        return {
            "setting": self.name,
            "cores": self.cores,
            "mpis": list(self.mpis),
            "params": dict(self.params),
            "steps": list(self.steps),
            "rate": self.rate,
            "unit": self.unit,
            "title": TITLE,
        }

    def trials(self) -> list[Trial]:
        """None to begin with: each step is planned when those before it have been run."""
        return []

    @classmethod
    def read(cls, description: Mapping[str, Any]) -> Setting:
        """A setting from what the store has."""
        return cls(
            description["setting"],
            description["cores"],
            tuple(description["mpis"]),
            description["params"],
            "".join(description["steps"]),
            description["rate"],
            description["unit"],
        )

    def wanting(self, steps: str, mpis: Iterable[str] | None = None) -> Setting:
        """The same with these steps wanted now, and the MPIs that are there by now."""
        chosen = "".join(step for step in STEPS if step in steps)
        return replace(self, steps=chosen, mpis=self.mpis if mpis is None else in_order(mpis))


def plan(
    workload: Workload,
    given: Mapping[str, Any],
    cores: int,
    mpis: Iterable[str] = ("openmpi",),
    *,
    thorough: bool = False,
    steps: str = STEPS,
) -> Setting:
    """A guided study from the workload's params that were `given`; `batch` is that of all ranks together. Raises
    BadInput with one sentence."""
    if workload.scaling is None:
        raise BadInput(f"The workload {workload.name} doesn't tell how fast it is, so there is nothing to compare.")
    ours = next((name for name in given if name in OURS), None)
    if ours is not None:
        raise BadInput(f"{ours} can't be set: the guided study varies it itself, or holds it for all its trials.")
    name = THOROUGH if thorough else QUICK
    setting = Setting(name, max(cores, 1), in_order(mpis), {}, steps, workload.scaling.rate, workload.scaling.unit)
    checked = workload.check({"iterations": ITERATIONS[name], **given}).model_dump(mode="json")
    batch = _batch(checked["batch"], setting.ranks, "batch" in given)
    # What nobody has set is left to the workload, so that studies read the same when its defaults are the same.
    params = {key: checked[key] for key in ("iterations", *given)} | {"batch": batch}
    return replace(setting, params=params)


def read_steps(text: str | None) -> str:
    """Steps from words like "a,b" or "ab"; all of them where none is given. Raises BadInput."""
    if text is None:
        return STEPS
    given = [letter for letter in text.lower() if letter not in ", "]
    wrong = next((letter for letter in given if letter not in STEPS), None)
    if wrong is not None or not given:
        raise BadInput(f"--steps {text}: the steps are {STEPS[0]} to {STEPS[-1]}, for instance --steps b,c.")
    return "".join(step for step in STEPS if step in given)


def in_order(mpis: Iterable[str]) -> tuple[str, ...]:
    """MPIs in the order in which they are shown."""
    there = set(mpis)
    return tuple(name for name in MPIS if name in there)


@dataclass(frozen=True)
class Estimate:
    """What a study, or one of its steps, still has to do."""

    runs: int
    seconds: float
    why: str = ""  # from what that is known


def estimate(placements: Sequence[Mapping[str, Any]], cores: int, past: Iterable[RunRecord]) -> Estimate:
    """How long trials on these placements are likely to take one after the other.

    As long as the median of the `past` ones that were measured took from the queue to the end, of those with as many
    ranks to a core where there are such; else of all, else `TRIAL`.
    """
    known: dict[int, list[float]] = {}
    for run in past:
        if run.measured and run.status == "completed" and run.finished_at is not None and run.started_at is not None:
            known.setdefault(_crowd(run.placement, cores), []).append(run.finished_at - run.queued_at)
    every = [seconds for told in known.values() for seconds in told]
    usual = median(every) if every else TRIAL
    seconds = 0.0
    for placement in placements:
        crowd = _crowd(placement, cores)
        guessed = usual if every else TRIAL * (1 + 0.5 * (crowd - 1))
        seconds += median(known[crowd]) if crowd in known else guessed
    each = words.seconds(seconds / max(len(placements), 1))
    why = (
        f"at {each} a run, as such runs took here"
        if every
        else f"at {each} a run, which is a guess: nothing like them has run here yet"
    )
    return Estimate(len(placements), seconds, why)


def _crowd(placement: Mapping[str, Any], cores: int) -> int:
    """How many ranks a core has to serve."""
    return math.ceil(Placement.parse(placement).ranks / max(cores, 1))


def _numbers(cores: int, quick: bool) -> tuple[int, ...]:
    """1 to twice the cores: half of them, all and twice as many, or every power of two, too, and four times as many.
    Only those that divide four times the cores: all numbers of ranks have to divide one batch, which has to stay small.
    """
    few = {1, max(cores // 2, 1), cores, 2 * cores}
    more = {2**power for power in range(int(math.log2(4 * cores)) + 1)}
    return tuple(number for number in sorted(few if quick else few | more) if 4 * cores % number == 0)


def _batch(batch: int, ranks: Sequence[int], given: bool) -> int:
    """The batch of all ranks together, which every number of ranks has to divide: a rounded one would be other work."""
    step = math.lcm(*ranks)
    near = max(math.ceil(batch / step), 1) * step
    if given and near != batch:
        odd = next(number for number in ranks if batch % number)
        raise BadInput(
            f"batch is {batch}, which {odd} ranks can't divide among them; all ranks share the batch, so give one that "
            f"does, such as --set batch={near}."
        )
    return near
