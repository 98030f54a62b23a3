"""Each switch on a real rank: the log shows that it took effect; what is refused, and what a killed rank leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from tests.ranks import run_ranks
from tests.support import starts_processes, until
from tests.workloads.processor.rank_program import SMALL
from workshop.workloads.processor import kernels

FLAGS = kernels.flags()


@pytest.fixture(scope="module")
@starts_processes
def program():
    return run_ranks("tests.workloads.processor.rank_program", 1)


@pytest.fixture(scope="module")
@starts_processes
def more():
    return run_ranks("tests.workloads.processor.rank_program", 1, "more")


def metrics(program, name):
    return program["runs"][name]["metrics"]


@pytest.mark.real
def test_onednn_does_the_convolutions_only_where_it_is_switched_on(program):
    usual, without = (metrics(program, name)["kernels"] for name in ("usual", "without"))
    # Forward, and backward by weights and by images, which the first layer doesn't need: ResNet-50 has 53 convolutions.
    assert usual["convolution"]["calls"] >= 53 * 3 - 1
    assert "convolution" not in without


@pytest.mark.real
def test_rates_and_times_belong_together(program):
    usual = metrics(program, "usual")
    assert usual["images_per_second"] == pytest.approx(2 * 2 / usual["seconds"]["measure"])
    assert 0 < usual["kernels_share"] <= 1, "on one thread the primitives run one after the other"
    assert usual["pools"] == {"intra": 1, "inter": 1}
    named = {name for flag, name in kernels.INSTRUCTIONS.items() if flag in FLAGS}
    assert set(usual["instructions"]) == named


@pytest.mark.exhaustive
@pytest.mark.real
def test_the_layout_is_that_of_the_log(program, more):
    assert metrics(program, "fused")["layouts"] == ["NHWC"]
    layouts = metrics(more, "nchw")["layouts"]
    assert layouts and "NHWC" not in layouts


@pytest.mark.real
def test_the_precision_is_that_of_the_log(program):
    assert metrics(program, "fused")["types"] == ["f32"]
    bfloat16 = metrics(program, "bfloat16")
    assert bfloat16["native"] == bool({"avx512f", "avx_ne_convert"} & FLAGS)
    assert bfloat16["types"] == (["bf16"] if bfloat16["native"] else [])


@pytest.mark.exhaustive
@pytest.mark.real
def test_fusion_puts_the_last_biases_into_their_layers(program, more):
    fused, unfused = program["runs"]["fused"], more["runs"]["unfused"]
    assert fused["biased"] == 53 * 2, "of two steps"
    assert unfused["biased"] == 52 * 2, "TensorFlow's pass for oneDNN fuses these by itself"
    kinds = [set(run["metrics"]["kernels"]) & {"inner_product", "gemm_api"} for run in (fused, unfused)]
    assert kinds == [{"inner_product"}, {"gemm_api"}], "of the last layer"


@pytest.mark.exhaustive
@pytest.mark.real
def test_without_a_log_nothing_is_said_of_kernels(more):
    silent = metrics(more, "silent")
    assert (more["runs"]["silent"]["lines"], silent["kernels"], silent["kernels_share"]) == (0, {}, None)
    assert silent["images_per_second"] > 0


@pytest.mark.real
def test_what_the_rank_can_t_do_is_refused(program):
    refused = program["refused"]
    assert "intra is 1024, but a rank may use" in refused["threads"]
    if not kernels.native("float16", FLAGS):
        assert "layout is nchw with float16, for which oneDNN has no kernels" in refused["layout"]
    assert refused["process"].startswith("The measuring process failed: ")
    assert refused["limit"] == "The steps took longer than 0 s; take fewer of them or smaller images."


@pytest.mark.real
def test_a_killed_rank_leaves_no_process():
    words = [f"--{name.replace('_', '-')}={value}" for name, value in (SMALL | {"steps": 1000}).items()]
    rank = subprocess.Popen([sys.executable, "-m", "workshop.engine", "one-processor", *words], env=os.environ)
    try:
        (child,) = until(lambda: psutil.Process(rank.pid).children(), 30, "the measuring process")
        os.kill(rank.pid, signal.SIGKILL)
        rank.wait()
        psutil.wait_procs([child], timeout=20)
        assert not child.is_running()
    finally:
        rank.kill()
        rank.wait()
