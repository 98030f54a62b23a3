"""oneDNN's log and the processor's flags: a real log, and whatever else may stand in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.processor import kernels

# From a run of ResNet-50 with TensorFlow 2.21 (oneDNN 3.7.3): float32, then bfloat16, NCHW, and a matrix product that
# TensorFlow's own kernels called.
EXEC = "onednn_verbose,v1,primitive,exec,cpu,"
LOG = f"""onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)
onednn_verbose,v1,primitive,info,template:operation,engine,primitive,implementation,prop_kind,memory_descriptors,attributes,auxiliary,problem_desc,exec_time
{EXEC}reorder,jit:uni,undef,src:f32::blocked:cdba::f0 dst:f32::blocked:Acdb64a::f0,,,64x3x7x7,0.0629883
{EXEC}convolution,brg_conv_fwd:avx512_core,forward_training,src:f32::blocked:acdb::f0 wei:f32:a:blocked:Acdb64a::f0 bia:undef::undef::: dst:f32::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,mb8_ic3oc64_ih64oh32kh7sh2dh0ph0_iw64ow32kw7sw2dw0pw0,1.88794
{EXEC}convolution,brgconv_1x1:avx512_core_bf16,forward_training,src:bf16::blocked:acdb::f0 wei:bf16:ap:blocked:AcdB48a2b::f0 bia:bf16:a:blocked:a::f0 dst:bf16::blocked:acdb::f0,attr-scratchpad:user,alg:convolution_direct,mb8_ic512oc2048_ih2oh2kh1sh1dh0ph0_iw2ow2kw1sw1dw0pw0,0.166016
{EXEC}convolution,jit_uni_ncsp_convolution:conv+jit:avx512_core,backward_weights,src:f32::blocked:abcd::f0 wei:f32::blocked:cdba::f0 bia:undef::undef::: dst:f32::blocked:abcd::f0,,alg:convolution_direct,mb8,2
{EXEC}gemm_api,,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,64x64:64x64,0.0100098
"""  # noqa: E501  # as the library writes it
WORD = st.text("abcdefgh_:+0123456789", min_size=1, max_size=12)
MILLISECONDS = st.floats(0, 1e4)


def test_a_real_log_is_summed_by_primitive() -> None:
    summary = kernels.summary(LOG.splitlines(), 2)
    assert list(summary["kernels"]) == ["convolution", "reorder", "gemm_api"], "the slowest first"
    convolution = summary["kernels"]["convolution"]
    assert convolution["calls"] == 1.5
    assert convolution["seconds"] == pytest.approx((1.88794 + 0.166016 + 2) / 1000 / 2)
    assert convolution["implementations"][0] == "jit_uni_ncsp_convolution:conv+jit:avx512_core"
    assert (summary["types"], summary["layouts"]) == (["bf16", "f32"], ["NCHW", "NHWC"])


def test_a_tensor_has_its_type_and_layout() -> None:
    convolution = kernels.primitive(LOG.splitlines()[3])
    assert convolution is not None and convolution.kind == "convolution"
    assert convolution.tensors["wei"] == ("f32", "Acdb64a")
    assert "bia" not in convolution.tensors, "an undefined one is none"


@given(st.lists(st.tuples(WORD, WORD, MILLISECONDS), max_size=20), st.integers(1, 5))
def test_no_time_is_lost(entries: list[tuple[str, str, float]], steps: int) -> None:
    lines = [f"{EXEC}{kind},{name},forward,src:f32::blocked:acdb::f0,,,mb8,{ms}" for kind, name, ms in entries]
    every = kernels.summary(lines, steps)["kernels"].values()
    assert sum(of_kind["seconds"] for of_kind in every) == pytest.approx(sum(ms for *_, ms in entries) / 1000 / steps)
    assert sum(of_kind["calls"] for of_kind in every) == pytest.approx(len(entries) / steps)


@given(st.text() | st.text(",:abf0123456789").map(lambda text: EXEC + text), st.integers(0, 400))
def test_any_line_is_read_or_left_out(text: str, cut: int) -> None:
    for line in (text, LOG.splitlines()[3][:cut]):
        read = kernels.primitive(line)
        assert read is None or read.seconds >= 0


@pytest.mark.parametrize(
    ("precision", "flags", "native"),
    [
        ("float32", set(), True),
        ("bfloat16", {"avx2", "fma"}, False),
        ("bfloat16", {"avx2", "avx512f"}, True),
        ("float16", {"avx512f", "avx512_bf16"}, False),
        ("float16", {"avx512_fp16"}, True),
    ],
)
def test_a_precision_needs_its_instruction_set(precision: str, flags: set[str], native: bool) -> None:
    assert kernels.native(precision, flags) == native


def test_flags_are_those_of_the_first_processor(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    assert kernels.flags(file) == set()
    file.write_text("processor : 0\nflags\t\t: fpu avx2 amx_bf16\n\nprocessor : 1\nflags : fpu\n")
    assert kernels.flags(file) == {"fpu", "avx2", "amx_bf16"}
