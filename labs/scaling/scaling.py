"""Measure the parts of a training step on a few ranks, and predict the step on two and four times as many.

    mpirun -n 2 python labs/scaling/scaling.py --save two.json       measure and predict
    mpirun -n 4 --oversubscribe python labs/scaling/scaling.py --compare two.json    measure the predicted step
    python labs/scaling/scaling.py                                    one process, which has nothing to exchange

Compute is paced: a rank sleeps for a drawn time. Asleep, it needs no core. The link is emulated: a message takes at
least the set latency and the time of its bytes. So four ranks can share two cores. Read the script from top to bottom.
Every rank runs all of it.
"""

import argparse
import json
import os
import sys
import time

if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # a rank that waits gives its core away

import numpy as np
from mpi4py import MPI

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--compute", type=float, default=0.03, help="average seconds of compute (default: %(default)s)")
parser.add_argument("--spread", type=float, default=0.1, help="its relative deviation (default: %(default)s)")
parser.add_argument("--parameters", type=int, default=200_000, help="weights of 4 bytes each (default: %(default)s)")
parser.add_argument("--latency", type=float, default=500, help="of the link, in microseconds (default: %(default)s)")
parser.add_argument("--bandwidth", type=float, default=200, help="of the link, in MB/s (default: %(default)s)")
parser.add_argument("--steps", type=int, default=20, help="measured steps (default: %(default)s)")
parser.add_argument("--save", metavar="FILE", help="write the predictions there")
parser.add_argument("--compare", metavar="FILE", help="predictions of a run on fewer ranks")
options = parser.parse_args()
if not 0 < options.compute <= 1:
    parser.error("--compute should be more than 0 and at most 1")
if not 0 <= options.spread <= 1:
    parser.error("--spread should be from 0 to 1")
if not 1000 <= options.parameters <= 5_000_000:
    parser.error("--parameters should be from 1000 to 5000000")
if not 0 <= options.latency <= 100_000:
    parser.error("--latency should be from 0 to 100000")
if not 0.1 <= options.bandwidth <= 100_000:
    parser.error("--bandwidth should be from 0.1 to 100000")
if not 2 <= options.steps <= 1000:
    parser.error("--steps should be from 2 to 1000")

comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
right, left = (rank + 1) % ranks, (rank - 1) % ranks
stream = np.random.default_rng([12, rank])
gradients = np.ones(options.parameters, np.float32)
REPEATS = 24  # measurements of compute


# 1. The parts of a step.
def compute():
    """Sleep as long as the forward and the backward pass would take."""
    sigma = np.sqrt(np.log1p(options.spread**2))
    time.sleep(options.compute * np.exp(sigma * stream.standard_normal() - sigma**2 / 2))


def exchange_message(values, room):
    """Send to the right neighbour and receive from the left one. The emulated link sets the least time."""
    end = time.perf_counter() + options.latency / 1e6 + values.nbytes / (options.bandwidth * 1e6)
    requests = [comm.Irecv(room, source=left), comm.Isend(values, dest=right)]
    time.sleep(max(0.0, end - time.perf_counter()))
    while not MPI.Request.Testall(requests):  # a rank that waits in MPI would need a core
        time.sleep(5e-5)


def all_reduce(values):
    """Replace `values` by the sum over all ranks: a ring with 2 (n - 1) rounds."""
    chunks = np.array_split(values, ranks)  # views: they share the memory
    arrived = np.empty_like(chunks[0])  # as long as the longest chunk
    for number in range(ranks - 1):
        chunk = chunks[(rank - number - 1) % ranks]
        exchange_message(chunks[(rank - number) % ranks], arrived[: len(chunk)])
        chunk += arrived[: len(chunk)]
    for number in range(ranks - 1):
        exchange_message(chunks[(rank - number + 1) % ranks], chunks[(rank - number) % ranks])


def seconds_of(part, *arguments):
    """The time that this rank needs for a part."""
    began = time.perf_counter()
    part(*arguments)
    return time.perf_counter() - began


# 2. Measure compute on each rank, and the all-reduce by size.
own_times = [seconds_of(compute) for _ in range(REPEATS)]
times = np.sort(np.concatenate(comm.allgather(own_times)))


