"""GPUs: those that NVIDIA's and AMD's libraries name on this host, which of them this process may use, and how near
they are to its cores. Where no device file of a GPU exists, no library is imported and nothing is reported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from workshop.core import topology, words

DEVICES = Path("/dev")


class GPU(NamedTuple):
    number: int  # in the library's order
    name: str
    bus: str  # its PCI id, as /sys/bus/pci/devices has it: 0000:07:00.0
    uuids: tuple[str, ...]  # each GPU-...


def _nvidia(nvml: Any) -> list[GPU]:
    """NVIDIA's GPUs, in the order of their PCI ids."""
    nvml.nvmlInit()
    gpus = []
    for number in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(number)
        bus = _bus(nvml.nvmlDeviceGetPciInfo(handle).busId)
        gpus.append(GPU(number, nvml.nvmlDeviceGetName(handle), bus, (nvml.nvmlDeviceGetUUID(handle),)))
    nvml.nvmlShutdown()
    return gpus


def _amd(smi: Any) -> list[GPU]:
    smi.amdsmi_init()
    gpus = []
    for number, handle in enumerate(smi.amdsmi_get_processor_handles()):
        about = smi.amdsmi_get_gpu_asic_info(handle)
        # Older versions of ROCm name a GPU by its serial number, newer ones by a UUID.
        ids = about["asic_serial"].removeprefix("0x"), smi.amdsmi_get_gpu_device_uuid(handle)
        bus = _bus(smi.amdsmi_get_gpu_device_bdf(handle))
        gpus.append(GPU(number, about["market_name"], bus, tuple(f"GPU-{name}" for name in ids)))
    smi.amdsmi_shut_down()
    return gpus


def _bus(name: str | bytes) -> str:
    """A PCI id as /sys has it; NVIDIA's library writes the domain with eight digits, in capital letters."""
    domain, _, rest = (name.decode() if isinstance(name, bytes) else name).lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


# The variables by which a process is given GPUs: of each group the first that is set counts, and a later group counts
# in what the earlier one has left (CUDA's programming guide; "GPU isolation techniques" of ROCm's documentation).
# SLURM_STEP_GPUS only counts where the library names more GPUs than Slurm gave; otherwise cgroups hide the others.
CUDA = (("CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS"),)
ROCM = (
    ("ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "SLURM_STEP_GPUS"),
    ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
)
MAKERS = (("nvidia[0-9]*", "pynvml", _nvidia, CUDA), ("kfd", "amdsmi", _amd, ROCM))  # device files, library


def measure(
    units: Sequence[Mapping[str, int]],
    devices: Path = DEVICES,
    pci: Path = topology.PCI,
    variables: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """This process's GPUs for its report in the rank map, on a host of these `units`: `gpus`, each with number, name,
    bus, and the packages and NUMA nodes near it (none where /sys doesn't tell); `gpus_unresolved`, the words of
    variables that can't be resolved to a GPU. Empty on a host where no library names a GPU."""
    usable: list[GPU] = []
    unresolved: list[str] = []
    listed: list[GPU] = []
    for files, library, list_gpus, groups in MAKERS:
        selected: list[GPU] = []
        if any(devices.glob(files)):
            with suppress(Exception):  # no library, no driver: their errors have no common base
                selected = list_gpus(import_module(library))
        listed += selected
        # CUDA puts the fastest GPU first unless it is told otherwise, and says nothing about the order of the others.
        ordered = groups is ROCM or variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
        ordered = ordered or len({gpu.name for gpu in selected}) == 1
        for group in groups:
            name = next((name for name in group if name in variables), None)
            if selected and name and (name != "SLURM_STEP_GPUS" or len(variables[name].split(",")) < len(selected)):
                selected, more = _selected(selected, variables[name], ordered)
                unresolved += more
        usable += selected
    gpus = [
        {"number": gpu.number, "name": gpu.name, "bus": gpu.bus, **topology.near_device(gpu.bus, units, pci)}
        for gpu in usable
    ]
    return {"gpus": gpus, "gpus_unresolved": unresolved} if listed else {}


def _selected(gpus: Sequence[GPU], value: str, ordered: bool) -> tuple[list[GPU], list[str]]:
    """The GPUs that a variable's value names (indices, or beginnings of UUIDs), and the words that can't be resolved:
    an instance of MIG, which is a part of a GPU, and an index where the order isn't known. As in CUDA, the list ends
    before the first word that names nothing."""
    selected: list[GPU] = []
    unresolved: list[str] = []
    for word in (part.strip() for part in value.split(",")):
        if word.startswith("MIG-") or (word.isdecimal() and not ordered):
            unresolved.append(word)
            continue
        matches = [
            gpu
            for place, gpu in enumerate(gpus)
            if word == str(place)
            or (word.startswith("GPU-") and any(uuid.lower().startswith(word.lower()) for uuid in gpu.uuids))
        ]
        if len(matches) != 1:
            break
        selected += matches
    return selected, unresolved


def distance(report: Mapping[str, Any], gpu: Mapping[str, Any]) -> str:
    """How near a GPU of a rank's report is to the rank's cores; "" where that isn't known."""
    if not gpu["packages"] or not report["packages"]:
        return ""
    if set(report["numa"]) <= set(gpu["numa"]):
        return "same NUMA node"
    if set(report["packages"]) <= set(gpu["packages"]):
        return "same package"
    return "cores on several packages" if set(report["packages"]) & set(gpu["packages"]) else "other package"


def describe(report: Mapping[str, Any]) -> str:
    """The GPUs that a rank may use, in words: `GPU 1 (other package)`; "" where the host has none."""
    if "gpus" not in report:
        return ""
    numbers: dict[str, list[int]] = {}
    for gpu in report["gpus"]:
        numbers.setdefault(distance(report, gpu), []).append(gpu["number"])
    parts = [words.numbered("GPU", some) + (f" ({how_near})" if how_near else "") for how_near, some in numbers.items()]
    parts += [f"{word} (not resolved to a GPU)" for word in report["gpus_unresolved"]]
    return ", ".join(parts) or "no GPU"
