"""GPUs of a rank, from the recorded answers of a node with eight of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gpu_node import NODE, Node, nvml
from workshop.core import accelerators, rank_map

UUIDS = [gpu["uuid"] for gpu in NODE["nvidia"]]


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


def numbers(report: dict[str, Any]) -> list[int]:
    return [gpu["number"] for gpu in report["gpus"]]


def test_a_gpu_is_reported_with_its_place(node: Node) -> None:
    gpus = node.measure()["gpus"]
    name = "NVIDIA A100-SXM4-80GB"
    assert gpus[5] == {"number": 5, "name": name, "bus": "0000:90:00.0", "packages": [1], "numa": [3]}
    assert [gpu["numa"] for gpu in gpus] == [[gpu["numa_node"]] for gpu in NODE["nvidia"]]


@pytest.mark.parametrize(
    ("variables", "usable"),
    [
        ({}, list(range(8))),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "-1"}, []),
        ({"CUDA_VISIBLE_DEVICES": "NoDevFiles"}, []),
        ({"CUDA_VISIBLE_DEVICES": "3"}, [3]),
        ({"CUDA_VISIBLE_DEVICES": " 6, 1"}, [6, 1]),
        ({"CUDA_VISIBLE_DEVICES": "2,8,3"}, [2]),  # the list ends before the first that isn't there
        ({"CUDA_VISIBLE_DEVICES": f"{UUIDS[4]},{UUIDS[0][:9]}"}, [4, 0]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-"}, []),  # begins all of them
        ({"SLURM_STEP_GPUS": "4,5"}, [4, 5]),
        ({"SLURM_STEP_GPUS": "4,5", "CUDA_VISIBLE_DEVICES": "0"}, [0]),
        ({"ROCR_VISIBLE_DEVICES": "1"}, list(range(8))),  # is AMD's
        ({"AMD": "", "ROCR_VISIBLE_DEVICES": "1"}, [1]),
        ({"AMD": "", "ROCR_VISIBLE_DEVICES": "GPU-3A4B5C6D7E8F9011"}, [1]),
        ({"AMD": "", "ROCR_VISIBLE_DEVICES": f"GPU-{NODE['amd'][0]['uuid']}"}, [0]),
        ({"AMD": "", "ROCR_VISIBLE_DEVICES": "1", "GPU_DEVICE_ORDINAL": "1"}, [1]),  # Slurm sets both to the same
        ({"AMD": "", "ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "0"}, [1]),  # HIP counts in what is left
        ({"AMD": "", "GPU_DEVICE_ORDINAL": "0"}, [0]),
        ({"AMD": "", "HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}, [1]),
        ({"AMD": "", "ROCR_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_variables_choose_among_gpus(node: Node, variables: dict[str, str], usable: list[int]) -> None:
    report = node.measure("kfd" if "AMD" in variables else "nvidia0", **variables)
    assert (numbers(report), report["gpus_unresolved"]) == (usable, [])


def test_gpus_that_slurm_hides_are_not_counted_twice(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where cgroups leave a step two GPUs, the library numbers these from 0, and Slurm's numbers are the host's."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml(NODE["nvidia"][4:6]))
    report = node.measure(SLURM_STEP_GPUS="4,5")
    assert [gpu["bus"] for gpu in report["gpus"]] == ["0000:87:00.0", "0000:90:00.0"]


def test_indices_of_unlike_gpus_need_the_order_of_the_bus(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    unlike = [NODE["nvidia"][0], NODE["nvidia"][1] | {"name": "NVIDIA T4"}]
    monkeypatch.setitem(sys.modules, "pynvml", nvml(unlike))
    assert node.measure(CUDA_VISIBLE_DEVICES="1") == {"gpus": [], "gpus_unresolved": ["1"]}
    assert numbers(node.measure(CUDA_VISIBLE_DEVICES="1", CUDA_DEVICE_ORDER="PCI_BUS_ID")) == [1]
    assert numbers(node.measure(CUDA_VISIBLE_DEVICES=UUIDS[1])) == [1]


def test_without_a_gpu_no_library_is_imported(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)  # an import would raise ImportError
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert node.measure("nvidiactl") == node.measure("nvidia0") == node.measure("kfd") == {}
    if not any(accelerators.DEVICES.glob("nvidia[0-9]*")):
        assert accelerators.describe(rank_map.measure(0, 0)) == ""


@pytest.mark.parametrize(
    ("units", "variable", "described"),
    [
        (range(16, 20), "1", "GPU 1 (same NUMA node)"),
        (range(0, 4), "1", "GPU 1 (same package)"),
        (range(32, 36), "1", "GPU 1 (other package)"),
        (range(64), "1", "GPU 1 (cores on several packages)"),
        (range(0, 4), "0,1,2,4,5", "GPUs 0 and 1 (same package), GPU 2 (same NUMA node), GPUs 4 and 5 (other package)"),
        (range(0, 4), "MIG-4d8f1b5a", "MIG-4d8f1b5a (not resolved to a GPU)"),
        (range(0, 4), "", "no GPU"),
    ],
)
def test_how_near_gpus_are(node: Node, units: range, variable: str, described: str) -> None:
    assert accelerators.describe(node.report(0, units, CUDA_VISIBLE_DEVICES=variable)) == described


def test_a_place_that_sys_does_not_tell_is_unknown(node: Node) -> None:
    (node.pci / "0000:07:00.0" / "numa_node").write_text("-1\n")
    (node.pci / "0000:0f:00.0" / "numa_node").unlink()
    report = node.report(0, range(32, 36), CUDA_VISIBLE_DEVICES="0,1")
    assert [gpu["packages"] for gpu in report["gpus"]] == [[], []]
    assert accelerators.describe(report) == "GPUs 0 and 1"