def measure_all_reduce(size):
    """The median of five all-reduces of so many bytes, each as long as on the slowest rank."""
    repeats = []
    for _ in range(5):
        values = np.ones(size // 4, np.float32)
        comm.Barrier()
        repeats.append(comm.allreduce(seconds_of(all_reduce, values), op=MPI.MAX))
        if not np.all(values == ranks):
            print(f"Rank {rank} has a wrong sum of {len(values)} numbers.", file=sys.stderr, flush=True)
            comm.Abort(1)
    return float(np.median(repeats))


sizes = [4096, 65536, 262144, 4 * options.parameters]
measured = {size: measure_all_reduce(size) for size in sizes} if ranks > 1 else {}


# 3. Fit the link: an all-reduce takes 2 (n - 1) (latency + size / n / bandwidth), a line over the size.
def fit_link(measured):
    """Latency in seconds and bandwidth in bytes per second: a line with the least relative errors."""
    size, seconds = np.array(list(measured)), np.array(list(measured.values()))
    slope, start = np.polyfit(size, seconds, 1, w=1 / seconds)
    rounds = 2 * (ranks - 1)
    return max(start, 0.0) / rounds, rounds / ranks / max(slope, 1e-15)


# 4. Predict a step on so many ranks.
def step_seconds(times, count, size, latency, bandwidth):
    """The expected slowest of `count` draws from the sorted times, and the all-reduce behind it."""
    share = np.arange(len(times) + 1) / len(times)
    slowest = float(times @ np.diff(share**count))
    return slowest + 2 * (count - 1) * (latency + size / count / bandwidth)


# 5. Measure whole steps. All ranks begin together, so the slowest rank decides.
def measure_steps():
    """The average time of a step."""
    comm.Barrier()
    began = time.perf_counter()
    for _ in range(options.steps):
        compute()
        all_reduce(gradients)
    return comm.allreduce(time.perf_counter() - began, op=MPI.MAX) / options.steps


seconds = measure_steps()


# 6. Rank 0 writes what came out.
def report():
    """Print the measurements and the predictions. Returns an error in one sentence, or None."""
    print(f"{ranks} rank{'s' if ranks > 1 else ''}: compute {1000 * times.mean():.1f} ms on average")
    print(f"a step, measured: {1000 * seconds:.1f} ms")
    if ranks == 1:
        print("One rank sends no message, so there is no link to fit. Run the script on two ranks.")
    else:
        for size, all_reduce_seconds in measured.items():
            print(f"  all-reduce of {size:>9,} bytes: {1000 * all_reduce_seconds:6.2f} ms")
        latency, bandwidth = fit_link(measured)
        print(f"the link, fitted: latency {1e6 * latency:.0f} microseconds, bandwidth {bandwidth / 1e6:.0f} MB/s")
        counts = [ranks, 2 * ranks, 4 * ranks]
        steps = {count: step_seconds(times, count, 4 * options.parameters, latency, bandwidth) for count in counts}
        for count, predicted in steps.items():
            efficiency = times.mean() / predicted
            print(f"  {count:3} ranks, predicted: {1000 * predicted:6.1f} ms, weak efficiency {efficiency:.0%}")
        if options.save:
            settings = [options.compute, options.spread, options.parameters, options.latency, options.bandwidth]
            try:
                with open(options.save, "w") as file:
                    json.dump({"settings": settings, "steps": steps}, file)
            except OSError as error:
                return f"{options.save} can't be written: {error.strerror}."
    return compare() if options.compare else None


def compare():
    """Print the measured step beside the prediction of an earlier run."""
    try:
        with open(options.compare) as file:
            earlier = json.load(file)
        predicted = earlier["steps"].get(str(ranks))
        settings = earlier["settings"]
    except OSError as error:
        return f"{options.compare} can't be read: {error.strerror}."
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{options.compare} has no predictions; `--save` writes a file that has."
    if settings != [options.compute, options.spread, options.parameters, options.latency, options.bandwidth]:
        return f"{options.compare} has other settings; compare runs with the same ones."
    if predicted is None:
        return f"{options.compare} has no prediction for {ranks} ranks, but for {' and '.join(earlier['steps'])}."
    print(f"predicted on fewer ranks: {1000 * predicted:.1f} ms, error {predicted / seconds - 1:+.1%}")
    return None


error = report() if rank == 0 else None
sys.stdout.flush()
if problem := comm.bcast(error):
    if rank == 0:
        print(problem, file=sys.stderr, flush=True)
    sys.exit(1)
