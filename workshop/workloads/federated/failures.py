"""Federations that go wrong in instructive ways, ready to run, each with the one that mends it.

What `failures` is for placements, this is for federated learning: here it isn't the placement that is wrong, but what
institutions send, or what is made of it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from workshop.core.errors import BadInput

OPENFL = "openfl"  # the workload that needs an environment of its own
DIGITS: Mapping[str, Any] = {"data": "digits", "model": "dense"}  # a few seconds
CERTIFIED: Mapping[str, Any] = {"data": "digits", "collaborators": 3, "rounds": 3}

Which = Literal["broken", "fixed"]


@dataclass(frozen=True)
class FederatedFailure:
    """A federation that fails, and its fix. Both runs have `params`; `broken` and `fixed` are what they differ in."""

    name: str
    title: str
    mistake: str  # what is done wrong, in one sentence
    fix: str  # what mends it
    look_for: str
    verdict: str  # words by which the verdict of the broken run names it
    mended: str  # words by which the verdict of the fixed run tells that it is well
    broken: Mapping[str, Any]
    fixed: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=lambda: DIGITS)
    workload: str = "federated"

    @property
    def needs_openfl(self) -> bool:
        return self.workload == OPENFL

    def params_of(self, which: Which) -> dict[str, Any]:
        """All params of one of the two runs."""
        return {**self.params, **(self.broken if which == "broken" else self.fixed)}

    def command(self, which: Which) -> str:
        """What to type for one of the two runs."""
        first = ["workshop", "federation", "start"] if self.needs_openfl else ["workshop", "run", self.workload]
        given = self.params_of(which).items()
        return shlex.join([*first, *(word for name, value in given for word in (_option(name), str(value)))])

    def as_json(self) -> dict[str, Any]:
        """All of it, with the commands of both runs."""
        both = {which: {"params": self.params_of(which), "command": self.command(which)} for which in _BOTH}
        told = ("name", "title", "mistake", "fix", "look_for", "verdict", "mended", "workload", "needs_openfl")
        return {**{name: getattr(self, name) for name in told}, **both}


_BOTH: tuple[Which, ...] = ("broken", "fixed")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def federated_failures() -> tuple[FederatedFailure, ...]:
    """All of them: those of our own ranks first, which take seconds, then those of OpenFL, which take minutes."""
    return (*_OURS, *_OPENFL)


def federated_failure(name: str) -> FederatedFailure:
    """One of them. Raises BadInput for another name."""
    known = {one.name: one for one in federated_failures()}
    if name not in known:
        raise BadInput(f"There is no failure {name!r}; there are {', '.join(known)}.")
    return known[name]


def openfl_failure(fault: object) -> FederatedFailure | None:
    """The one that a run over OpenFL with this `fault` shows; None where nothing is broken on purpose."""
    return next((one for one in _OPENFL if one.broken["fault"] == fault), None)


_OURS = (
    FederatedFailure(
        "unequal-masks",
        "Weights that come after the masks",
        "Each update is masked first, and weighted by its images afterwards: the two masks of a pair are multiplied by "
        "different numbers, and no longer cancel.",
        "Weight first, then mask: the sum of masked, weighted updates is the sum of the weighted ones.",
        "How many rounds does it take to spoil the model? With equal shares (--partition iid) the mistake hides.",
        "The masks did not cancel",
        "masks hid each, and cancelled in the sum",
        {"secure": "unequal"},
        {"secure": "masks"},
        {**DIGITS, "partition": "unequal", "rounds": 5},
    ),
    FederatedFailure(
        "scaled-update",
        "One institution turns the average round",
        "A poisoned institution sends its update the wrong way round and five times as long, and a mean believes all.",
        "Of each value leave out the largest and the smallest, and take the mean of the rest (--rule trimmed).",
        "How far does the poisoned update lie from the others? Could the aggregator see it?",
        "The attack cost",
        "back.",
        {"rule": "mean"},
        {"rule": "trimmed"},
        {**DIGITS, "partition": "iid", "institutions": 8, "rounds": 8, "attack": "scale"},
    ),
    FederatedFailure(
        "flipped-labels",
        "Three of eight learn from wrong labels",
        "Poisoned institutions swap their labels, 0 for 9, 1 for 8 and so on, and train in earnest: their updates look "
        "like updates.",
        "Take of each value the median (--rule median), which three of eight can't move far.",
        "Does the poison show in how far updates lie apart? With how many attackers does the median give way?",
        "The attack cost",
        "back.",
        {"rule": "mean"},
        {"rule": "median"},
        {**DIGITS, "partition": "iid", "institutions": 8, "rounds": 8, "attack": "flip", "attackers": 3},
    ),
    FederatedFailure(
        "no-number",
        "An update that is no number",
        "One institution sends infinities or NaN: a single such value in the mean would spoil the model for everybody.",
        "The aggregator drops such updates by name; then the institution has to be mended, with a smaller rate, say.",
        "Which institution was dropped, and in which rounds? What did the shared model do meanwhile?",
        "updates that are no numbers",
        "Federated learning came to",
        {"attack": "nan"},
        {"attack": "none"},
        {**DIGITS, "partition": "iid", "rounds": 5},
    ),
    FederatedFailure(
        "long-and-skewed",
        "Few digits each, and long between averages",
        "Every institution has four of the digits and trains for long before models are averaged: each forgets what it "
        "has no images of, and the mean of such models is no good one.",
        "Average more often: the same number of images read, in more rounds.",
        "Each institution's accuracy before and after averaging, and the bytes that forty rounds cost.",
        "behind pooled images",
        "can't be told from pooled images",
        {"epochs": 40, "rounds": 1},
        {"epochs": 1, "rounds": 40},
        {**DIGITS, "partition": "label", "classes": 4, "way": "all"},
    ),
    FederatedFailure(
        "too-much-noise",
        "Noise that drowns the updates",
        "Updates get noise that is meant to hide who took part, and is so large that they are lost in it as well.",
        "Less noise, which promises less; or more institutions, among whom the noise averages out.",
        "Epsilon in both verdicts: what is promised where nothing is lost?",
        "points less",
        "at no cost that so many images can tell",
        {"noise": 2},
        {"noise": 0.3},
        {**DIGITS, "partition": "iid", "institutions": 16, "rounds": 8, "privacy": "institutions"},
    ),
    FederatedFailure(
        "single-image",
        "An update of a single image",
        "An institution sends the gradient of one image, because only numbers leave it: the image is in the numbers.",
        "Clip the update and add noise; or send only sums over many institutions, of many images.",
        "The recovered digit beside the true one.",
        "gives its input away",
        "times as long as the update",
        {"protect": "none"},
        {"protect": "clip-noise"},
        {**DIGITS, "images": 1},
        "inversion",
    ),
)

_TLS = "learned one model over mutual TLS"
_OPENFL = (
    FederatedFailure(
        "foreign-certificate",
        "A certificate of another authority",
        "An institution comes with a certificate that an authority of its own has signed.",
        "Have the federation's authority sign its request (fx collaborator certify).",
        "In which step is it refused, and by whom? What has it been sent until then?",
        "its certificate is of another authority",
        _TLS,
        {"fault": "foreign-certificate"},
        {"fault": "none"},
        CERTIFIED,
        OPENFL,
    ),
    FederatedFailure(
        "other-name",
        "A valid certificate, under another's name",
        "An institution with a good certificate of its own says that it is another one.",
        "Start it under the name that its certificate says.",
        "Encryption alone would have let it in: what compares the two names?",
        "Somebody who claimed to be",
        _TLS,
        {"fault": "other-name"},
        {"fault": "none"},
        CERTIFIED,
        OPENFL,
    ),
    FederatedFailure(
        "expired-certificate",
        "A certificate that has expired",
        "An institution shows a certificate of this federation that isn't valid any longer.",
        "Certify it anew before that day; and watch the clocks of all machines.",
        "Who notices, the aggregator or the institution itself?",
        "its certificate was valid until",
        _TLS,
        {"fault": "expired-certificate"},
        {"fault": "none"},
        CERTIFIED,
        OPENFL,
    ),
    FederatedFailure(
        "collaborator-dies",
        "A collaborator that dies in a round",
        "One institution's process is killed in the middle of a round, and the aggregator waits for its update.",
        "Give rounds a limit of time, after which they go on without who is missing, and start it again.",
        "In which round does it stop, and what ends the waiting?",
        "died in the middle of the federation",
        _TLS,
        {"fault": "dies"},
        {"fault": "none"},
        CERTIFIED,
        OPENFL,
    ),
    FederatedFailure(
        "aggregator-restarts",
        "An aggregator that is started again",
        "The aggregator is killed between two rounds: what was only in its memory is gone.",
        "Keep the shared model of each round, and begin again from there.",
        "With which round does it begin again, and what do the collaborators do in the meantime?",
        "The aggregator was started",
        _TLS,
        {"fault": "restart"},
        {"fault": "none"},
        CERTIFIED,
        OPENFL,
    ),
)
