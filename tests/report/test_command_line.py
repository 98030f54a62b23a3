"""Commands as words are read back as what they ask for."""

from __future__ import annotations

import shlex

from hypothesis import given
from hypothesis import strategies as st

from workshop.cli.common import placement_from
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.actions import run_command, where_of

placements = st.builds(
    Placement,
    ranks=st.integers(1, 64),
    threads=st.none() | st.integers(1, 8),
    map_by=st.sampled_from(["auto", "core", "package"]),
    bind_to=st.sampled_from(["auto", "none", "core"]),
    cores_per_rank=st.integers(1, 4),
    oversubscribe=st.booleans(),
    mpi=st.sampled_from(["openmpi", "mpich"]),
    environment=st.dictionaries(st.sampled_from(["A", "OMP_PLACES"]), st.sampled_from(["1", "a b", "x,y=z"])),
)


@given(placements)
def test_options_of_a_placement_ask_for_it(placement: Placement) -> None:
    words, given_ = where_of(placement), {}
    env: list[str] = []
    while words:
        name = words.pop(0).removeprefix("--").replace("-", "_")
        if name == "oversubscribe":
            given_[name] = True
        elif name == "env":
            env.append(words.pop(0))
        else:
            given_[name] = words.pop(0)
    every = ("ranks", "map_by", "per_resource", "cores_per_rank", "bind_to", "threads")
    read = placement_from({}, **{name: given_.pop(name, None) for name in every}, env=env, **given_)
    assert read == placement


def test_a_run_with_params_that_are_not_the_default() -> None:
    mnist = workload("mnist")
    params = mnist.check({"batch": 32, "broadcast": False, "data": "a file"}).model_dump(mode="json")
    command = run_command(mnist, params, Placement(ranks=2, threads=1))
    assert command == ("workshop run mnist --data 'a file' --batch 32 --broadcast no --ranks 2 --threads 1")
    far = Placement(ranks=2, hosts=({"name": "a", "slots": 2}, {"name": "b"}))
    assert run_command(mnist, {}, far) == "workshop run mnist --ranks 2 --hosts a:2,b:1"
    words = shlex.split(command)
    given_ = {words[at].removeprefix("--"): words[at + 1] for at in range(3, 9, 2)}
    assert mnist.check(given_).model_dump(mode="json") == params
