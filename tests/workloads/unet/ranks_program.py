"""Runs under mpirun: a whole training, and an epoch through several exchanges against one process with all images."""

from __future__ import annotations

import base64
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
from workshop.workloads.segmentation import overlap
from workshop.workloads.unet import WORKLOAD, slices
from workshop.workloads.unet.run import UnetTraining, network

SMALL = {"size": 32, "evaluate_images": 5}
WHOLE = {"exchange": "horovod", "patients": 32, "epochs": 10, "rate": 0.01, "target": 0.3}
SWITCHED = {"exchange": "mpi", "patients": 8, "epochs": 1, "attention": True, "dropout": "0,0,0.1,0.2"}
# Of 11 images, a rank's share is 6 or 5: the last steps' batches are smaller.
EPOCH = {"patients": 11, "batch": 2, "epochs": 1, "attention": True, "rate": 0.001}
WAYS = ("horovod", "mpi", "none")


def run(comm, values):
    """All of a run."""
    sink = Memory()
    params = WORKLOAD.check(SMALL | values)
    WORKLOAD.fits(params, {}, comm.size)
    metrics = WORKLOAD.load()(RankContext(comm, sink), params)
    files = {name: base64.b64encode(data).decode() for name, (_, data) in sink.artifacts.items()}
    events = [(name, step, value) for _, name, step, value in sink.events]
    return {"metrics": metrics, "artifacts": files, "known": sink.metrics, "events": events}


def epoch(comm, way):
    """An epoch through an exchange: each rank's weights after it, and how far the update of all is from that of one
    process with the union of the batches, relative to the update's norm."""
    params = WORKLOAD.check(SMALL | EPOCH | {"exchange": way})
    exchange, _ = choose(ExchangeSettings(way, bucket=0.01), comm)
    training = UnetTraining(RankContext(comm), params, exchange, lambda begins: None)
    start = [weight.numpy() for weight in training.model.weights]
    expected = alone(params, start, comm.size)
    training.train()
    exchange.close()
    ends = [weight.numpy() for weight in training.model.weights]
    update, other = (np.concatenate([np.ravel(new - old) for new, old in zip(new_weights, start, strict=True)])
                     for new_weights in (ends, expected))  # fmt: skip
    return {
        "weights": comm.allgather(digest(training.model.weights)),
        "difference": float(np.linalg.norm(update - other) / np.linalg.norm(other)),
        "steps": training.loop.done,
    }


def alone(params, start, size):
    """The weights after the same epoch in this process, on the union of the `size` ranks' batches."""
    tf = tensorflow()
    model = network(params)
    model.set_weights(start)
    optimizer = tf.keras.optimizers.Adam(params.rate)
    batches = slices.batches(params, size)
    everything = slices.training(params, range(params.patients))
    for step in range(batches.steps):
        rows = slice(step * params.batch, (step + 1) * params.batch)
        union = np.concatenate([batches.examples(rank)[batches.epoch(0, rank)[rows]] for rank in range(size)])
        with tf.GradientTape() as tape:
            losses = overlap.loss_of(params.loss, 0, 0)(everything.masks[union], model(everything.images[union]))
            loss = tf.reduce_mean(losses)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    return model.get_weights()


if __name__ == "__main__":
    world = MPI.COMM_WORLD
    os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
    # Optimising a graph takes most of the time here, and the graph computes the same without it.
    tensorflow().config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    results = {
        "whole": run(world, WHOLE),
        "switched": run(world, SWITCHED),
        "epochs": {way: epoch(world, way) for way in WAYS},
    }
    if world.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(results))
