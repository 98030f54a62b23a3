"""Find the colours that show a photo best, with k-means on several ranks that each see their own pixels only.

    mpirun -n 2 python labs/kmeans/kmeans.py                      two ranks, each with half of the photo
    python labs/kmeans/kmeans.py                                  the same in one process
    python labs/kmeans/kmeans.py --clusters 8 --picture 8.png     and the photo in eight colours

Read it from top to bottom: every rank runs all of it. At the end rank 0 compares with scikit-learn from the same start.
"""

import argparse
import os
import sys
import time

# One thread for each rank: the ranks share out the work already. Without this, the libraries of each rank may start as
# many threads as the machine has cores, and all of them take turns.
os.environ.setdefault("OMP_NUM_THREADS", "1")
if "OMPI_COMM_WORLD_SIZE" not in os.environ:  # no mpirun: Open MPI would leave shared memory behind for nobody
    os.environ |= {"OMPI_MCA_btl": "self"}

import numpy as np
from mpi4py import MPI
from sklearn.datasets import load_sample_image

AT_ONCE = 65_536  # pixels whose distances are held in memory together

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--image", choices=["china", "flower"], default="china", help="one of scikit-learn's photos")
parser.add_argument("--clusters", type=int, default=16, help="colours, 1 to 256 (default: %(default)s)")
parser.add_argument("--iterations", type=int, default=20, help="at most so many (default: %(default)s)")
parser.add_argument("--seed", type=int, default=0, help="of the start (default: %(default)s)")
parser.add_argument("--picture", metavar="FILE", help="where to write the photo in its new colours: NAME.png")
options = parser.parse_args()
if not 1 <= options.clusters <= 256 or not 1 <= options.iterations <= 1000 or options.seed < 0:
    parser.error("clusters should be from 1 to 256, iterations from 1 to 1000, and the seed 0 or more")
if options.picture and not options.picture.endswith(".png"):
    parser.error(f"--picture {options.picture} should end in .png")

# 1. Who am I?
comm = MPI.COMM_WORLD
rank, size = comm.Get_rank(), comm.Get_size()


def say(*words):
    """Print once, not once per rank."""
    if rank == 0:
        print(*words, flush=True)


# 2. Shard the data: a block of pixels for each rank, which differ by one pixel at most. Here every rank reads the photo
#    and keeps its part; data that doesn't fit into one memory would be read in parts.
photo = load_sample_image(f"{options.image}.jpg")
pixels = photo.reshape(-1, 3) / 255
each, more = divmod(len(pixels), size)
begin = rank * each + min(rank, more)
points = pixels[begin : begin + each + (rank < more)]

# 3. Start from random pixels, the same on all ranks: rank 0 draws them and tells the others. They are moved a little,
#    so that no pixel is exactly as near to one as to another; then rounding would decide, and not as in scikit-learn.
random = np.random.default_rng(options.seed)
start = pixels[random.choice(len(pixels), options.clusters, replace=False)]
start = comm.bcast(start + random.normal(0, 0.01, start.shape))


