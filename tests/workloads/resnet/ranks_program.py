"""Runs under mpirun: the benchmark with several exchanges, and one step against a step of one process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from workshop.engine.context import Memory, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.exchanges import ExchangeSettings, choose
from workshop.engine.training.training_run import digest
from workshop.workloads.resnet import WORKLOAD
from workshop.workloads.resnet.run import RATE, ResnetTraining, made_up_batch

SMALL = {"batch": 2, "image_size": 32, "rounds": 2, "steps": 1}
WHOLE = {"exchange": "horovod", "model": "mobilenet-v2", "warmup": 3}
ONE_STEP = "mpi"


def run(comm, **params):
    """All of a benchmark with Horovod. `told` are the values of rank 0's events by name and step."""
    sink = Memory()
    metrics = WORKLOAD.load()(RankContext(comm, sink), WORKLOAD.check(SMALL | WHOLE | params))
    told = {name: {} for name in ("images/s", "loss")}
    for _, name, number, value in sink.events:
        if name in told:
            told[name][number] = value
    artifacts = {name: data.decode() for name, (_, data) in sink.artifacts.items()}
    return {"metrics": metrics, "artifacts": artifacts, "activities": sink.activities, "told": told}


def step(comm, way):
    """One step of VGG16 with an exchange: each rank's weights after it, and how far the update of all ranks is from
    that of one process with all their images, relative to the update's norm. VGG16 has no batch norm, so that each
    image counts by itself."""
    tf = tensorflow()
    params = WORKLOAD.check(SMALL | {"exchange": way, "model": "vgg16"})
    exchange, _ = choose(ExchangeSettings(way), comm)
    training = ResnetTraining(RankContext(comm), params, exchange, lambda begins: None)
    weights = training.model.trainable_variables
    before = [weight.numpy() for weight in weights]
    batches = [made_up_batch(params, rank) for rank in range(comm.size)]
    images, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    with tf.GradientTape() as tape:
        logits = training.model(images, training=True)
        losses = tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        loss = tf.reduce_mean(losses)
    gradients = tape.gradient(loss, [weight.value for weight in weights])
    expected = np.concatenate([-RATE * np.ravel(gradient) for gradient in gradients])
    training.loop.take(1, training.batch)
    update = np.concatenate([np.ravel(new.numpy() - old) for new, old in zip(weights, before, strict=True)])
    difference = float(np.linalg.norm(update - expected) / np.linalg.norm(expected))
    return {"weights": comm.allgather(digest(weights)), "difference": difference}


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    # Optimising a graph takes most of the time here, and the graph computes the same without it.
    tensorflow().config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    found = {"run": run(world), "tf_cnn": run(world, lines="tf_cnn_benchmarks", steps=2), "step": step(world, ONE_STEP)}
    if world.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found))
