"""Studies as YAML files: what they may say, and one sentence with the line for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.grid import cases
from workshop.core.errors import BadInput
from workshop.registry import workload
from workshop.study.grid.plan import plan, read_best
from workshop.study.grid.study_file import LARGEST, placement_of, read, read_study

EXAMPLES = sorted((Path(__file__).parents[3] / "labs").glob("*/studies/*.yaml"))
WHOLE = """
# a comment
workload: kmeans
title: which kernel?
params: {data: blobs, points: 5000}
placement:
  threads: 1
  environment: {OMP_WAIT_POLICY: active, KMP_BLOCKTIME: 0, FLAG: off}
vary:
  ranks: [1, 2]
  env.OMP_PROC_BIND: [~, close, 1]
  backend:
    - numba
    - numpy
sampler: {name: tpe, trials: 4, seed: 1}
repeats: 2
best: {cells: 1, repeats: 5}
seeds: false
"""


def test_a_file_that_says_everything() -> None:
    found = read(WHOLE)
    assert (found.workload, *(found.options[name] for name in ("title", "repeats", "seeds"))) == (
        "kmeans",
        "which kernel?",
        2,
        False,
    )
    assert found.params == {"data": "blobs", "points": 5000}
    assert found.placement["environment"] == {"OMP_WAIT_POLICY": "active", "KMP_BLOCKTIME": "0", "FLAG": "off"}
    assert found.vary == {"ranks": [1, 2], "env.OMP_PROC_BIND": [None, "close", 1], "backend": ["numba", "numpy"]}
    assert (found.options["sampler"], found.options["best"]) == (
        {"name": "tpe", "trials": 4, "seed": 1},
        {"cells": 1, "repeats": 5},
    )


def test_what_a_file_leaves_open() -> None:
    found = read("workload: mnist\nvary: {checkpoint: [off, rank0, no]}\nsampler: random\ntitle:\n")
    assert found.vary == {"checkpoint": ["off", "rank0", "no"]}, "they are words, not truth values"
    assert (found.params, found.placement, found.options.keys()) == ({}, {}, {"best", "sampler"})
    assert found.options == {"best": {}, "sampler": {"name": "random"}}, "the best are repeated by default"
    assert read_best({}) == {"cells": 2, "repeats": 3}
    none = read("workload: mnist\nvary: {batch: [1, 2]}\nbest: null\n")
    assert plan(workload("mnist"), none.vary, {}, placement_of(none, None), **none.options).settings["best"] is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "s.yaml holds no study"),
        ("just words", "s.yaml holds no study"),
        ("[1, 2]", "s.yaml holds no study"),
        ("workload: a\nvry: {ranks: [1]}\n", "s.yaml, line 2: vry is not one of its settings."),
        ("workload: a\n\nworkload: b\n", "s.yaml, line 3: 'workload' is there twice, first in line 1."),
        ("vary:\n  a: [1]\n  a: [2]\n", "s.yaml, line 3: 'a' is there twice, first in line 2."),
        ("workload: a\n", "s.yaml has no vary; it should have lines like"),
        ("vary: {a: [1]}\n", "s.yaml has no workload; it should have lines like"),
        ("workload: a\nvary: 5\n", "s.yaml, line 2: vary is 5: it should be a dictionary."),
        ("workload: [a]\nvary: {}\n", "s.yaml, line 1: workload is ['a']: it should be text."),
        ("workload: a\nvary: {}\nrepeats: many\n", "s.yaml, line 3: repeats is 'many': it should be a whole number."),
        ("workload: a\nvary: {}\nrepeats: true\n", "s.yaml, line 3: repeats is True"),
        ("workload: a\nvary: {}\nseeds: off\n", "s.yaml, line 3: seeds is 'off': it should be yes or no."),
        ("workload: a\nvary: {}\nbest: 2\n", "s.yaml, line 3: best is 2: it should be a dictionary."),
        ("workload: a\nvary: {a: [1\n", "is no YAML: expected ',' or ']'"),
        ("workload: a\n\tvary: b\n", "s.yaml, line 2 is no YAML"),
        ("workload: &x a\nvary: {a: [*x]}\n", "s.yaml, line 2 is no YAML: an alias (*name)"),
        ("workload: !!python/object/apply:os.system [ls]\n", "is no YAML: could not determine a constructor"),
        ("workload: a\n---\nworkload: b\n", "is no YAML: but found another document"),
        ("? [a]\n: 1\n", "s.yaml, line 1: a name should be a word."),
        ("1: 2\n", "s.yaml, line 1: a name should be a word."),
        ("workload: a\0\n", "s.yaml has a character that text can't have"),
        ("[" * 5000, "s.yaml is nested too deeply."),
        ("workload: !!float abc\n", "s.yaml is no YAML"),
    ],
)
def test_what_is_refused_in_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(text, "s.yaml")
    said = str(refused.value)
    assert sentence in said and "\n" not in said and said.endswith(".")


def test_files_that_can_not_be_read(tmp_path: Path) -> None:
    large, binary = tmp_path / "large.yaml", tmp_path / "binary.yaml"
    large.write_text("#" * (LARGEST + 1))
    binary.write_bytes(b"workload: \xff\xfe")
    for path, sentence in [
        (tmp_path / "none.yaml", "can't be read (No such file or directory)"),
        (tmp_path, "can't be read (Is a directory)"),
        (large, "has more than 64 kB"),
        (binary, "is no text"),
    ]:
        with pytest.raises(BadInput) as refused:
            read_study(path)
        assert sentence in str(refused.value) and str(path) in str(refused.value)
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbfworkload: a\r\nvary: {a: [1]}\r\n")
    assert read_study(tmp_path / "bom.yaml").workload == "a"


def test_what_is_both_set_and_varied(tmp_path: Path) -> None:
    for line in ("params: {batch: 2}", "placement: {batch: 2}"):
        file = tmp_path / "both.yaml"
        file.write_text(f"workload: mnist\n{line}\nvary: {{batch: [1, 2]}}\n")
        with pytest.raises(BadInput, match="batch is both set and varied"):
            read_study(file)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_can_be_planned(path: Path) -> None:
    found = read_study(path)
    chosen = workload(found.workload)
    made = plan(chosen, found.vary, found.params, placement_of(found, None), **found.options)
    assert made.settings["title"] and cases.planned_runs(made) >= 4
    assert not any(cell.why for cell in made.cells)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 3


def test_a_summary_names_settings_of_the_workload() -> None:
    found = read("workload: kmeans\nvary: {backend: [numba, numpy]}\nsummary: [clusters]\n")
    planned = plan(workload("kmeans"), found.vary, {}, placement_of(found, None), **found.options)
    assert planned.settings["summary"] == ["clusters"]
    with pytest.raises(BadInput, match=r"summary: kmeans has no setting 'models'; it has .*clusters"):
        plan(workload("kmeans"), found.vary, {}, placement_of(found, None), summary=["models"])
