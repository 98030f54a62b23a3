"""Why OpenMP's variables don't change how stock TensorFlow runs, as far as a run's own threads bear it out.

Intel's build of TensorFlow, of which much advice speaks, ran its kernels on OpenMP threads. The stock one runs them on
thread pools of its own, which it takes from Eigen (intra-op: the threads within an operation; inter-op: operations
beside each other), and its oneDNN is built to work on that pool, too (oneDNN's "threadpool" runtime). tensorflow-cpu
2.21 neither links an OpenMP library nor asks one for anything; that libgomp is in the process all the same is due to
others, such as scikit-learn. Tried: with OMP_NUM_THREADS 1, 2 and 8 it makes the same threads and is as fast.
"""

from __future__ import annotations

from workshop.core import words
from workshop.store.records import RunRecord

PREFIXES = ("OMP_", "KMP_", "GOMP_")  # of variables that an OpenMP library reads
INSTEAD = "TF_NUM_INTRAOP_THREADS"


def is_openmp(variable: str) -> bool:
    """Whether it is for an OpenMP library that a variable is."""
    return variable.startswith(PREFIXES)


def matters(run: RunRecord) -> bool | None:
    """Whether OpenMP threads worked in a training run; None where it tells nothing of its threads."""
    censuses = run.metrics.get("threads")
    if not isinstance(censuses, list) or not censuses:
        return None
    return any((census.get("openmp") or {}).get("busy") for census in censuses)


def why(run: RunRecord | None = None, variable: str = "OMP_NUM_THREADS", who: str = "this run") -> str:
    """Why an OpenMP variable changes nothing, with what the run's threads show; that it may matter after all, where
    they show otherwise. `who` is what the run is called."""
    worked = matters(run) if run is not None else None
    if run is not None and worked:
        return f"OpenMP threads worked in {who}, so {variable} may well matter here."
    reason = (
        f"{variable} is for OpenMP libraries, and stock TensorFlow has none: it runs its kernels, oneDNN's too, on "
        f"Eigen's thread pool, whose size {INSTEAD} sets, as a run's threads do (--threads)."
    )
    if run is None or worked is None:
        return reason
    pool = [census.get("intra-op") or {} for census in run.metrics["threads"]]
    threads = sum(int(census.get("count") or 0) for census in pool)
    return (
        f"{reason} {words.capital(who)} had {words.count(threads, 'thread')} of that pool, and no OpenMP thread worked."
    )
