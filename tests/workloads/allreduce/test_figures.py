"""All-reduces by message size."""

from __future__ import annotations

from workshop.workloads.allreduce.panels import bandwidth, latency
from workshop.workloads.allreduce.verdict import AllReduceCurve

SIZES = (4, 1024, 1 << 20)
CURVES = [
    AllReduceCurve(method, SIZES, (1e-5, 2e-5, 1e-3), 2, mpi)
    for mpi in ("openmpi", "mpich")
    for method in ("own", "ring")
]


def test_a_colour_for_each_method_and_a_dash_for_each_mpi():
    figure = latency(CURVES)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert [trace.name for trace in figure.data] == ["openmpi own", "openmpi ring", "mpich own", "mpich ring"]
    colours = [trace.line.color for trace in figure.data]
    assert colours[0] == colours[2] != colours[1] == colours[3]
    dashes = [trace.line.dash for trace in figure.data]
    assert dashes[0] == dashes[1] != dashes[2] == dashes[3]
    assert list(figure.data[0].x) == list(SIZES) and list(figure.data[0].y) == [1e-5, 2e-5, 1e-3]
    assert figure.data[0].hovertext[0] == "4 B: 10 µs"


def test_bandwidth_stands_beside_what_was_measured_by_itself():
    *measured, line = bandwidth(CURVES, 8e9).data
    assert list(measured[0].y) == list(CURVES[0].bus)
    assert list(line.y) == [8e9, 8e9] and list(line.x) == [4, 1 << 20]
    assert line.name == "copied in memory", "an all-reduce within caches is faster: the line is no limit"
    assert bandwidth(CURVES, 8e9, 5e9).data[-1].name == "sent to another host"
    assert len(bandwidth(CURVES).data) == len(CURVES)
