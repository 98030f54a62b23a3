"""Train a small network on handwritten digits with Horovod, every rank on a share of them.

    mpirun -n 2 python labs/mnist/train.py       two ranks that average their gradients
    python labs/mnist/train.py                   the same training in one process
    python labs/mnist/train.py --plain           the same once more, without Horovod

Read it from top to bottom: the numbered comments are the steps that make training on one process a training on many.
"""

import argparse
import hashlib
import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow says a lot when it starts

import keras
import numpy as np
import tensorflow as tf
from keras import layers

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", metavar="FILE", help="mnist.npz; without it, scikit-learn's digits scaled to 28x28")
parser.add_argument("--epochs", type=int, default=12, help="times that all images are read (default: %(default)s)")
parser.add_argument("--steps", type=int, help="end after so many steps (default: after all epochs)")
parser.add_argument("--batch", type=int, default=64, help="images of each rank in a step (default: %(default)s)")
parser.add_argument("--rate", type=float, default=0.01, help="learning rate of one rank (default: %(default)s)")
parser.add_argument("--warmup", type=float, default=3, help="epochs until the full rate (default: %(default)s)")
parser.add_argument("--checkpoint", metavar="FILE", help="where to keep the weights: NAME.weights.h5")
parser.add_argument("--plain", action="store_true", help="one process without Horovod, to compare with")
parser.add_argument("--json", action="store_true", help="a line of JSON at the end")
options = parser.parse_args()
if min(options.epochs, options.batch, 1 if options.steps is None else options.steps) < 1 or not 0 < options.rate <= 100:
    parser.error("epochs, steps and batch should be at least 1, and the rate above 0 and at most 100")
if not 0 <= options.warmup <= 1000:  # neither is nan
    parser.error(f"--warmup {options.warmup} should be a number of epochs from 0 to 1000")
if options.checkpoint and not options.checkpoint.endswith(".weights.h5"):
    parser.error(f"--checkpoint {options.checkpoint} should end in .weights.h5")

# 1. Initialise: each process learns its own number (rank) and how many there are (size). Every process runs this same
#    file from top to bottom; only what depends on the rank differs.
if options.plain:
    rank, size, neighbours = 0, 1, 1
else:
    try:
        import horovod.tensorflow as hvd
    except ImportError as error:
        sys.exit(f"Horovod is not built here ({error}); `workshop horovod install` builds it, --plain does without.")
    if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
        os.environ |= {"OMPI_MCA_btl": "self"}
    hvd.init()
    rank, size, neighbours = hvd.rank(), hvd.size(), hvd.local_size()


def say(*words):
    """Print once, not once per rank."""
    if rank == 0:
        print(*words, flush=True)


