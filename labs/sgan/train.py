"""Train a semi-supervised GAN on handwritten digits with Horovod: ten labels per digit, and many images without one.

    mpirun -n 2 python labs/sgan/train.py         two ranks that average the gradients of both networks
    python labs/sgan/train.py                     the same training in one process
    python labs/sgan/train.py --plain             the same once more, without Horovod
    python labs/sgan/train.py --method supervised the classifier on the labelled images alone, to compare with

Read it from top to bottom. What labs/mnist/train.py explains is short here; the numbered comments are about what is
new: two networks that train against each other on many processes, and what to measure of it.
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
parser.add_argument("--method", choices=["sgan", "supervised"], default="sgan", help="supervised: no GAN, labels only")
parser.add_argument("--labels", type=int, default=10, help="labelled images of each digit (default: %(default)s)")
parser.add_argument(
    "--batch", type=int, default=64, help="unlabelled images of a rank in a step (default: %(default)s)"
)
parser.add_argument("--iterations", type=int, default=800, help="steps of training (default: %(default)s)")
parser.add_argument("--size", type=int, choices=[28, 56, 112], default=28, help="pixels of an image's side: the load")
parser.add_argument("--rate", type=float, default=0.003, help="learning rate of both networks (default: %(default)s)")
parser.add_argument("--evaluate-every", type=int, default=15, metavar="N", help="iterations (default: %(default)s)")
parser.add_argument(
    "--inference", choices=["compiled", "predict", "predict_on_batch"], default="compiled", help="how to evaluate"
)
parser.add_argument("--intra", type=int, help="threads within an operation (default: one for each core)")
parser.add_argument("--inter", type=int, help="operations beside each other (default: TensorFlow's choice)")
parser.add_argument("--seed", type=int, default=0, help="of the choice of labelled images, and more")
parser.add_argument("--picture", metavar="FILE", help="where to draw what the generator makes: NAME.png")
parser.add_argument("--plain", action="store_true", help="one process without Horovod, to compare with")
parser.add_argument("--json", action="store_true", help="a line of JSON at the end")
options = parser.parse_args()
for name in ("labels", "batch", "iterations", "evaluate_every", "intra", "inter"):
    value = getattr(options, name)
    if value is not None and value < 1:
        parser.error(f"--{name.replace('_', '-')} {value} should be at least 1")
if not 0 < options.rate <= 100:  # nor is it nan
    parser.error(f"--rate {options.rate} should be above 0 and at most 100")
if not 0 <= options.seed < 2**31:
    parser.error(f"--seed {options.seed} should be from 0 to {2**31 - 1}")
if options.picture and not options.picture.endswith(".png"):
    parser.error(f"--picture {options.picture} should end in .png")

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


# 1. Threads: TensorFlow has two pools of its own. Threads of the intra-op pool share the work of one operation, those
#    of the inter-op pool do operations that don't need each other at the same time. Both are sized before its first
#    operation. OMP_NUM_THREADS is not for them: try it, and see that nothing changes.
cores = len(os.sched_getaffinity(0))
if cores == os.cpu_count():
    cores = max(cores // neighbours, 1)
given = os.environ.get("TF_NUM_INTRAOP_THREADS", "")
threads = options.intra or (int(given) if given.isdigit() and int(given) else cores)
tf.config.threading.set_intra_op_parallelism_threads(threads)
if options.inter:
    tf.config.threading.set_inter_op_parallelism_threads(options.inter)

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
test_images, test_labels = test_images[rank::size], test_labels[rank::size].astype(np.int32)

# 2. Few labels: all ranks choose the same images to have one (the same seed), and forget the labels of all others. Each
#    rank gets its own share of the unlabelled ones. The labelled are so few that every rank may read all of them.
choice = np.random.default_rng(options.seed)
fewest = min(np.count_nonzero(labels == digit) for digit in range(10))
if options.labels > fewest:
    parser.error(f"--labels {options.labels} is more than the {fewest} images that there are of some digit")
labelled = np.concatenate(
    [choice.choice(np.flatnonzero(labels == digit), options.labels, False) for digit in range(10)]
)
unlabelled = np.setdiff1d(np.arange(len(images)), labelled)[rank::size]
if options.batch > (len(images) - 10 * options.labels) // size:
    parser.error(f"--batch {options.batch} is more than a share of the unlabelled images, on {count(size, 'rank')}")
labels = labels.astype(np.int32)

# 3. Two networks. The generator makes an image of random numbers. The discriminator has two heads over the same layers:
#    which digit an image shows (ten logits), and whether it is real. The second one needs no weights of its own: with
#    Z the sum of exp(logit), real has the probability Z / (Z + 1) (Salimans et al., arXiv:1606.03498). So what it
#    learns from images without a label, the classifier knows, too. Noise and dropout keep it from learning 100 images
#    by heart.
keras.utils.set_random_seed(options.seed + 1_000_003 * rank)  # ranks draw different weights, order and noise
further = (options.size // 28).bit_length() - 1  # an image of twice the side gets a layer more in both networks
LATENT = 32

pictures = layers.Input((options.size, options.size, 1))
found = layers.GaussianNoise(0.3)(pictures)
for number, filters in enumerate([16] * further + [16, 32, 32]):
    found = layers.Conv2D(filters, 5 if number == 0 else 3, 2, "same", activation="leaky_relu")(found)
    found = layers.Dropout(0.3)(found)
discriminator = keras.Model(pictures, layers.Dense(10)(layers.Flatten()(found)))

inner = [layers.Conv2DTranspose(filters, 4, 2, "same", activation="relu") for filters in [16, 8] + [8] * further]
generator = keras.Sequential(
    [
        layers.Input((LATENT,)),
        layers.Dense(7 * 7 * 16, activation="relu"),
        layers.Reshape((7, 7, 16)),
        *inner,
        layers.Conv2D(1, 5, padding="same", activation="sigmoid"),
    ]
)

# 4. Two optimizers: the networks want opposite things, so each has one of its own.
mine, its = discriminator.trainable_variables, generator.trainable_variables
optimizers = [keras.optimizers.Adam(options.rate, beta_1=0.5) for _ in range(2)]
for optimizer, variables in zip(optimizers, (mine, its), strict=True):
    optimizer.build(variables)
RAMP = 200  # steps until the unlabelled images' entropy counts fully


def enlarged(pixels):
    return pixels if options.size == 28 else tf.image.resize(pixels, (options.size, options.size))


def averaged(gradients):
    """The mean of all ranks' gradients, all in one message."""
    return hvd.grouped_allreduce(gradients, op=hvd.Average) if size > 1 else gradients


