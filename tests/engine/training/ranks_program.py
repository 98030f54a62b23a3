"""Runs under mpirun: trains the same small network through every exchange, and rank 0 writes what came out."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from tests.support import until
from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.batches import Batches
from workshop.engine.training.compression import FORMATS
from workshop.engine.training.exchanges import WAYS, ExchangeSettings, choose
from workshop.engine.training.loop import Loop, StepReader
from workshop.engine.training.optimizer import distribute
from workshop.engine.training.step import supervised
from workshop.engine.training.step_report import StepReporter
from workshop.engine.training.training_run import digest, spread

COUNT, FEATURES, CLASSES, BATCH, EPOCHS, SEED = 97, 12, 4, 8, 2, 5
RATE = 0.1
BUCKET = 0.0003  # MB: the four tensors make three buckets


def count(ranks):
    """How many of the examples are used: of 2 and 4 ranks all but the first have none left in an epoch's last step, of
    3 the last one's last batch alone is partial."""
    return COUNT if ranks % 2 == 0 else COUNT - 2


def examples():
    """float32 [97, 12] and int32 [97]."""
    stream = np.random.default_rng(11)
    inputs = stream.normal(size=(COUNT, FEATURES)).astype(np.float32)
    labels = (inputs @ stream.normal(size=(FEATURES, CLASSES))).argmax(axis=1).astype(np.int32)
    return inputs, labels


def network(seed):
    """A model without batch normalisation and dropout, with a penalty on its weights."""
    keras = tensorflow().keras
    keras.utils.set_random_seed(seed)
    layers = keras.layers
    return keras.Sequential(
        [
            layers.Input((FEATURES,)),
            layers.Dense(16, activation="tanh", kernel_regularizer=keras.regularizers.L2(1e-3)),
            layers.Dense(CLASSES),
        ]
    )


def loss(labels, outputs):
    return tensorflow().nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)


def correct(labels, outputs):
    tf = tensorflow()
    return tf.equal(tf.argmax(outputs, axis=-1, output_type=labels.dtype), labels)


def trained(comm, way, kind, parts=1, **settings):
    """Weights, digests of all ranks, spread, and what was told, after two epochs of the loop."""
    tf = tensorflow()
    tf.keras.utils.clear_session()
    model = network(100 + comm.rank)
    optimizer = tf.keras.optimizers.get({"class_name": kind, "config": {"learning_rate": RATE}})
    optimizer.build(model.trainable_variables)
    exchange, _ = choose(ExchangeSettings(way, bucket=BUCKET, **settings), comm)
    exchange.record() if way == "mpi-overlap" else None
    before = spread(comm, model.weights)
    exchange.broadcast(model.weights)
    start = [weight.numpy().tolist() for weight in model.weights]
    batches = Batches(count(comm.size), comm.size, BATCH, SEED)
    inputs, labels = (part[batches.examples(comm.rank)] for part in examples())
    sink = Memory()
    ctx = RankContext(comm, sink)
    reading = StepReader(
        batches, comm.rank, lambda at: (tf.constant(inputs[at]), tf.constant(labels[at])), alone=way == "none"
    )
    loop = Loop(
        ctx,
        supervised(model, optimizer, loss, correct, exchange, parts=parts),
        StepReporter(ctx),
        total=EPOCHS * batches.steps,
    )
    for epoch in range(EPOCHS):
        loop.take(reading.steps, reading.epoch(epoch))
    exchange.close()
    return {
        "transfers": len(exchange.transfers),
        "used": exchange.name,
        "start": start,
        "weights": [weight.numpy().tolist() for weight in model.weights],
        "digests": comm.allgather(digest(model.weights)),
        "spread_before": before,
        "spread": spread(comm, model.weights),
        "steps": comm.allgather(loop.done),
        "bytes": exchange.bytes,
        "messages": exchange.messages,
        "losses": [value for _, name, _, value in sink.events if name == "loss"],
        "names": comm.allgather(sorted({name for _, name, _, _ in sink.events})),
        "totals": {
            "steps": loop.reporter.totals.steps,
            "examples": loop.reporter.totals.examples.tolist(),
            "last": loop.reporter.totals.last.tolist(),
        },
    }


def early(comm):
    """How many buckets had arrived when the first tensor's gradient was computed, which waits for the last tensor's."""
    tf = tensorflow()
    exchange, _ = choose(ExchangeSettings("mpi-overlap", bucket=BUCKET), comm)
    exchange.record()
    variables = [tf.Variable(tf.zeros(100)) for _ in range(2)]
    arrived = []

    def compute(value):
        until(lambda: comm.size == 1 or exchange.transfers, 60, "the last tensor's bucket to arrive")
        arrived.append(len(exchange.transfers))
        return np.full(100, value, np.float32)

    def update(averaged):
        for variable, gradient in zip(variables, averaged, strict=True):
            variable.assign(gradient)

    @tf.function
    def step(value):
        # Stateless, or it would have to be called before the buckets' own calls.
        first = tf.ensure_shape(tf.numpy_function(compute, [value], tf.float32, stateful=False), [100])
        return exchange.apply([first, tf.fill([100], value)], variables, update)

    step(tf.constant(float(comm.rank)))
    exchange.close()
    return {"arrived": arrived, "means": [float(variable[0]) for variable in variables]}


def fitted(comm, way):
    """Digests after `model.fit` with a distributed optimizer, each rank on data of its own."""
    tf = tensorflow()
    tf.keras.utils.clear_session()
    model = network(200)
    exchange, _ = choose(ExchangeSettings(way), comm)
    inputs, labels = examples()
    mine = np.arange(comm.rank, COUNT - COUNT % comm.size, comm.size)
    optimizer = distribute(tf.keras.optimizers.Adam(RATE), exchange)
    model.compile(optimizer, tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    model.fit(inputs[mine], labels[mine], batch_size=len(mine), epochs=3, verbose=0, shuffle=False)
    exchange.close()
    return {"digests": comm.allgather(digest(model.weights)), "weights": [w.numpy().tolist() for w in model.weights]}


def main():
    os.environ["TF_NUM_INTEROP_THREADS"] = "2"  # one hands over buckets while the other computes
    comm = MPI.COMM_WORLD
    found = {"ranks": comm.size, "trained": {}, "fitted": {}}
    for kind in ("SGD", "Adam"):
        for way in WAYS:
            if kind == "SGD" or way in ("horovod", "mpi", "mpi-overlap", "parameter-server"):
                found["trained"][f"{way} {kind}"] = trained(comm, way, kind)
    for name in FORMATS:
        found["trained"][f"compressed to {name}"] = trained(comm, "mpi", "SGD", compression=name, share=0.25)
    found["trained"]["overlap 8bit"] = trained(comm, "mpi-overlap", "SGD", compression="8bit")
    found["trained"]["in parts"] = trained(comm, "mpi", "SGD", parts=3)
    for way in ("horovod", "mpi", "mpi-overlap", "parameter-server"):
        found["fitted"][way] = fitted(comm, way)
    found["early"] = early(comm)
    found["auto"] = trained(comm, "auto", "SGD")["used"]
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
