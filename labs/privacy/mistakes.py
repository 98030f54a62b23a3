"""Typical wrong answers of lab 7, each with a piece of the hint that it has to get."""

from workshop.course.exercise_checks import Mistake

_STREAM = """
import numpy as np


def stream(seed, length):
    return np.random.default_rng(seed).integers(0, 2**64, length, dtype=np.uint64)

"""

MISTAKES = {
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