# 5. One step: real images, labelled or not, and generated ones go through the discriminator together.
#    It should name the digits of labelled images, call unlabelled ones real and generated ones not, and be sure which
#    digit an unlabelled image shows (little entropy), though nobody tells it. The generator should make images that the
#    discriminator calls real.
#    Then the gradients of BOTH networks are averaged over the ranks. Leave one out, and its weights drift apart from
#    rank to rank, while the loss looks fine: the check at the end of this file would tell.
@tf.function
def train(known, digits, unknown, step):
    noise = tf.random.normal([tf.shape(unknown)[0], LATENT])
    parts = [tf.shape(known)[0], tf.shape(unknown)[0], tf.shape(unknown)[0]]
    with tf.GradientTape(persistent=True) as tape:
        made = generator(noise, training=True)
        together = tf.concat([enlarged(known), enlarged(unknown), made], axis=0)
        of_known, of_real, of_made = tf.split(discriminator(together, training=True), parts)
        named = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digits, of_known))
        real, fake = tf.reduce_logsumexp(of_real, axis=1), tf.reduce_logsumexp(of_made, axis=1)
        told_apart = (tf.reduce_mean(tf.nn.softplus(-real)) + tf.reduce_mean(tf.nn.softplus(fake))) / 2
        entropy = -tf.reduce_mean(tf.reduce_sum(tf.nn.softmax(of_real) * tf.nn.log_softmax(of_real), axis=1))
        loss = named + told_apart + tf.minimum(step / RAMP, 1) * entropy
        generator_loss = tf.reduce_mean(tf.nn.softplus(-fake))
    gradients = tape.gradient(loss, [variable.value for variable in mine])
    gradients += tape.gradient(generator_loss, [variable.value for variable in its])
    gradients = averaged(gradients)
    optimizers[0].apply(gradients[: len(mine)], mine)
    optimizers[1].apply(gradients[len(mine) :], its)
    return loss, generator_loss


@tf.function
def train_supervised(known, digits, unknown, step):
    """The classifier with the labelled images alone: what the GAN has to beat."""
    with tf.GradientTape() as tape:
        outputs = discriminator(enlarged(known), training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digits, outputs))
    optimizers[0].apply(averaged(tape.gradient(loss, [variable.value for variable in mine])), mine)
    return loss, tf.constant(0.0)


# 6. All ranks begin with rank 0's weights, of both networks and both optimizers.
if size > 1:
    every = [*mine, *its, *optimizers[0].variables, *optimizers[1].variables]
    hvd.broadcast_variables([variable.value for variable in every], root_rank=0)


