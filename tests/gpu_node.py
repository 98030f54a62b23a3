"""A node of two packages, four NUMA nodes and eight GPUs, as its libraries and /sys answer (gpu_node.json). It is built
like an NVIDIA DGX A100; the file also has two GPUs of AMD at other places."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workshop.core import accelerators, machines, rank_map, topology

NODE = json.loads(Path(__file__).with_suffix(".json").read_text())
MACHINE = machines.read(NODE["machine"]).machine | {"host": "node"}


def nvml(gpus: Sequence[Mapping[str, Any]]) -> SimpleNamespace:
    """NVIDIA's library with these answers. Handles are places in the list."""
    return SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: len(gpus),
        nvmlDeviceGetHandleByIndex=lambda number: number,
        nvmlDeviceGetName=lambda handle: gpus[handle]["name"],
        nvmlDeviceGetUUID=lambda handle: gpus[handle]["uuid"],
        nvmlDeviceGetPciInfo=lambda handle: SimpleNamespace(busId=gpus[handle]["bus"].encode()),
    )


def amdsmi(gpus: Sequence[Mapping[str, Any]]) -> SimpleNamespace:
    """AMD's library with these answers."""
    return SimpleNamespace(
        amdsmi_init=lambda: None,
        amdsmi_shut_down=lambda: None,
        amdsmi_get_processor_handles=lambda: gpus,
        amdsmi_get_gpu_asic_info=lambda gpu: {"market_name": gpu["name"], "asic_serial": gpu["serial"]},
        amdsmi_get_gpu_device_uuid=lambda gpu: gpu["uuid"],
        amdsmi_get_gpu_device_bdf=lambda gpu: gpu["bus"],
    )


class Node:
    """The node's files below a folder, and its libraries in place of those that this machine may have."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.devices, self.pci = root / "dev", root / "devices"
        self.devices.mkdir()
        monkeypatch.setitem(sys.modules, "pynvml", nvml(NODE["nvidia"]))
        monkeypatch.setitem(sys.modules, "amdsmi", amdsmi(NODE["amd"]))
        for gpu in NODE["nvidia"] + NODE["amd"]:
            folder = self.pci / gpu["bus"].lower().removeprefix("0000").rjust(12, "0")
            folder.mkdir(parents=True)
            (folder / "numa_node").write_text(f"{gpu['numa_node']}\n")
            (folder / "local_cpulist").write_text(f"{gpu['local_cpulist']}\n")

    def measure(self, device: str = "nvidia0", **variables: str) -> dict[str, Any]:
        """What a process of the node reports of its GPUs, where only this device file exists."""
        for file in self.devices.iterdir():
            file.unlink()
        (self.devices / device).touch()
        return accelerators.measure(MACHINE["units"], self.devices, self.pci, variables)

    def report(self, rank: int, units: Sequence[int], **variables: str) -> dict[str, Any]:
        """The whole report of a rank that may run on these units."""
        rows = [row for row in MACHINE["units"] if row["unit"] in units]
        names = {"rank": rank, "host": MACHINE["host"], "local_rank": rank, "pid": 1000 + rank}
        return {**names, **topology.places(rows), "threads": [], **self.measure(**variables)}


def ranks_with_gpus(*placed: tuple[Sequence[int], str]) -> dict[str, Any]:
    """The measured rank map of ranks on the node, from the units and the CUDA_VISIBLE_DEVICES of each."""
    with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as folder:
        node = Node(Path(folder), monkeypatch)
        return rank_map.rank_map(
            node.report(rank, units, CUDA_VISIBLE_DEVICES=gpus) for rank, (units, gpus) in enumerate(placed)
        )
