"""oneDNN's verbose log, and the instruction sets of the processor. Pure, but for `flags`.

A line of the log names a primitive that has run: `onednn_verbose,v1,primitive,exec,cpu,KIND,IMPLEMENTATION,
PROPAGATION,TENSORS,ATTRIBUTES,AUXILIARY,PROBLEM,MILLISECONDS`. A tensor is `NAME:TYPE:PROPERTIES:KIND:LAYOUT:FLAGS`
(oneDNN Developer Guide, Verbose Mode).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Flags of /proc/cpuinfo that matter to neural networks, with the names that processors' makers use.
INSTRUCTIONS: Mapping[str, str] = {
    "avx2": "AVX2",
    "fma": "FMA",
    "avx_vnni": "AVX-VNNI",
    "avx_ne_convert": "AVX-NE-CONVERT",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX-512 VNNI",
    "avx512_bf16": "AVX-512 BF16",
    "avx512_fp16": "AVX-512 FP16",
    "amx_bf16": "AMX BF16",
    "amx_fp16": "AMX FP16",
    "amx_int8": "AMX INT8",
}
# Flags of which a precision needs one, so that TensorFlow 2.21 takes oneDNN's kernels (its util.h,
# IsDataTypeSupportedByOneDNNOnThisCPU), and so that the processor has instructions for it.
KERNELS = {"bfloat16": {"avx512f", "avx_ne_convert"}, "float16": {"avx512_fp16", "avx_ne_convert"}}
FAST = {"bfloat16": {"avx512_bf16", "amx_bf16", "avx_ne_convert"}, "float16": KERNELS["float16"] | {"amx_fp16"}}
LAYOUTS = {"acdb": "NHWC", "abcd": "NCHW"}  # oneDNN's a, b, c, d are batch, channels, height and width


def flags(path: Path = Path("/proc/cpuinfo")) -> set[str]:
    """The flags of this machine's first processor; empty where the kernel doesn't tell."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return set(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


def native(precision: str, cpu_flags: set[str]) -> bool:
    """Whether oneDNN computes with this precision on a processor with these flags, as TensorFlow asks it to."""
    return precision == "float32" or bool(KERNELS[precision] & cpu_flags)


@dataclass(frozen=True)
class Primitive:
    """A line of the log."""

    kind: str  # convolution, reorder, matmul …
    implementation: str
    tensors: Mapping[str, tuple[str, str]]  # name -> type and layout, as oneDNN writes them
    seconds: float


def primitive(line: str) -> Primitive | None:
    """The primitive that a line of the log tells of; None for any other line, and for one that was cut off."""
    fields = line.strip().split(",")
    if len(fields) < 8 or fields[:4] != ["onednn_verbose", "v1", "primitive", "exec"]:
        return None
    try:
        seconds = float(fields[-1]) / 1000
    except ValueError:
        return None
    parts = [tensor.split(":") for tensor in fields[8].split()] if len(fields) > 9 else []
    tensors = {part[0]: (part[1], part[4]) for part in parts if len(part) > 4 and part[1] != "undef"}
    return Primitive(fields[5], fields[6], tensors, seconds)


def summary(lines: Iterable[str], steps: int) -> dict[str, Any]:
    """Read the log of so many steps: `kernels` has for each kind of primitive the `seconds` and `calls` of a step
    and the `implementations`, the slowest kind first; `types` and `layouts` are those of the convolutions' images."""
    kinds: dict[str, dict[str, Any]] = {}
    types, layouts = set(), set()
    for line in lines:
        if (step := primitive(line)) is None:
            continue
        of_kind = kinds.setdefault(step.kind, {"seconds": 0.0, "calls": 0.0, "implementations": {}})
        of_kind["seconds"] += step.seconds / steps
        of_kind["calls"] += 1 / steps
        times = of_kind["implementations"]
        times[step.implementation] = times.get(step.implementation, 0.0) + step.seconds
        if step.kind == "convolution" and "src" in step.tensors:
            type_, layout = step.tensors["src"]
            types.add(type_)
            layouts.add(LAYOUTS.get(layout, f"blocked ({layout})"))
    for of_kind in kinds.values():
        times = of_kind["implementations"]
        of_kind["implementations"] = sorted(times, key=lambda name: -times[name])
    ordered = sorted(kinds.items(), key=lambda pair: -pair[1]["seconds"])
    return {"kernels": dict(ordered), "types": sorted(types), "layouts": sorted(layouts)}
