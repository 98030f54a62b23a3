"""Gradients over Horovod, see `exchange`."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.engine.context import library
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.mpi_exchanges import MPIExchange
from workshop.mpi import horovod, openmpi

AUTOTUNE, AUTOTUNE_LOG = "HOROVOD_AUTOTUNE", "HOROVOD_AUTOTUNE_LOG"
AUTOTUNE_FILE = "horovod-autotune.csv"
SAMPLED = 64 << 20  # bytes that are exchanged to time an exchange, about


class HorovodExchange(Exchange):
    """Horovod's grouped all-reduce: negotiated, fused and executed by its background thread.

    Its stock wrapper of Keras optimizers reduces nothing under Keras 3; here its operations are called themselves.
    """

    name = "horovod"

    def __init__(self, comm: Any, short: str = "none") -> None:
        """`short`: the format of gradients on their way, none or float16. With HOROVOD_AUTOTUNE=1 on all ranks, Horovod
        tries out its own settings; the log of that is an artifact."""
        super().__init__(comm)
        import horovod.tensorflow as hvd

        self.hvd = hvd
        self.compression = hvd.Compression.fp16 if short == "float16" else hvd.Compression.none
        self._log: Path | None = None
        if os.environ.get(AUTOTUNE) == "1" and AUTOTUNE_LOG not in os.environ:
            self._log = Path(tempfile.mkdtemp(prefix="workshop-")) / AUTOTUNE_FILE
            os.environ[AUTOTUNE_LOG] = str(self._log)
        self._gradients: list[Any] = []  # shapes and types, once a step was built
        hvd.init()
        if hvd.size() != comm.size:
            hvd.shutdown()
            raise BadInput(f"Horovod sees {hvd.size()} ranks, the run has {comm.size}; use the exchange mpi.")

    def average(self, gradients: list[Any]) -> list[Any]:
        self._count(gradients, 1 if self.comm.size > 1 else 0)
        if self.compression is self.hvd.Compression.fp16:
            self.bytes //= 2
        self._gradients = [(gradient.shape, gradient.dtype) for gradient in gradients]
        # Ranks find each other's tensors by name; a rank with another batch's size runs another graph than its peers.
        named = [self.tf.identity(gradient, name=f"gradient_{number}") for number, gradient in enumerate(gradients)]
        averaged: list[Any] = self.hvd.grouped_allreduce(named, op=self.hvd.Average, compression=self.compression)
        return averaged

    def broadcast(self, variables: Sequence[Any]) -> None:
        self.hvd.broadcast_variables([variable.value for variable in variables], root_rank=0)

    def mpi_seconds(self) -> float | None:
        if self.comm.size == 1 or not self.bytes:
            return None
        exchange, tensors = MPIExchange(self.comm), [self.tf.zeros(*gradient) for gradient in self._gradients]
        average = self.tf.function(lambda: exchange.average(tensors))
        average()  # builds the graph
        seconds = []
        for _ in range(min(max(SAMPLED // self.bytes, 3), 30)):
            self.comm.Barrier()
            began = time.perf_counter()
            average()
            seconds.append(time.perf_counter() - began)
        return float(self.comm.allreduce(np.median(seconds), op=MPI.MAX))

    def close(self) -> None:
        if self._log is not None:
            os.environ.pop(AUTOTUNE_LOG, None)
        # Its background thread would go on looking for work a thousand times a second, between runs as well.
        self.hvd.shutdown()

    def artifacts(self) -> Mapping[str, str]:
        if self._log is None:
            return {}
        text = self._log.read_text(errors="replace") if self._log.exists() else ""
        shutil.rmtree(self._log.parent, ignore_errors=True)
        return {AUTOTUNE_FILE: text} if text else {}


def horovod_obstacle() -> str | None:
    """Why Horovod can't exchange gradients between these ranks, in half a sentence; None where it can."""
    ours = library()
    horovod_build = horovod.build()  # of this rank's own environment
    if horovod_build.state != "built":
        return horovod_build.obstacle
    if ours != (its := f"Open MPI v{openmpi.version()}"):
        return f"it is built with {its}, these ranks run under {ours}"
    with contextlib.suppress(Exception):  # whatever its library lacks when it is loaded
        tensorflow()
        import horovod.tensorflow as hvd

        if hvd.mpi_built():
            return None
    return "what is installed of it can't be loaded with this TensorFlow and Open MPI"
