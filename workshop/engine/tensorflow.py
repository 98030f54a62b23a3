"""TensorFlow on a rank, with the threads that the placement gave it."""

from __future__ import annotations

import os
from typing import Any

from workshop.engine.lean import lean

INTRA, INTER = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"


def tensorflow() -> Any:
    """Import TensorFlow, which has no types. Its threads are set here, since they are fixed by the first operation of a
    process: from the variables of the placement where there are any, else as TensorFlow chooses."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with lean():
        import tensorflow as tf

    threading = tf.config.threading
    wanted = ((INTRA, threading.set_intra_op_parallelism_threads), (INTER, threading.set_inter_op_parallelism_threads))
    for variable, put in wanted:
        if (threads := os.environ.get(variable, "")).isdigit():
            try:
                put(int(threads))
            except RuntimeError:
                break  # an earlier run of this process has set the same: the placement is the engines' own
    return tf