# 7. Evaluation is work, too, and it doesn't get less with more ranks by itself: every rank looks at its share of the
#    held-out images, every N iterations however many ranks there are. (Had rank 0 evaluated alone, or more often with
#    more ranks, all others would stand still meanwhile.) Keras's `predict` builds a data pipeline for every call;
#    `predict_on_batch` doesn't, and a compiled function does least of all.
@tf.function
def compiled(pixels):
    return discriminator(enlarged(pixels))


def read(pixels):
    """The digits that the network reads in these images."""
    if options.inference == "compiled":
        outputs = compiled(tf.constant(pixels)).numpy()
    elif options.inference == "predict":
        outputs = discriminator.predict(enlarged(pixels), verbose=0)
    else:
        outputs = discriminator.predict_on_batch(enlarged(pixels))
    return np.argmax(outputs, axis=1)


def sum_of_ranks(value):
    return float(hvd.allreduce(tf.constant(value, tf.float32), op=hvd.Sum)) if size > 1 else float(value)


def accuracy_now():
    hits = 0
    for at in range(0, len(test_labels), 256):
        hits += np.count_nonzero(read(test_images[at : at + 256]) == test_labels[at : at + 256])
    return sum_of_ranks(hits) / sum_of_ranks(len(test_labels))


# 8. Memory: what this process holds, in bytes. Told at every evaluation: a leak would grow from one to the next.
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


known_batch = max(options.batch // 2, 1)
unknown_batch = options.batch if options.method == "sgan" else 0
work = f"{len(labelled)} labelled images, {count(options.iterations, 'iteration')} of {size} × {options.batch}"
say(f"{count(size, 'rank')} × {count(threads, 'thread')}, {work}, {options.size} × {options.size} pixels")
WARM = 2  # steps that don't count in the speed: the first ones compile
step_of = train if options.method == "sgan" else train_supervised
order = np.random.default_rng([options.seed, rank])
accuracy_now()  # compiles what evaluates, before anything is timed
done, accuracy, evaluations, memory, spent = 0, 0.0, 0, [], {"train": 0.0, "evaluate": 0.0}
while done < options.iterations:
    losses = []
    began = time.perf_counter()
    for _ in range(min(options.evaluate_every, options.iterations - done)):
        known = labelled[order.integers(len(labelled), size=known_batch)]
        unknown = unlabelled[order.integers(len(unlabelled), size=unknown_batch)]
        step = tf.constant(done, tf.float32)
        losses.append(step_of(images[known], labels[known], images[unknown], step))
        done += 1
        if done == WARM:
            began = time.perf_counter()
    loss, generator_loss = np.mean(losses, axis=0)  # waits for the last step
    trained = time.perf_counter()
    if done > WARM:
        spent["train"] += trained - began
    accuracy = accuracy_now()
    spent["evaluate"] += time.perf_counter() - trained
    evaluations += 1
    memory.append(resident())
    losses_said = f"loss {loss:.3f}" + (f", generator {generator_loss:.4f}" if options.method == "sgan" else "")
    say(f"iteration {done:5}  {losses_said}  held-out accuracy {accuracy:.3f}  {memory[-1] / 1e6:.0f} MB")

measured = max(done - WARM, 0)
speed = measured * (known_batch + unknown_batch) * size / spent["train"] if spent["train"] else 0.0
share = spent["evaluate"] / max(sum(spent.values()), 1e-9)
say(f"{speed:.0f} images/s; {spent['train']:.1f} s training, {spent['evaluate']:.1f} s evaluation ({share:.0%})")

# 9. Look at what the generator has learned: rank 0 draws 24 digits, in three rows.
if options.picture and rank == 0 and options.method == "sgan":
    made = generator(np.random.default_rng(11).standard_normal((24, LATENT)).astype(np.float32)).numpy()
    rows = np.concatenate([np.concatenate(list(made[at : at + 8]), axis=1) for at in (0, 8, 16)], axis=0)
    tf.io.write_file(options.picture, tf.io.encode_png(np.rint(255 * np.nan_to_num(rows)).astype(np.uint8)))

# 10. Do all ranks have the same weights, of both networks? If one's gradients had not been averaged, they would not.
weights = hashlib.sha256(b"".join(variable.numpy().tobytes() for variable in [*mine, *its])).hexdigest()
all_weights = hvd.allgather_object(weights) if size > 1 else [weights]
if len(set(all_weights)) > 1:
    sys.exit("The ranks' weights have drifted apart.")
if options.json:
    say(
        json.dumps(
            {
                "ranks": size,
                "threads": threads,
                "method": options.method,
                "iterations": done,
                "measured_steps": measured,
                "batch": options.batch,
                "images_per_second": speed,
                "loss": float(loss),
                "generator_loss": float(generator_loss),
                "accuracy": accuracy,
                "evaluations": evaluations,
                "seconds": spent,
                "memory": memory,
                "weights": all_weights,
            }
        )
    )
