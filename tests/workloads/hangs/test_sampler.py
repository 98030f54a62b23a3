"""System calls by what they wait for, against the kernel's own headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import need
from workshop.workloads.hangs import sampler

HEADERS = {  # of Debian's linux-libc-dev; 64-bit ARM has the generic numbers
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
SLEEPS = (
    "nanosleep",
    "clock_nanosleep",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
)


@pytest.mark.parametrize("machine", sampler.CALLS)
def test_numbers_are_those_of_the_kernel(machine: str) -> None:
    need(HEADERS[machine].exists(), "the kernel's headers (apt-get install linux-libc-dev)")
    defined = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", HEADERS[machine].read_text(), re.MULTILINE)
    numbers = {name: int(number) for name, number in defined}
    waits, sleeps, children = sampler.CALLS[machine]
    assert waits == tuple(numbers[name] for name in ("read", "write", "futex"))
    assert sleeps == {numbers[name] for name in SLEEPS if name in numbers}
    assert children == {numbers["wait4"], numbers["waitid"]}
