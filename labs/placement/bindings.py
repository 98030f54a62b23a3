"""Say where each rank runs: its host, its process, the cores that it may use, and with whom it shares them.

    mpirun -n 2 python labs/placement/bindings.py                    two ranks, bound to a core each
    mpirun -n 2 --bind-to none python labs/placement/bindings.py     the same, free to run anywhere
    mpirun -n 2 --bind-to none python labs/placement/bindings.py --threads 4      and with four threads each

Read it from top to bottom. What a launcher says of ranks is a plan; what a rank says of itself is what it got.
"""

import argparse
import glob
import json
import os
import socket
import sys

if not {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & os.environ.keys():  # no mpirun: Open MPI would leave shared memory behind
    os.environ |= {"OMPI_MCA_btl": "self"}
from mpi4py import MPI

SYSTEM = "/sys/devices/system"

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
given = os.environ.get("OMP_NUM_THREADS", "")
usual = int(given) if given.isdigit() and int(given) else 1
parser.add_argument("--threads", type=int, default=usual, help="of each rank that compute (default: %(default)s)")
parser.add_argument("--json", action="store_true", help="a line of JSON at the end")
options = parser.parse_args()
if options.threads < 1:
    parser.error(f"--threads {options.threads} should be at least 1")


def read(path, otherwise=""):
    """The text of a small file of the kernel's; a container may hide it."""
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return otherwise


def numbers(text):
    """Linux's list of numbers, 0-3,8, as a list: 0, 1, 2, 3, 8."""
    found = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def ranges(values):
    """The reverse: 0, 1, 2, 3, 8 as 0-3,8."""
    parts = []
    for value in sorted(set(values)):
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in parts) or "-"


def count(number, noun):
    """1 core, 2 cores."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def machine():
    """The core, package and NUMA node of each processing unit of this host. The kernel's numbers of cores may begin
    anew in each package and have gaps, so cores and packages are counted from 0 here."""
    allowed = os.sched_getaffinity(0)
    units = sorted(set(numbers(read(f"{SYSTEM}/cpu/online"))) | allowed)
    node_of = {}
    for folder in glob.glob(f"{SYSTEM}/node/node[0-9]*"):
        for unit in numbers(read(f"{folder}/cpulist")):
            node_of[unit] = int(folder.rpartition("node")[2])
    package_of = {unit: int(read(f"{SYSTEM}/cpu/cpu{unit}/topology/physical_package_id", "0")) for unit in units}
    core_of = {
        unit: (package_of[unit], int(read(f"{SYSTEM}/cpu/cpu{unit}/topology/core_id", str(unit)))) for unit in units
    }
    packages, cores = sorted(set(package_of.values())), sorted(set(core_of.values()))
    return {
        unit: (cores.index(core_of[unit]), packages.index(package_of[unit]), node_of.get(unit, 0)) for unit in units
    }


# 1. Each rank looks at itself. The kernel knows on which processing units a process may run: that is its binding,
#    whoever made it (mpirun, a job's cgroup, taskset).
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()
there = machine()
units = sorted(os.sched_getaffinity(0))
mine = {
    "rank": rank,
    "host": socket.gethostname(),
    "pid": os.getpid(),
    "units": units,
    "cores": sorted({there[unit][0] for unit in units}),
    "packages": sorted({there[unit][1] for unit in units}),
    "numa": sorted({there[unit][2] for unit in units}),
    "all": len(units) == len(there),  # it may run on the whole host
}

# 2. What was found is held against what two others say: the kernel's status of this process, and the launcher's
#    variables. A launcher of another MPI than mpi4py's starts many worlds of one rank each, and says nothing.
wrong = []
status = [line.partition(":")[2] for line in read("/proc/self/status").splitlines() if "Cpus_allowed_list" in line]
if status and numbers(status[0]) != units:
    wrong.append(f"rank {rank} found units {ranges(units)}, but the kernel's status says {status[0].strip()}")
launched = os.environ.get("OMPI_COMM_WORLD_SIZE") or os.environ.get("PMI_SIZE") or str(size)
if int(launched) != size:
    wrong.append(f"the launcher started {launched} ranks, but this world has {size}: is mpirun of mpi4py's own MPI?")

# 3. Rank 0 gathers what all have found, and prints the map.
reports = comm.gather(mine)
faults = comm.gather(wrong)
code = 0
if rank == 0:
    table = [("rank", "host", "pid", "units", "cores", "packages", "NUMA nodes", "")]
    for one in reports:
        free = "may run anywhere" if one["all"] else ""
        lists = [ranges(one[name]) for name in ("units", "cores", "packages", "numa")]
        table.append((str(one["rank"]), one["host"], str(one["pid"]), *lists, free))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip())

    # 4. Who shares a core? For each core of each host, the ranks that may run there. Cores with the same ranks are
    #    told together.
    users = {}
    for one in reports:
        for core in one["cores"]:
            users.setdefault((one["host"], core), []).append(one["rank"])
    shared = {}
    for (host, core), ranks in users.items():
        if len(ranks) > 1:
            shared.setdefault((host, tuple(ranks)), []).append(core)

    # 5. Sharing is no harm while there are as many cores as threads that want one. With fewer, they take turns. Ranks
    #    count where all of their cores are among these; the others can go elsewhere.
    for (host, ranks), cores in sorted(shared.items()):
        wanted = options.threads * sum(one["rank"] in ranks and set(one["cores"]) <= set(cores) for one in reports)
        where = f"{'core' if len(cores) == 1 else 'cores'} {ranges(cores)} of {host}"
        if wanted > len(cores):
            how = f"{wanted} threads for {len(cores)}, so they take turns"
        elif wanted == 0:
            how = "each of them has other cores, too"
        else:
            how = "there is enough for all, but nothing keeps them apart"
        print(f"Ranks {ranges(ranks)} share {where}: {how}.")
    for one in reports:
        alone = not any(one["rank"] in ranks for _, ranks in shared)
        if alone and options.threads > len(one["cores"]):
            few = count(len(one["cores"]), "core")
            print(f"Rank {one['rank']} has {options.threads} threads on {few}, so they take turns.")
    if not shared:
        print("No two ranks share a core.")

    # 6. The same once more, the slow way: two ranks share what both of their sets have.
    slow = {}
    for one in reports:
        for other in reports:
            if one["rank"] < other["rank"] and one["host"] == other["host"]:
                for core in set(one["cores"]) & set(other["cores"]):
                    slow.setdefault((one["host"], core), set()).update((one["rank"], other["rank"]))
    if slow != {place: set(ranks) for place, ranks in users.items() if len(ranks) > 1}:
        faults.append(["the two ways to find who shares a core don't agree"])
    if [one["rank"] for one in reports] != list(range(size)):
        faults.append([f"the reports are of ranks {[one['rank'] for one in reports]} instead of 0 to {size - 1}"])
    for fault in [fault for of_rank in faults for fault in of_rank]:
        print(f"Wrong: {fault}.", file=sys.stderr)
    code = int(any(faults))
    if options.json:
        told = [{"host": host, "ranks": list(ranks), "cores": cores} for (host, ranks), cores in shared.items()]
        print(json.dumps({"ranks": reports, "shared": told, "threads": options.threads}))

sys.exit(comm.bcast(code))