def count(number, noun):
    """1 rank, 2 ranks."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


# 2. Pin threads: as many as this process has cores. mpirun gives each rank cores of its own; where it doesn't, they all
#    see the whole machine and have to share it. Without this, each rank may start as many threads as there are cores.
cores = len(os.sched_getaffinity(0))
if cores == os.cpu_count():
    cores = max(cores // neighbours, 1)
threads = int(os.environ.get("OMP_NUM_THREADS", cores))
tf.config.threading.set_intra_op_parallelism_threads(threads)

# 3. Shard the data: rank r of n takes the images r, r + n, r + 2n, ... No two ranks have the same one.
if options.data:
    try:
        file = np.load(options.data)
        if isinstance(file, np.ndarray):
            raise ValueError("it is a single array, not an archive of x_train, y_train, x_test and y_test")
        images, labels, test_images, test_labels = (file[key] for key in ("x_train", "y_train", "x_test", "y_test"))
        for pixels, digits in ((images, labels), (test_images, test_labels)):
            if pixels.shape[1:] != (28, 28) or digits.shape != (len(pixels),) or not len(pixels):
                raise ValueError("it should have images of 28x28 and a label for each")
            if not np.isin(digits, range(10)).all():
                raise ValueError("its labels should be the digits 0 to 9")
        images, test_images = (pixels[..., np.newaxis].astype(np.float32) / 255 for pixels in (images, test_images))
    except Exception as error:  # a damaged file fails in as many ways as zip, zlib and NumPy's header have
        parser.error(f"--data {options.data} is no mnist.npz: {error}")
else:
    from sklearn.datasets import load_digits

    digits = load_digits()
    pixels = tf.image.resize(digits.images[..., np.newaxis] / 16, (28, 28)).numpy()
    held_out = np.arange(len(pixels)) % 5 == 0
    images, labels, test_images, test_labels = (
        part for some in (~held_out, held_out) for part in (pixels[some], digits.target[some])
    )
total_images = len(images)
images, labels = images[rank::size], labels[rank::size].astype(np.int32)
test_images, test_labels = test_images[rank::size], test_labels[rank::size].astype(np.int32)

# 4. Divide the steps: together the ranks read the images once in an epoch, so n ranks take an n-th of the steps. All
#    must take the same number: a rank that goes on alone would wait for ever. Only whole batches count: two ranks with
#    batches of 64 read 1,408 of the 1,437 digits in an epoch.
steps_per_epoch = total_images // (options.batch * size)
if steps_per_epoch == 0:
    parser.error(f"--batch {options.batch} on {count(size, 'rank')} is more than the {total_images} images")
steps = options.epochs * steps_per_epoch
if options.steps:
    steps = min(steps, options.steps)

# 5. Build the model, the same on every rank.
keras.utils.set_random_seed(rank)  # ranks draw different weights and orders: see step 8
model = keras.Sequential(
    [
        layers.Input((28, 28, 1)),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dense(10),
    ]
)
loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

# 6. Scale the learning rate: n ranks average over a batch that is n times as large, and take n times fewer steps, so
#    each step may be n times as long. Not from the start: the rate grows from one rank's to that over the first epochs
#    (Goyal et al., arXiv:1706.02677).
rate = options.rate
if size > 1:
    growing = max(int(options.warmup * steps_per_epoch), 1)
    rate = keras.optimizers.schedules.PolynomialDecay(options.rate, growing, options.rate * size, power=1)
optimizer = keras.optimizers.SGD(rate, momentum=0.9)
optimizer.build(model.trainable_variables)


# 7. The distributed optimizer: average the gradients of all ranks before they change the weights. Horovod's own wrapper
#    (hvd.DistributedOptimizer) overrides a method that Keras 3 no longer calls: with model.fit it averages nothing and
#    doesn't say so. Calling the all-reduce oneself works. Grouped, it moves all gradients in one message.
@tf.function
def train(pictures, digits):
    with tf.GradientTape() as tape:
        loss = loss_of(digits, model(pictures, training=True))
    gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    if size > 1:
        gradients = hvd.grouped_allreduce(gradients, op=hvd.Average)
    optimizer.apply(gradients, model.trainable_variables)
    return loss


@tf.function
def right(pictures, digits):
    """How many of these images the network reads right."""
    return tf.math.count_nonzero(tf.argmax(model(pictures), axis=1, output_type=tf.int32) == digits, dtype=tf.int32)


# 8. Broadcast: all ranks begin with rank 0's weights. Averaged gradients keep equal weights equal; they don't make
#    different ones so.
if size > 1:
    hvd.broadcast_variables([variable.value for variable in [*model.variables, *optimizer.variables]], root_rank=0)


# 9. Average metrics: each rank has seen its own share only.
def sum_of_ranks(value):
    return float(hvd.allreduce(tf.constant(value, tf.float32), op=hvd.Sum)) if size > 1 else float(value)


work = f"{count(total_images, 'image')}, {count(steps, 'step')} of {size} × {options.batch}"
say(f"{count(size, 'rank')} × {count(threads, 'thread')}, {work}")
WARM = 2  # steps that don't count in the speed: the first ones compile
order = np.random.default_rng(rank)
done, seconds, accuracy = 0, 0.0, 0.0
while done < steps:
    shuffled = order.permutation(len(images))
    losses = []
    began = time.perf_counter()
    for step in range(min(steps_per_epoch, steps - done)):
        chosen = shuffled[step * options.batch : (step + 1) * options.batch]
        losses.append(train(tf.constant(images[chosen]), tf.constant(labels[chosen])))
        done += 1
        if done == WARM:
            began = time.perf_counter()
    if done > WARM:
        seconds += time.perf_counter() - began
    loss = sum_of_ranks(np.mean(losses)) / size
    hits = 0
    for at in range(0, len(test_labels), 500):
        hits += int(right(test_images[at : at + 500], test_labels[at : at + 500]))
    accuracy = sum_of_ranks(hits) / sum_of_ranks(len(test_labels))
    say(f"step {done:5}  loss {loss:.4f}  held-out accuracy {accuracy:.3f}")

    # 10. Checkpoint on rank 0 alone: all have the same weights, and ranks that write one file spoil it.
    if options.checkpoint and rank == 0:
        model.save_weights(options.checkpoint)

speed = max(done - WARM, 0) * options.batch * size / seconds if seconds else 0.0
say(f"{speed:.0f} images/s")

# Do all ranks have the same weights? If the gradients had not been averaged, they would not.
weights = hashlib.sha256(b"".join(value.tobytes() for value in model.get_weights())).hexdigest()
all_weights = hvd.allgather_object(weights) if size > 1 else [weights]
if len(set(all_weights)) > 1:
    sys.exit("The ranks' weights have drifted apart.")
if options.json:
    say(
        json.dumps(
            {
                "ranks": size,
                "threads": threads,
                "steps": done,
                "measured_steps": max(done - WARM, 0),
                "batch": options.batch,
                "images_per_second": speed,
                "loss": loss,
                "accuracy": accuracy,
                "weights": all_weights,
            }
        )
    )
