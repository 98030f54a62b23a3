"""Train one network on the digits of several institutions, none of which gives an image away: federated averaging.

    mpirun -n 4 python labs/federated/train.py            four institutions, each on a rank of its own
    python labs/federated/train.py                        the same federation in one process, which holds all four
    python labs/federated/train.py --way all              beside it pooled images, and each institution alone
    python labs/federated/train.py --partition label      each institution has three of the ten digits

Read it from top to bottom. What labs/mnist/train.py explains is short here; the numbered comments are about what is
new, and the README beside this file refers to them. Institutions train with Keras; all between them is NumPy and MPI.
The same seed deals the same images in the same order as the workload `federated` does; only the bundled digits are
scaled more simply here, so give both the same --data where they should agree to the last digits.
"""

import argparse
import hashlib
import json
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow says a lot when it starts
os.environ.setdefault("OMPI_MCA_mpi_yield_when_idle", "1")  # who waits leaves the core to somebody who trains
if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from mpi4py import MPI

WAYS = ("federated", "centralised", "alone")
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--data", metavar="FILE", help="mnist.npz; without it, scikit-learn's digits scaled to 28x28")
parser.add_argument("--way", choices=[*WAYS, "all"], default="federated", help="how to learn (default: %(default)s)")
parser.add_argument("--institutions", type=int, default=4, help="how many there are (default: %(default)s)")
parser.add_argument("--rounds", type=int, default=15, help="times that models are averaged (default: %(default)s)")
parser.add_argument("--epochs", type=int, default=2, help="readings of all images in a round (default: %(default)s)")
parser.add_argument("--batch", type=int, default=32, help="images in a step (default: %(default)s)")
parser.add_argument("--rate", type=float, default=0.1, help="learning rate (default: %(default)s)")
parser.add_argument("--mu", type=float, default=0.0, help="FedProx: hold local models near the shared one by so much")
parser.add_argument("--participation", type=float, default=1.0, help="share of the institutions that learn in a round")
parser.add_argument("--partition", choices=["dirichlet", "label", "iid", "unequal"], default="dirichlet")
parser.add_argument("--alpha", type=float, default=0.3, help="dirichlet: smaller is more skewed (default: %(default)s)")
parser.add_argument("--classes", type=int, default=3, help="label: digits of an institution (default: %(default)s)")
parser.add_argument("--seed", type=int, default=0, help="of weights, shares, order and participation")
parser.add_argument("--json", action="store_true", help="a line of JSON at the end")
options = parser.parse_args()
for name, most in (("institutions", 256), ("rounds", 10_000), ("epochs", 1000), ("batch", 60_000), ("classes", 10)):
    if not 1 <= getattr(options, name) <= most:
        parser.error(f"--{name} {getattr(options, name)} should be from 1 to {most}")
for name, most in (("rate", 100), ("participation", 1), ("alpha", 1e6)):
    if not 0 < getattr(options, name) <= most:  # nor is it nan
        parser.error(f"--{name} {getattr(options, name)} should be above 0 and at most {most:g}")
if not 0 <= options.mu <= 1000:
    parser.error(f"--mu {options.mu} should be from 0 to 1000")
if not 0 <= options.seed < 2**31:
    parser.error(f"--seed {options.seed} should be from 0 to {2**31 - 1}")

# 1. The ranks. Rank 0 is the aggregator as well. Institutions are dealt out to the ranks in turn: with as many ranks as
#    institutions each has one of its own; with fewer, several live on one rank, and nothing else changes.
world = MPI.COMM_WORLD
rank, size = world.rank, world.size
everybody = range(options.institutions)


def home(institution):
    """The rank on which an institution lives."""
    return institution % size


def say(*words):
    """Print once, not once per rank."""
    if rank == 0:
        print(*words, flush=True)


