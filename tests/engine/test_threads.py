"""The census of a process's threads: real threads of real libraries, each told by where it began."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support import limit, until
from workshop.core.rank_map import KernelThread
from workshop.engine import threads
from workshop.engine.context import RankContext
from workshop.engine.threads import Census, CoreTime, Origin, Origins, add_census, count, of_thread, working
from workshop.report.analysis.threads import KINDS

# Imports what names none of its threads, has each of them work, and prints what the census says.
LIBRARIES = """
import json, os, time
import numpy as np, zmq
from workshop.engine.threads import Census
context = zmq.Context()
line = context.socket(zmq.DEALER)
a = np.ones((900, 900))
a @ a
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits
points = np.random.default_rng(0).random((20_000, 8))
with threadpool_limits(2):
    KMeans(4, n_init=1).fit(points)
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(3)
tf.config.threading.set_inter_op_parallelism_threads(2)
b = tf.random.normal((900, 900))
(b @ b).numpy()
census = Census()
census.begin()
worked, end = time.process_time() + 3, time.perf_counter() + 60
while time.process_time() < worked and time.perf_counter() < end:
    b @ b
costs = []
for _ in range(20):
    began = time.perf_counter()
    census.look()
    costs.append(time.perf_counter() - began)
names = {open(f"/proc/self/task/{tid}/comm").read().strip() for tid in os.listdir("/proc/self/task")}
print(json.dumps({"told": census.as_json(), "seconds": census.seconds, "cost": min(costs), "names": sorted(names)}))
line.close(0)
"""


@pytest.mark.real
def test_threads_without_a_name_are_told_by_where_they_began(tmp_path: Path):
    ended = subprocess.run(
        [sys.executable, "-c", LIBRARIES], capture_output=True, text=True, timeout=limit(150), cwd=tmp_path, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    answer = json.loads(ended.stdout.splitlines()[-1])
    kinds = answer["told"]
    assert "tf_numa_-1_Eigen" not in answer["names"], "the kernel takes 15 letters"
    assert kinds["intra-op"]["count"] == 3
    assert kinds["inter-op"]["count"] == 2
    assert kinds["main"]["count"] == 1
    assert kinds["zeromq"]["count"] == 2
    assert kinds["openmp"]["count"] >= 1
    assert kinds["blas"]["count"] >= 1
    assert kinds["intra-op"]["busy"] == 3
    assert kinds["intra-op"]["seconds"] > 0.2
    assert kinds["inter-op"]["busy"] == kinds["zeromq"]["busy"] == kinds["blas"]["busy"] == 0
    assert answer["seconds"] > 0
    assert answer["cost"] < 1e-3, "a look costs less than a millisecond"
    assert set(kinds) <= set(KINDS), "the analysis has a word for each kind"


@pytest.mark.parametrize(
    ("name", "library", "own", "kind"),
    [
        ("python", "libtensorflow_framework.so.2", "tf_numa_-1_Eigen", "intra-op"),
        ("tf_Compute", "libtensorflow_framework.so.2", "tf_Compute", "inter-op"),
        ("python", "libgomp-e985bcbb.so.1.0.0", "", "openmp"),
        ("python", "libscipy_openblas64_-32a4b2a6.so", "", "blas"),
        ("python", "workqueue.cpython-311-x86_64-linux-gnu.so", "", "numba"),
        ("python", "libtbb.so.12", "", "tbb"),
        ("python", "mpi_lib.cpython-311-x86_64-linux-gnu.so", "", "horovod"),
        ("async", "libucs.so.0", "", "mpi"),
        ("ZMQbg/IO/0", "libzmq-2f02442c.so.5.2.5", "", "zeromq"),
        ("reporter", "libpython3.11.so.1.0", "", "reporter"),
        ("python", "python3.11", "", "python"),
        ("jemalloc_bg_thd", "libarrow.so.2600", "", "other"),
    ],
)
def test_kinds(name: str, library: str, own: str, kind: str):
    assert of_thread(KernelThread(7, name, 0, 0, 0), Origin(library, own), main=1) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("reporter", "reporter"), ("python", "other")),
    ],
)
def test_without_origins_names_must_do(name: str, kind: str):
    assert of_thread(KernelThread(7, name, 0, 0, 0), None, main=1) == kind
    assert of_thread(KernelThread(7, name, 0, 0, 0), None, main=7) == "main"


def test_what_works_and_what_only_wakes_up():
    pool = {f"pool {number}": 0.25 for number in range(16)}
    helpers = {"horovod": 0.06, "reporter": 0.02, "asleep": 0.0}
    assert working(pool | helpers, least=0.04) == set(pool), "however many share the processors"
    assert working({"a": 2.0, "b": 1.9, "c": 0.1}, least=0.04) == {"a", "b"}
    assert working({"a": 0.03, "b": 0.02}, least=0.04) == set()
    assert working({"a": 0.0}, least=0.0) == set()
    assert working({}, least=0.0) == set()


def spin(until_set: threading.Event) -> None:
    while not until_set.is_set():
        sum(range(1000))


def test_a_census_counts_from_when_it_begins():
    stop = threading.Event()
    before = threading.Thread(target=spin, args=(stop,))
    before.start()
    mine = Origins()
    until(lambda: before.native_id in mine.find([before.native_id or 0]), 10, "the thread's origin")
    assert "python" in mine.find([before.native_id or 0])[before.native_id or 0].library
    until(lambda: count().as_json()["python"]["seconds"] >= 0.2, 60, "the thread to have worked")
    census = Census()
    assert not census.looked
    census.begin()
    stop.set()
    before.join()
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    time.sleep(0.3)
    census.look()
    counted = census.as_json()["python"]
    assert counted["seconds"] < 0.2, "what it did before doesn't count"
    assert counted["count"] >= 1
    done.set()
    other.join()
    census.look()
    assert census.as_json()["python"]["count"] >= 1, "one that has ended meanwhile was there"
    assert census.seconds >= 0.3
    until_now = census.seconds
    census.look(60)
    assert census.seconds == until_now, "it was looked a moment ago"
    census.begin()
    assert not census.looked and census.as_json() == {}
    census.look(60)
    assert census.looked, "for the first time since it began"


@pytest.mark.parametrize("hindrance", ["another processor", "a call that is forbidden", "memory that is closed"])
def test_where_origins_can_t_be_had_there_are_none(hindrance: str, monkeypatch: pytest.MonkeyPatch):
    if hindrance == "another processor":
        monkeypatch.setattr(threads, "_GET_ROBUST_LIST", None)
    elif hindrance == "a call that is forbidden":
        monkeypatch.setattr(threads, "_GET_ROBUST_LIST", 1 << 20)  # the kernel has none of that number
    else:
        monkeypatch.setattr(threads, "MEMORY", "/proc/self/nothing")
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    assert Origins().find([other.native_id or 0]) == {}
    census = count()
    assert census.as_json()["main"]["count"] == 1
    assert census.as_json()["other"]["count"] >= 1
    done.set()
    other.join()


def test_metrics_have_a_census_only_where_somebody_has_begun_one():
    from mpi4py import MPI

    ctx = RankContext(MPI.COMM_SELF)
    assert add_census(ctx.threads, ctx.comm, {"loss": 1.0}) == {"loss": 1.0}
    ctx.threads.begin()
    assert add_census(ctx.threads, ctx.comm, {"loss": 1.0}) == {"loss": 1.0}, "nothing was measured"
    ctx.threads.look()
    metrics = add_census(ctx.threads, ctx.comm, {"loss": 1.0})
    (census,) = metrics["threads"]
    assert census["main"]["count"] == 1
    assert metrics["loss"] == 1.0 and metrics["threads_seconds"] >= 0
    assert json.loads(json.dumps(metrics)) == metrics


def test_the_time_of_a_core_counts_from_the_first_look():
    core = CoreTime()
    assert core.as_json() is None
    core.look()
    assert core.as_json() is None, "nothing has been done since"
    began = time.thread_time()
    while time.thread_time() < began + 0.01:
        pass
    core.look()
    told = core.as_json()
    assert told is not None and told["worked"] >= 0.01 and told["waited"] >= 0


def test_a_kernel_that_hides_the_time_of_a_core_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workshop.engine.threads.TASKS", str(tmp_path))
    core = CoreTime()
    core.look()
    core.look()
    assert core.as_json() is None
    (tmp_path / str(os.getpid())).mkdir()
    (tmp_path / str(os.getpid()) / "schedstat").write_text("0 0 0\n")
    core.look()
    core.look()
    assert core.as_json() is None
