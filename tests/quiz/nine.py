"""A deck with one question of each type, and for each a right answer, a wrong one, and words of the solution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from workshop.quiz.deck import Deck

YAML = """
deck: nine
title: One of each
lab: kmeans
about: One question of each **type**.
questions:
  - id: one-right
    type: single
    text: How many ranks does `mpirun -n 4` start?
    explanation: Because marmalade is made of oranges.
    options:
      - {text: four, right: true, feedback: So it says.}
      - {text: one, feedback: That would be no parallel program.}
      - {text: none}
  - id: some-right
    type: multiple
    text: Which of these are **collective**?
    options:
      - {text: all-reduce, right: true}
      - {text: broadcast, right: true}
      - {text: send, feedback: It has two ends only.}
  - id: which-lab
    type: poll
    text: Which lab did you like best?
    options: [{text: k-means}, {text: federated learning}]
  - id: how-many
    type: number
    text: "{ranks} ranks have 2 threads each. How many threads is that?"
    numbers: {ranks: {values: [2, 3, 4, 5, 6, 7, 8]}}
    answer: ranks * 2
    unit: threads
    near: [{answer: ranks, feedback: That is the number of ranks.}]
  - id: in-order
    type: order
    text: What happens in which order?
    items: [ranks start, they compute, they all-reduce, they end]
  - id: belongs
    type: match
    text: What belongs together?
    pairs: [{left: rank, right: a process}, {left: core, right: a part of a processor}]
    extra: [a cable]
  - id: called
    type: text
    text: What is the process called that starts ranks?
    accept: [mpirun, mpiexec]
    near: [{accept: [mpi], feedback: That is the standard.}]
  - id: how-long
    type: predict
    text: How many iterations will there be?
    explanation: Because limits are limits.
    runs:
      two:
        workload: kmeans
        params: {data: blobs, points: 2000, features: 2, clusters: 3, iterations: 3, tolerance: 0}
        placement: {ranks: 2}
    truth: two.iterations
    unit: iterations
    tolerance: {absolute: 0}
  - id: put-them
    type: place
    text: Put one rank on each package.
    machine: 2x4x1
    given: {ranks: 2}
    ask: [map_by, bind_to]
    right: {map_by: package, bind_to: package}
"""
DECK = Deck.model_validate(yaml.safe_load(YAML))
IDS = tuple(question.id for question in DECK.questions)

# What must not reach a browser before the answer is due; texts that are only in feedback, explanations and solutions.
SECRETS = (
    "marmalade", "So it says", "no parallel program", "two ends only", "number of ranks.", "mpiexec", "mpirun,",
    "the standard", "limits are limits", "ranks * 2", "two.iterations",
)  # fmt: skip


def keys(parts: list[dict[str, str]]) -> dict[str, str]:
    """The letter of each text that is shown."""
    return {part["html"].replace("<p>", "").replace("</p>", "").strip(): part["key"] for part in parts}


def right(shown: Mapping[str, Any], wrong: bool = False) -> Any:
    """A right (or wrong) answer to a question as it is shown, as a browser sends it."""
    match shown["id"]:
        case "one-right":
            return keys(shown["options"])["one" if wrong else "four"]
        case "some-right":
            texts = ["send"] if wrong else ["all-reduce", "broadcast"]
            return [keys(shown["options"])[text] for text in texts]
        case "which-lab":
            return keys(shown["options"])["k-means"]
        case "how-many":
            ranks = int(shown["html"].removeprefix("<p>").partition(" ")[0])
            return str(ranks if wrong else 2 * ranks)
        case "in-order":
            texts = ["ranks start", "they compute", "they all-reduce", "they end"]
            ordered = [keys(shown["items"])[text] for text in texts]
            return ordered[::-1] if wrong else ordered
        case "belongs":
            rights = keys(shown["rights"])
            pairs = {"1": rights["a process"], "2": rights["a part of a processor"]}
            return dict.fromkeys(pairs, rights["a cable"]) if wrong else pairs
        case "called":
            return "MPI" if wrong else " MPIrun "
        case "how-long":
            return "30" if wrong else "3"
        case "put-them":
            return {"map_by": "core" if wrong else "package", "bind_to": "core" if wrong else "package"}
    raise KeyError(shown["id"])