def assign(centroids):
    """This rank's labels (n,), the points' squared distances (n,), and sums (k, 3) and counts (k,) by label."""
    labels, squared = np.empty(len(points), int), np.empty(len(points))
    for first in range(0, len(points), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        distances = np.square(points[some]).sum(axis=1)[:, None] - 2 * points[some] @ centroids.T
        distances += np.square(centroids).sum(axis=1)
        labels[some], squared[some] = distances.argmin(axis=1), distances.min(axis=1)
    counts = np.bincount(labels, minlength=len(centroids))
    sums = np.stack([np.bincount(labels, colour, minlength=len(centroids)) for colour in points.T], axis=1)
    return labels, squared, sums, counts


def all_ranks(sums, counts, inertia, changed):
    """The same of all ranks' points. One message carries everything: it pays the latency once."""
    buffer = np.concatenate([sums.ravel(), counts, [inertia, changed]])
    comm.Allreduce(MPI.IN_PLACE, buffer)
    return buffer[: sums.size].reshape(sums.shape), buffer[sums.size : -2], buffer[-2], round(buffer[-1])


comm.Barrier()
began = time.perf_counter()
centroids, before = start, np.full(len(points), -1)
done, changed, filled = 0, len(pixels), 0
while changed and done < options.iterations:
    # 4. What a rank does alone: label its points, and add them up by label.
    labels, squared, sums, counts = assign(centroids)

    # 5. What it needs the others for: the fused all-reduce.
    sums, counts, inertia, changed = all_ranks(sums, counts, squared.sum(), np.count_nonzero(labels != before))
    before = labels

    # 6. Empty clusters: no pixel is nearest to them, and 0 / 0 would spoil everything. Each gets one of the pixels that
    #    lie farthest from their centroids, as in scikit-learn. Every rank offers its own farthest ones, all see all
    #    offers, and so all decide alike. A condition on sums of all ranks is the same on all: nobody is left waiting.
    empty = np.flatnonzero(counts == 0)
    filled += len(empty)
    if len(empty):
        far = np.argsort(-squared, kind="stable")[: len(empty)]
        offers = zip(*comm.allgather((squared[far], labels[far], points[far])), strict=True)
        distances, donors, colours = (np.concatenate(parts) for parts in offers)
        for cluster, chosen in zip(empty, np.argsort(-distances, kind="stable"), strict=False):
            sums[donors[chosen]] -= colours[chosen]
            counts[donors[chosen]] -= 1
            sums[cluster], counts[cluster] = colours[chosen], 1

    # 7. Move the centroids. Every rank computes them, from the same numbers, and so all stop in the same iteration.
    centroids = sums / counts[:, None]
    done += 1
fitted = time.perf_counter() - began

# 8. Inference: the first half of an iteration, with centroids that stay.
began = time.perf_counter()
labels, squared, sums, counts = assign(centroids)
_, counts, inertia, _ = all_ranks(sums, counts, squared.sum(), 0)
predicted = time.perf_counter() - began

# 9. Who reports? All ranks have the same centroids, so one of them prints. Labels each rank has of its own pixels only:
#    they are gathered, in the order of the ranks, which is that of the blocks.
gathered = comm.gather(labels)
slowest = [comm.reduce(seconds, op=MPI.MAX) for seconds in (fitted, predicted)]
palettes = comm.gather(centroids)
wrong = None
if rank == 0:
    say(f"{len(pixels)} pixels on {size} rank{'s' if size > 1 else ''}, {options.clusters} clusters")
    say(f"fit {slowest[0]:.3f} s in {done} iterations, predict {slowest[1]:.3f} s, inertia {inertia:.4f}")
    largest = np.argsort(-counts)[:5]
    colours = ["#" + bytes(np.clip(np.rint(centroids[one] * 255), 0, 255).astype(np.uint8)).hex() for one in largest]
    say("largest:", ", ".join(f"{colour} {counts[one]:.0f}" for colour, one in zip(colours, largest, strict=True)))
    if options.picture:
        from PIL import Image

        new = np.clip(np.rint(centroids * 255), 0, 255).astype(np.uint8)[np.concatenate(gathered)]
        try:
            Image.fromarray(new.reshape(photo.shape)).save(options.picture)
        except OSError as error:
            wrong = f"{options.picture} can't be written: {error}"

    # Is it right? Every pixel has one label, all ranks have one palette, and scikit-learn, which had all pixels in one
    # process, has the same from the same start. Clusters that were empty begin again at a pixel's own colour: where
    # there are several of these, rounding decides some labels after all, and only the inertia can be compared.
    from sklearn.cluster import KMeans

    settings = {"n_init": 1, "max_iter": options.iterations, "tol": 0, "algorithm": "lloyd"}
    library = KMeans(options.clusters, init=start, **settings).fit(pixels)
    apart = np.abs(centroids[:, None] - library.cluster_centers_).max(axis=2).min(axis=1).max()
    if sum(map(len, gathered)) != len(pixels) or counts.sum() != len(pixels):
        wrong = f"{counts.sum():.0f} pixels have a label, there are {len(pixels)}."
    elif any(not np.array_equal(palette, centroids) for palette in palettes):
        wrong = "The ranks have different palettes."
    elif not abs(inertia - library.inertia_) <= (0.02 if filled > 1 else 1e-6) * library.inertia_:  # nan, too
        wrong = f"The inertia isn't scikit-learn's, which is {library.inertia_:.4f}."
    elif filled <= 1 and apart > 1e-4:
        wrong = f"scikit-learn has other colours: up to {apart:.1e} apart."
    elif not wrong:
        say(f"scikit-learn's colours are at most {apart:.0e} apart, its inertia is {library.inertia_:.4f}: right")
    if wrong:
        print(wrong, file=sys.stderr, flush=True)
sys.exit(1 if comm.bcast(wrong) else 0)
