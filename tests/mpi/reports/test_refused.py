"""Text that can't be read gets one sentence that names the line; whatever it is, it gets nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mpi.reports.test_samples import SAMPLES, sample
from tests.report.analysis.cases import machine
from tests.support import limit
from workshop.core.errors import BadInput
from workshop.mpi import reports

HEAD = "[0] MPI startup(): Rank    Pid      Node name  Pin cpu\n"
OURS = "[node1:1] Rank 0 bound to package[0][core:L0]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "None of the 0 lines tells where a rank is"),
        ("hello\nworld", "--report-bindings"),
        (sample("openmpi5-refused"), "None of the"),
        (f"{OURS}[node1:1] Rank 1 bound to nothing\n", "Line 2: rank 1 is bound to 'nothing'"),
        (f"{OURS}Rank 1 bound to package[0][core:L1]\n", "Line 2: 'Rank 1 bound to package[0][core:L1]' should begin"),
        (f"{OURS}\n{OURS}", "Line 3: rank 0 is there a second time, after line 1"),
        (f"{OURS}[node1:1] Rank 2 bound to package[0][core:L1]\n", "Line 2: rank 2 is there, but rank 1 is not"),
        ("[a:1] Rank 0 bound to package[0][core:L9-1]", "Line 1: the cores are"),
        ("[a:1] Rank 0 bound to package[0][core:L0-99999999]", "Line 1: the cores are"),
        ("[a:1] Rank 0 bound to package[0][core:P3]", "physical numbers"),
        ("[a:1] Rank 0 bound to package[0][core:L0] package[1][hwt:L0]", "cores and to hardware threads"),
        ("[a:1] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B/X]", "Line 1: rank 0 is bound to"),
        ("[a:1] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [./.]", "has no B"),
        ("[a:1] MCW rank 0 bound to socket 0[core 0[hwt 0]]: [B//.]", "it should be like [BB/../..]"),
        (
            "[a:1] MCW rank 0 bound to : [B/.]\n[a:1] MCW rank 1 bound to : [BB/..]",
            "Line 2: this mask has another form",
        ),
        ("Data for proc: [p@1,0]\n  Binding: package[0][core:L0]\n", "Line 2: the line that names the host"),
        (f"x\n{HEAD}\n", "Line 2: no rank follows below"),
        (f"{HEAD}[0] MPI startup(): 0 71 node1\n", "should have rank, pid, host and processors"),
        (f"{HEAD}[0] MPI startup(): 0 71 node1 0-3;\n", "Line 2: the processors of rank 0 is '3;'"),
        (f"{HEAD}[0] MPI startup(): 0 71 node1 0,1,\n", "Line 2: the processors of rank 0 is ''"),
        (f"{HEAD}[0] MPI startup(): 0 71 node1 {{0,1,\n", "Line 2: the processors of rank 0 is ''"),
        (f"{HEAD}[0] MPI startup(): 0 71 node1 {{x}}\n", "Line 2: the processors of rank 0 is 'x'"),
        ("(node1:0,x)", "Line 1: the ranks of node1 is 'x'"),
        ("(node1:0,1)\n(node2:1,2)", "Line 2: rank 1 is there a second time"),
        ("process 0 binding: 01a", "Line 1: the binding is '01a'"),
        ("\nprocess 0 binding: 000", "Line 2: the binding has no 1"),
        (
            "process 0 binding: 10\nprocess 0 binding: 01",
            "Line 2: rank 0 is there a second time, after line 1",
        ),
        ("<topology/>", "a machine, as lstopo describes it"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(text: str, words: str) -> None:
    with pytest.raises(BadInput) as error:
        reports.read(text)
    assert words in str(error.value)
    assert len(str(error.value)) < 400


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        (
            "openmpi5-map-three-hosts",
            machine(8, host=""),
            "core 4 should be in package 1, but on the machine it is in 0",
        ),
        ("openmpi5-map-three-hosts", machine(4, packages=2, host=""), "core 4, but the machine has cores 0-3"),
        (
            "openmpi4-bindings-example",
            machine(8, packages=2, host=""),
            "of a machine with 16 hardware threads, this one has 8",
        ),
        ("intel-debug5", machine(1), "Line 8: unit 1, but the machine has units 0"),
        ("mpich-eight-units", machine(4), "of a machine with 8 hardware threads, this one has 4"),
        ("openmpi5-map-hwthreads", machine(2), "unit 2, but the machine has units 0-1"),
        (
            "openmpi5-map-three-hosts",
            {**machine(8, 2, host="a"), "more": [machine(8, 2, host="b")]},
            "hostA is not one of",
        ),
    ],
)
def test_a_report_of_another_machine_is_refused(name: str, given: dict, words: str) -> None:
    with pytest.raises(BadInput, match="Line ") as error:
        reports.read(sample(name), given)
    assert words in str(error.value)


def harmless(text: str) -> None:
    for given_machine in (None, machine(8, packages=2, hardware_threads=2, host="")):
        try:
            reports.read(text, given_machine)
        except BadInput as error:
            assert "\n" not in str(error)


PIECES = """
[a:1] |MCW rank 0 |Rank 1 |bound to |package[0]|[core:L0]|[hwt:L0-1]|socket 0[core 0[hwt 0]]|: [B/.]|[BB/..]|~|
process 0 binding: |01|(a:0,1)|Data for node: a\t|
[0] MPI startup(): 0 1 a {0-1}
"""
pieces = st.sampled_from([HEAD, "\n", *PIECES.replace("\n", "").split("|")])


@settings(max_examples=150, deadline=limit(20) * 1000)
@given(st.one_of(st.text(max_size=200), st.lists(pieces | st.text(max_size=3), max_size=30).map("".join)))
def test_no_text_gets_anything_but_bad_input(text: str) -> None:
    harmless(text)


@settings(max_examples=150, deadline=limit(20) * 1000)
@given(
    st.sampled_from(sorted(path.stem for path in SAMPLES.glob("*.txt"))),
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.text(min_size=1, max_size=4) | pieces,
)
def test_no_damage_gets_anything_but_bad_input(name: str, seed: int, times: int, put: str) -> None:
    draw, text = random.Random(seed), sample(name)
    for _ in range(times):
        first = draw.randrange(len(text) + 1)
        last = min(first + draw.choice([0, 1, 1, 3, 40]), len(text))
        kept = draw.choice(["", put, text[first:last] * 2, text[first:last].swapcase()])
        text = text[:first] + kept + text[last:]
    harmless(text)