neighbours = world.Split_type(MPI.COMM_TYPE_SHARED).size
cores = len(os.sched_getaffinity(0))
if cores == os.cpu_count():
    cores = max(cores // neighbours, 1)
threads = int(os.environ.get("OMP_NUM_THREADS") or cores)
tf.config.threading.set_intra_op_parallelism_threads(threads)

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
labels, test_labels = labels.astype(np.int32), test_labels.astype(np.int32)

# 2. Who has which images. All ranks draw the same shares from the seed, so nobody has to tell. In life nobody deals:
#    hospitals have the patients that come to them, and these partitions are models of how they differ.
#    iid: shares alike. label: each has a few of the digits. unequal: the k-th has a k-th of what the first has.
#    dirichlet: each digit is divided in shares drawn from a Dirichlet distribution; the smaller alpha, the more they
#    differ (Hsu et al. 2019, arXiv:1909.06335).
DEAL, OWN, CHOICE, READ = 31, 32, 33, 36  # so that the streams of one seed don't follow each other


def order(count, *seed):
    """A shuffled order, the same for the same seed in every version of NumPy."""
    return np.argsort(np.random.PCG64(np.random.SeedSequence(seed)).random_raw(count), kind="stable")


def dealt(labels):
    """For each institution, positions in `labels`."""
    many = options.institutions
    if options.partition == "iid":
        return np.array_split(np.arange(len(labels)), many)
    if options.partition == "unequal":
        shares = 1 / np.arange(1, many + 1)
        sizes = 2 + np.floor((len(labels) - 2 * many) * shares / shares.sum()).astype(int)
        sizes[0] += len(labels) - sizes.sum()
        return np.split(np.arange(len(labels)), np.cumsum(sizes)[:-1])
    if options.partition == "dirichlet":
        draws = np.random.RandomState([options.seed, DEAL])
        for _ in range(100):  # until everybody has something
            parts = [[] for _ in everybody]
            for digit in range(10):
                there = np.flatnonzero(labels == digit)
                shares = np.nan_to_num(draws.dirichlet(np.full(many, options.alpha)))
                if not shares.sum() > 0:  # alpha is so small that all came out as nothing: one gets the digit
                    shares[draws.randint(many)] = 1.0
                ends = np.rint(np.cumsum(shares / shares.sum())[:-1] * len(there)).astype(int)
                for part, piece in zip(parts, np.split(there, ends), strict=True):
                    part.append(piece)
            found = [np.concatenate(part) for part in parts]
            if min(map(len, found)) >= 2:
                break
        return found
    deck = order(10, options.seed, DEAL, 1)
    owners = {digit: [] for digit in range(10)}
    for card in range(many * options.classes):
        owners[deck[card % 10]].append(card // options.classes)
    parts = [[] for _ in everybody]
    for digit, those in owners.items():
        pieces = np.array_split(np.flatnonzero(labels == digit), max(len(those), 1))
        for place, owner in enumerate(those):
            parts[owner].append(pieces[(place + digit) % len(those)])
    return [np.concatenate(part) for part in parts]


if options.partition == "label" and options.institutions * options.classes < 10:
    parser.error("--classes is too small: some digit would belong to nobody")
if len(labels) < 2 * options.institutions:
    parser.error(f"--institutions {options.institutions} is too many for {len(labels)} images: each needs two")
shuffled = order(len(labels), options.seed, DEAL)
parts = [shuffled[part] for part in dealt(labels[shuffled])]
if min(map(len, parts)) < 2:
    parser.error(f"institution {np.argmin(list(map(len, parts))) + 1} would have fewer than two images")

# 3. A silo: what an institution learns from, and a fifth that it keeps to validate with. A rank forgets all images but
#    those of its own institutions. From here on an image leaves a rank in step 9 only, where it is pooled.
silos, counts, have = {}, [], []
for one, part in enumerate(parts):
    part = part[order(len(part), options.seed, OWN, one)]
    kept = min(max(round(0.2 * len(part)), 1), len(part) - 1)
    learn, own = part[kept:], part[:kept]
    counts.append(len(learn))
    have.append(np.bincount(labels[part], minlength=10).tolist())
    if home(one) == rank:
        silos[one] = (images[learn], labels[learn], images[own], labels[own])
del images, labels

# 4. The network, and its weights as one flat vector: what travels is just a list of numbers.
keras.utils.set_random_seed(options.seed)
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
anchors = [tf.Variable(tf.zeros_like(variable.value), trainable=False) for variable in model.trainable_variables]


def vector():
    return np.concatenate([weight.numpy().ravel() for weight in model.weights])


def load(weights):
    """Put these weights into the network, and remember them for FedProx."""
    at = 0
    for weight, anchor in zip(model.weights, anchors, strict=True):
        count = int(np.prod(weight.shape))
        weight.assign(weights[at : at + count].reshape(weight.shape))
        anchor.assign(weight.value)
        at += count


# 5. What happens at an institution: a few epochs of plain gradient descent from the weights that it was sent. Plain,
#    because an optimizer's state (momentum) would belong to a model that is averaged away. With --mu each step
#    of a federation is also drawn back to these weights (FedProx: Li et al. 2020, arXiv:1812.06127).
@tf.function(
    input_signature=[tf.TensorSpec([None, 28, 28, 1]), tf.TensorSpec([None], tf.int32), tf.TensorSpec([])],
    autograph=False,
)
def train(pictures, digits, mu):
    with tf.GradientTape() as tape:
        outputs = model(pictures, training=True)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(digits, outputs))
    gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    for variable, gradient, anchor in zip(model.trainable_variables, gradients, anchors, strict=True):
        variable.value.assign_sub(options.rate * (gradient + mu * (variable.value - anchor)))


def trained(weights, pictures, digits, *seed, mu=0.0):
    """The weights after a round of training on these images."""
    load(weights)
    for epoch in range(options.epochs):
        shuffled = np.random.RandomState([READ, options.seed, *seed, epoch]).permutation(len(digits))
        for at in range(0, len(digits), options.batch):
            chosen = shuffled[at : at + options.batch]
            train(tf.constant(pictures[chosen]), tf.constant(digits[chosen]), tf.constant(mu, tf.float32))
    return vector()


@tf.function(input_signature=[tf.TensorSpec([None, 28, 28, 1]), tf.TensorSpec([None], tf.int32)], autograph=False)
def right(pictures, digits):
    return tf.math.count_nonzero(tf.argmax(model(pictures), axis=1, output_type=tf.int32) == digits)


def hits(pictures, digits):
    """How many of these images the network reads right."""
    return sum(int(right(pictures[at : at + 512], digits[at : at + 512])) for at in range(0, len(digits), 512))


# 6. Up: rank 0 gets an array of each sender, in the institutions' order. In a federation these are an update (how far
#    training has moved the weights) and the number of images behind it.
bytes_up = 0


def gathered(mine, senders, dtype, length):
    """`mine` has the arrays of this rank's institutions, `length` tells how many numbers an institution sends."""
    global bytes_up
    found = {}
    for one in senders:
        if home(one) == rank:
            found[one] = np.ascontiguousarray(mine[one], dtype).ravel()
            if rank:
                world.Send(found[one], dest=0, tag=one)
        elif rank == 0:
            found[one] = np.empty(length(one), dtype)
            world.Recv(found[one], source=home(one), tag=one)
    bytes_up += sum(array.nbytes for array in found.values())
    return found if rank == 0 else {}


# 7. Average: each update counts as much as there are images behind it, so that every image of the federation counts the
#    same (FedAvg: McMahan et al. 2017, arXiv:1602.05629). One value that is no number would spoil the model for all: an
#    update that has one is left out, by name. They are added up in the institutions' order and in double precision, so
#    the result doesn't depend on who lives on which rank.
def averaged(updates, weights):
    """The weighted mean of updates, and their drift: how far they are from it, relative to its length."""
    used = {one: update.astype(np.float64) for one, update in updates.items() if np.isfinite(update).all()}
    for one in updates.keys() - used.keys():
        dropped.append(one + 1)
        say(f"institution {one + 1} sent an update that is no number; it is left out")
    if not used:
        return 0.0, 0.0
    total = sum(weights[one] for one in used)
    mean = sum(weights[one] * used[one] for one in used) / total
    apart = sum(weights[one] * np.sum((used[one] - mean) ** 2) for one in used) / total
    return mean, float(np.sqrt(apart) / max(np.linalg.norm(mean), 1e-12))


# 8. Down: everybody gets the shared model. Before the first round, too: averaging helps models that began as one. The
#    mean of two networks that began differently is no good one, for their hidden units have found different roles.
def broadcast(weights):
    message = np.array(weights, np.float32)
    world.Bcast(message, root=0)
    return message


start = broadcast(vector())
parameters = len(start)
models = {"federated": start, "centralised": start, "alone": {one: start for one in silos}}
ways = WAYS if options.way == "all" else (options.way,)

# 9. Pooling: what the federation is there to avoid. All images go to rank 0.
pool = {}
if "centralised" in ways:
    mine = [{one: silo[part] for one, silo in silos.items()} for part in (0, 1)]
    pixels = gathered(mine[0], everybody, np.float32, lambda one: counts[one] * 28 * 28)
    digits = gathered(mine[1], everybody, np.int32, lambda one: counts[one])
    pool = {one: (pixels[one].reshape(-1, 28, 28, 1), digits[one]) for one in pixels}
    say(f"{bytes_up / 1e6:.1f} MB of images have been pooled")
    bytes_up = 0
POOL = 1 << 20  # the number of the pooled images where institutions have theirs


# 10. A round of each way. The same institutions read the same number of images in each, so they can be compared.
def federated(number, chosen):
    shared = models["federated"]
    updates, weights = {}, {}
    for one in chosen:
        if one in silos:
            updates[one] = trained(shared, *silos[one][:2], number, one, mu=options.mu) - shared
            weights[one] = [counts[one]]
    found = gathered(updates, chosen, np.float32, lambda one: parameters)
    behind = gathered(weights, chosen, np.int64, lambda one: 1)
    mean, drift = averaged(found, {one: float(count[0]) for one, count in behind.items()})
    models["federated"] = broadcast(shared + mean)
    return drift


def centralised(number, chosen):
    after = models["centralised"]
    if rank == 0:
        pictures, digits = (np.concatenate([pool[one][part] for one in chosen]) for part in (0, 1))
        after = trained(after, pictures, digits, number, POOL)
    models["centralised"] = broadcast(after)


def alone(number, chosen):
    for one in chosen:
        if one in silos:
            models["alone"][one] = trained(models["alone"][one], *silos[one][:2], number, one)


# 11. Test. Each institution tests on its own validation images. A shared model is tested on the held-out images by all
#     ranks together, each on its share; a model that is somebody's alone, by whoever has it.
def tested(way):
    """Accuracy on held-out images and on one's own, [institutions, 2]."""
    scores = np.zeros((options.institutions, 2))
    if way != "alone":
        load(models[way])
        found = np.array(hits(test_images[rank::size], test_labels[rank::size]))
        world.Allreduce(MPI.IN_PLACE, found)
    for one, silo in silos.items():
        if way == "alone":
            load(models[way][one])
            found = hits(test_images, test_labels)
        scores[one] = found / len(test_labels), hits(*silo[2:]) / len(silo[3])
    world.Allreduce(MPI.IN_PLACE, scores)
    return scores


say(f"institutions: {options.institutions}, ranks: {size}, threads of each: {threads}, images: {sum(counts)}")
steps = {"federated": federated, "centralised": centralised, "alone": alone}
held_out, own = ({way: [] for way in ways} for _ in range(2))
drifts, dropped, last = [], [], {}
for number in range(1, options.rounds + 1):
    many = max(int(options.participation * options.institutions + 0.5), 1)
    chosen = sorted(order(options.institutions, options.seed, CHOICE, number)[:many].tolist())
    told = []
    for way in ways:
        drift = steps[way](number, chosen)
        last[way] = tested(way)
        for where, mean in zip((held_out, own), last[way].mean(axis=0).tolist(), strict=True):
            where[way].append(mean)
        told.append(f"{way} {held_out[way][-1]:.3f}")
        if way == "federated":
            drifts.append(drift)
            told[-1] += f" (drift {drift:.2f})"
    say(f"round {number:3}  held-out accuracy: {'  '.join(told)}")

say(f"\n{'':12}held-out  own images   (mean of the institutions)")
for way in ways:
    say(f"{way:12}{held_out[way][-1]:8.1%}{own[way][-1]:12.1%}")
say(f"\n{'':11}  {'images of each digit':39}  accuracy on its own images")
say(f"institution  {' '.join(f'{digit:3}' for digit in range(10))}  {''.join(f'{way:>12}' for way in ways)}")
for one in everybody:
    scores = "".join(f"{last[way][one, 1]:12.1%}" for way in ways)
    say(f"{one + 1:11}  {' '.join(f'{count:3}' for count in have[one])}  {scores}")
if "federated" in ways:
    each, whole = bytes_up / options.rounds / 1e6, sum(counts) * 28 * 28 / 1e6
    say(f"\n{each:.1f} MB went up in a round; all images as bytes are {whole:.1f} MB")

# 12. Do all ranks have the same shared models? If one had missed a broadcast, they would not.
digest = hashlib.sha256(b"".join(models[way].tobytes() for way in ways if way != "alone")).digest()
digests = np.empty((size, len(digest)), np.uint8)
world.Allgather(np.frombuffer(digest, np.uint8), digests)
if len({row.tobytes() for row in digests}) > 1:
    sys.exit("The ranks' models have drifted apart.")
if options.json:
    say(
        json.dumps(
            {
                "ranks": size,
                "ways": {way: {"held_out": held_out[way], "own": own[way]} for way in ways},
                "images": counts,
                "labels": have,
                "own": {way: last[way][:, 1].tolist() for way in ways},
                "drift": drifts,
                "dropped": dropped,
                "parameters": parameters,
                "bytes_up": bytes_up,
                "weights": [row.tobytes().hex() for row in digests],
            }
        )
    )
