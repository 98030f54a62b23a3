"""The program of a rank's fresh process: `python -m workshop.workloads.processor.program PARAMS`, with the params as
JSON.

It prints BEGIN before the measured steps and END, a space and a JSON object behind them; between these lines stands
oneDNN's log. The object has `step_seconds` of each step, `start`, the seconds from the start to BEGIN, and `threads`,
those of both pools that TensorFlow was asked for (0: as many as processors).
"""

from __future__ import annotations

import json
import sys
import time
from itertools import pairwise
from typing import Any

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.processor import ProcessorParams

BEGIN, END = "BEGIN", "END"
CLASSES = 1000  # of ImageNet
RATE, MOMENTUM = 0.01, 0.9
FORMATS = {"nhwc": "channels_last", "nchw": "channels_first"}


def step_of(params: ProcessorParams) -> Any:
    """A compiled step of ResNet-50 on one made-up batch: it trains or infers, and returns a number."""
    tf = tensorflow()
    keras = tf.keras
    keras.config.set_image_data_format(FORMATS[params.layout])
    keras.config.set_dtype_policy("float32" if params.precision == "float32" else f"mixed_{params.precision}")
    keras.utils.set_random_seed(params.seed)
    size = params.image_size
    shape = (size, size, 3) if params.layout == "nhwc" else (3, size, size)
    model = keras.applications.ResNet50(
        weights=None, input_shape=shape, classes=CLASSES, classifier_activation=None
    )  # logits [batch, classes]
    images = tf.random.uniform((params.batch, *shape), seed=params.seed)
    labels = tf.random.uniform((params.batch,), maxval=CLASSES, dtype=tf.int32, seed=params.seed)
    optimizer = keras.optimizers.SGD(RATE, momentum=MOMENTUM)
    optimizer.build(model.trainable_variables)

    def train() -> Any:
        with tf.GradientTape() as tape:
            logits = tf.cast(model(images, training=True), tf.float32)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    def infer() -> Any:
        return tf.reduce_mean(tf.cast(model(images, training=False), tf.float32))

    return tf.function(train if params.mode == "training" else infer, jit_compile=False)


def main(params: ProcessorParams) -> None:
    """Warm up, then measure each step and print the result."""
    began = time.perf_counter()
    tensorflow().config.optimizer.set_experimental_options({"remapping": params.fusion})
    step = step_of(params)
    for _ in range(params.warmup):
        step().numpy()
    print(BEGIN, flush=True)
    at = [time.perf_counter()]
    for _ in range(params.steps):
        step().numpy()
        at.append(time.perf_counter())
    seconds = [after - before for before, after in pairwise(at)]
    threading = tensorflow().config.threading
    threads = [threading.get_intra_op_parallelism_threads(), threading.get_inter_op_parallelism_threads()]
    print(END, json.dumps({"step_seconds": seconds, "start": at[0] - began, "threads": threads}), flush=True)


if __name__ == "__main__":
    main(ProcessorParams.model_validate_json(sys.argv[1]))
