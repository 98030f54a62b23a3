"""Typical wrong answers of lab 6, each with a piece of the hint that it has to get."""

from workshop.course.exercise_checks import Mistake

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
}
