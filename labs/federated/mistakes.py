"""Typical wrong answers of lab 5, each with a piece of the hint that it has to get."""

from workshop.course.exercise_checks import Mistake

_STREAM = """
import numpy as np


def stream(seed, length):
    return np.random.default_rng(seed).integers(0, 2**64, length, dtype=np.uint64)

"""

MISTAKES = {
    "fedavg": [
        Mistake(
            "is left empty",
            code="def fedavg(shared, updates, images):\n    ...  # your code\n",
            hint="Nothing is there yet",
        ),
        Mistake(
            "counts institutions, not images",
            code="def fedavg(shared, updates, images):\n    return shared + sum(updates) / len(updates)\n",
            hint="every institution counts the same",
        ),
        Mistake(
            "forgets to divide",
            code=(
                "def fedavg(shared, updates, images):\n"
                "    return shared + sum(count * update for count, update in zip(images, updates))\n"
            ),
            hint="weighted sum",
        ),
        Mistake(
            "divides by the institutions",
            code=(
                "def fedavg(shared, updates, images):\n"
                "    return shared + sum(count * update for count, update in zip(images, updates)) / len(images)\n"
            ),
            hint="not by that of the institutions",
        ),
        Mistake(
            "forgets the shared weights",
            code=(
                "def fedavg(shared, updates, images):\n"
                "    return sum(count * update for count, update in zip(images, updates)) / sum(images)\n"
            ),
            hint="how far the weights move",
        ),
        Mistake(
            "takes updates for gradients",
            code=(
                "def fedavg(shared, updates, images):\n"
                "    return shared - sum(count * update for count, update in zip(images, updates)) / sum(images)\n"
            ),
            hint="wrong way",
        ),
        Mistake(
            "changes the shared weights in place",
            code=(
                "def fedavg(shared, updates, images):\n"
                "    for count, update in zip(images, updates):\n"
                "        shared += count * update / sum(images)\n"
                "    return shared\n"
            ),
            hint="changes the arrays",
        ),
    ],
    "aggregate": [
        Mistake(
            "is left empty",
            code="%%ranks\ndef aggregate(comm, update, images):\n    ...  # your code\n",
            hint="Nothing is there yet",
        ),
        Mistake(
            "leaves the mean at the root",
            code=(
                "%%ranks\ndef aggregate(comm, update, images):\n"
                "    moved, total = comm.reduce(images * update, root=0), comm.reduce(images, root=0)\n"
                "    if comm.Get_rank() == 0:\n"
                "        return moved / total\n"
            ),
            hint="only the root knows",
        ),
        Mistake(
            "counts ranks, not images",
            code=(
                "%%ranks\ndef aggregate(comm, update, images):\n"
                "    total = comm.reduce(update, root=0)\n"
                "    return comm.bcast(total / comm.Get_size() if comm.Get_rank() == 0 else None, root=0)\n"
            ),
            hint="Every rank counts the same",
        ),
        Mistake(
            "forgets to divide",
            code=(
                "%%ranks\ndef aggregate(comm, update, images):\n"
                "    return comm.bcast(comm.reduce(images * update, root=0), root=0)\n"
            ),
            hint="weighted sum",
        ),
        Mistake(
            "divides by the root's images",
            code=(
                "%%ranks\ndef aggregate(comm, update, images):\n"
                "    moved = comm.reduce(images * update, root=0)\n"
                "    return comm.bcast(moved / images if comm.Get_rank() == 0 else None, root=0)\n"
            ),
            hint="images of rank 0",
        ),
        Mistake(
            "broadcasts at the root only",
            code=(
                "%%ranks\ndef aggregate(comm, update, images):\n"
                "    moved, total = comm.reduce(images * update, root=0), comm.reduce(images, root=0)\n"
                "    if comm.Get_rank() == 0:\n"
                "        return comm.bcast(moved / total, root=0)\n"
                "    return update\n"
            ),
            hint="rank 1 has returned",
        ),
        Mistake(
            "divides on ranks that have no sum",
            code=(
                "%%ranks\ndef aggregate(comm, update, images):\n"
                "    moved, total = comm.reduce(images * update, root=0), comm.reduce(images, root=0)\n"
                "    return comm.bcast(moved / total, root=0)\n"
            ),
            hint="only the root has the result",
        ),
        Mistake(
            "sends nothing",
            code="%%ranks\ndef aggregate(comm, update, images):\n    return images * update / images\n",
            hint="its own update back",
        ),
    ],
    "masked": [
        Mistake(
            "is left empty",
            code=_STREAM + "def masked(words, images, number, seeds):\n    ...  # your code\n",
            hint="Nothing is there yet",
        ),
        Mistake(
            "weights after masking",
            code=_STREAM
            + (
                "def masked(words, images, number, seeds):\n"
                "    sent = words.copy()\n"
                "    for other, seed in seeds.items():\n"
                "        mask = stream(seed, len(words))\n"
                "        sent = sent + mask if number < other else sent - mask\n"
                "    return sent * np.uint64(images)\n"
            ),
            hint="Which has to come first",
        ),
        Mistake(
            "always adds",
            code=_STREAM
            + (
                "def masked(words, images, number, seeds):\n"
                "    sent = words * np.uint64(images)\n"
                "    for seed in seeds.values():\n"
                "        sent = sent + stream(seed, len(words))\n"
                "    return sent\n"
            ),
            hint="in the sum twice",
        ),
        Mistake(
            "sends floating point numbers",
            code=_STREAM
            + (
                "def masked(words, images, number, seeds):\n"
                "    sent = words * float(images)\n"
                "    for other, seed in seeds.items():\n"
                "        mask = stream(seed, len(words)).astype(float)\n"
                "        sent = sent + mask if number < other else sent - mask\n"
                "    return sent\n"
            ),
            hint="float64",
        ),
        Mistake(
            "forgets the weights",
            code=_STREAM
            + (
                "def masked(words, images, number, seeds):\n"
                "    for other, seed in seeds.items():\n"
                "        mask = stream(seed, len(words))\n"
                "        words = words + mask if number < other else words - mask\n"
                "    return words\n"
            ),
            hint="not weighted",
        ),
        Mistake(
            "only adds its half of the masks",
            code=_STREAM
            + (
                "def masked(words, images, number, seeds):\n"
                "    sent = words * np.uint64(images)\n"
                "    for other, seed in seeds.items():\n"
                "        if number < other:\n"
                "            sent = sent + stream(seed, len(words))\n"
                "    return sent\n"
            ),
            hint="something is left in the sum",
        ),
        Mistake(
            "sends no mask",
            code=_STREAM + "def masked(words, images, number, seeds):\n    return words * np.uint64(images)\n",
            hint="No mask",
        ),
    ],
    "topk": [
        Mistake(
            "is left empty", code="def topk(update, left, count):\n    ...  # your code\n", hint="Nothing is there yet"
        ),
        Mistake(
            "forgets what was left",
            code=(
                "import numpy as np\n\n\ndef topk(update, left, count):\n"
                "    places = np.argsort(-np.abs(update))[:count]\n"
                "    rest = update.copy()\n"
                "    rest[places] = 0\n"
                "    return places, update[places], rest\n"
            ),
            hint="What was left before",
        ),
        Mistake(
            "chooses with the sign",
            code=(
                "import numpy as np\n\n\ndef topk(update, left, count):\n"
                "    whole = update + left\n"
                "    places = np.argsort(whole)[-count:]\n"
                "    values = whole[places]\n"
                "    whole[places] = 0\n"
                "    return places, values, whole\n"
            ),
            hint="without the sign",
        ),
        Mistake(
            "sends the same again",
            code=(
                "import numpy as np\n\n\ndef topk(update, left, count):\n"
                "    whole = update + left\n"
                "    places = np.argsort(-np.abs(whole))[:count]\n"
                "    return places, whole[places], whole\n"
            ),
            hint="it will be sent again",
        ),
        Mistake(
            "throws the rest away",
            code=(
                "import numpy as np\n\n\ndef topk(update, left, count):\n"
                "    whole = update + left\n"
                "    places = np.argsort(-np.abs(whole))[:count]\n"
                "    return places, whole[places], np.zeros(len(whole))\n"
            ),
            hint="lost for ever",
        ),
        Mistake(
            "sends values that are 0 already",
            code=(
                "import numpy as np\n\n\ndef topk(update, left, count):\n"
                "    whole = update + left\n"
                "    places = np.argsort(-np.abs(whole))[:count]\n"
                "    whole[places] = 0\n"
                "    return places, whole[places], whole\n"
            ),
            hint="Places and values don't fit",
        ),
    ],
    "private": [
        Mistake(
            "is left empty",
            code="def private(updates, clip, noise, draws):\n    ...  # your code\n",
            hint="Nothing is there yet",
        ),
        Mistake(
            "cuts values",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    total = sum(np.clip(update, -clip, clip) for update in updates)\n"
                "    return (total + noise * clip * draws.standard_normal(len(total))) / len(updates)\n"
            ),
            hint="Cut its length",
        ),
        Mistake(
            "makes short updates longer",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    total = sum(update * clip / np.linalg.norm(update) for update in updates)\n"
                "    return (total + noise * clip * draws.standard_normal(len(total))) / len(updates)\n"
            ),
            hint="Short updates",
        ),
        Mistake(
            "adds noise to the mean",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    cut = [update * min(1, clip / np.linalg.norm(update)) for update in updates]\n"
                "    return sum(cut) / len(cut) + noise * clip * draws.standard_normal(len(cut[0]))\n"
            ),
            hint="added to the mean",
        ),
        Mistake(
            "adds noise to each update",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    cut = [update * min(1, clip / np.linalg.norm(update)) for update in updates]\n"
                "    return sum(one + noise * clip * draws.standard_normal(len(one)) for one in cut) / len(cut)\n"
            ),
            hint="noise on each update",
        ),
        Mistake(
            "forgets clip in the noise",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    cut = [update * min(1, clip / np.linalg.norm(update)) for update in updates]\n"
                "    return (sum(cut) + noise * draws.standard_normal(len(cut[0]))) / len(cut)\n"
            ),
            hint="doesn't depend on clip",
        ),
        Mistake(
            "adds no noise",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    return sum(update * min(1, clip / np.linalg.norm(update)) for update in updates) / len(updates)\n"
            ),
            hint="no noise",
        ),
        Mistake(
            "cuts the sum",
            code=(
                "import numpy as np\n\n\ndef private(updates, clip, noise, draws):\n"
                "    total = sum(updates)\n"
                "    total = total * min(1, clip / np.linalg.norm(total))\n"
                "    return (total + noise * clip * draws.standard_normal(len(total))) / len(updates)\n"
            ),
            hint="The sum is cut",
        ),
    ],
}
