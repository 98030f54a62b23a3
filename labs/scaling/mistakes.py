"""Typical wrong answers of lab 12, and what each of them is told."""

from workshop.course.exercise_checks import Mistake

SHARE = (
    "import numpy as np\n"
    "def serial_share(ranks, seconds):\n"
    "    n, seconds = np.array(ranks), np.array(seconds)\n"
    "    x, y = 1 - 1 / n, seconds / seconds[0] - 1 / n\n"
)
STEP = (
    "import numpy as np\n"
    "def step_seconds(times, ranks, size, latency, bandwidth):\n"
    "    x = np.sort(times)\n"
    "    share = np.arange(len(x) + 1) / len(x)\n"
    "    slowest = x @ np.diff(share**ranks)\n"
)
RING = " + 2 * (ranks - 1) * (latency + size / ranks / bandwidth)\n"
ERROR = "def naive_error(workers, rates):\n    prediction = rates[0] / workers[0] * workers[-1]\n"

MISTAKES = {
    "serial_share": [
        Mistake("returns the divided share", code=SHARE + "    return 1 - x @ y / (x @ x)\n", hint="that is 1 - s"),
        Mistake(
            "has seconds in place of ratios",
            code=SHARE.replace("seconds / seconds[0]", "seconds") + "    return x @ y / (x @ x)\n",
            hint="divide the seconds by those of one rank",
        ),
        Mistake("fits the last point", code=SHARE + "    return y[-1] / x[-1]\n", hint="fits the last point alone"),
        Mistake("averages one share a point", code=SHARE + "    return (y[1:] / x[1:]).mean()\n", hint="weighs points"),
        Mistake("divides the sums", code=SHARE + "    return y.sum() / x.sum()\n", hint="that is sum(y) / sum(x)"),
        Mistake("divides by the other squares", code=SHARE + "    return x @ y / (y @ y)\n", hint="sum(y * y)"),
        Mistake("doesn't divide", code=SHARE + "    return x @ y\n", hint="the division by"),
        Mistake(
            "keeps 1 / n in the times",
            code=SHARE.replace("seconds[0] - 1 / n", "seconds[0]") + "    return x @ y / (x @ x)\n",
            hint="subtract 1 / n",
        ),
        Mistake("divides by the points", code=SHARE + "    return x @ y / len(x)\n", hint="number of points"),
        Mistake("returns the speed-up", code=SHARE + "    return seconds[0] / seconds[-1]\n", hint="the speed-up"),
        Mistake("returns all shares", code=SHARE + "    return y[1:] / x[1:]\n", hint="a single number"),
    ],
    "step_seconds": [
        Mistake(
            "has the mean",
            code=STEP + "    return x.mean()" + RING,
            hint="All ranks wait for the slowest",
        ),
        Mistake("has the largest", code=STEP + "    return x.max()" + RING, hint="the largest measured time"),
        Mistake(
            "doesn't sort",
            code=STEP.replace("np.sort(times)", "np.array(times)") + "    return slowest" + RING,
            hint="sort the times",
        ),
        Mistake(
            "sorts downwards",
            code=STEP.replace("np.sort(times)", "np.sort(times)[::-1]") + "    return slowest" + RING,
            hint="Sort the times from small to large",
        ),
        Mistake(
            "forgets the power",
            code=STEP.replace("share**ranks", "share") + "    return slowest" + RING,
            hint="that has the mean",
        ),
        Mistake(
            "forgets the difference",
            code=STEP.replace("np.diff(share**ranks)", "share[1:]**ranks") + "    return slowest" + RING,
            hint="weights add up to 1",
        ),
        Mistake(
            "has the fastest",
            code=STEP.replace("np.diff(share**ranks)", "-np.diff((1 - share)**ranks)") + "    return slowest" + RING,
            hint="the fastest of n draws",
        ),
        Mistake("forgets the exchange", code=STEP + "    return slowest\n", hint="the all-reduce is missing"),
        Mistake("forgets compute", code=STEP + "    return 0" + RING, hint="compute is missing"),
        Mistake(
            "sends all of the array",
            code=STEP + "    return slowest" + RING.replace("size / ranks", "size"),
            hint="divide the size by n",
        ),
        Mistake("goes round once", code=STEP + "    return slowest" + RING.replace("2 * (", "("), hint="n - 1 to hand"),
        Mistake(
            "has 2 n rounds",
            code=STEP + "    return slowest" + RING.replace("(ranks - 1)", "ranks"),
            hint="one rank sends no message",
        ),
        Mistake(
            "has one latency",
            code=STEP + "    return slowest + latency + 2 * (ranks - 1) * size / ranks / bandwidth\n",
            hint="one rank sends no message",
        ),
        Mistake(
            "has one latency with many ranks",
            code=STEP
            + "    return slowest + (latency + 2 * (ranks - 1) * size / ranks / bandwidth if ranks > 1 else 0)\n",
            hint="has the latency once",
        ),
        Mistake(
            "multiplies by the bandwidth",
            code=STEP + "    return slowest" + RING.replace("/ bandwidth", "* bandwidth"),
            hint="bytes divided by bytes per second",
        ),
    ],
    "naive_error": [
        Mistake("returns the prediction", code=ERROR + "    return prediction\n", hint="that is the prediction"),
        Mistake("forgets to subtract", code=ERROR + "    return prediction / rates[-1]\n", hint="subtract 1"),
        Mistake("returns the efficiency", code=ERROR + "    return rates[-1] / prediction\n", hint="the efficiency"),
        Mistake(
            "divides by the prediction",
            code=ERROR + "    return (prediction - rates[-1]) / prediction\n",
            hint="divide by the measured rate",
        ),
        Mistake(
            "has the sign of the measurement",
            code=ERROR + "    return 1 - prediction / rates[-1]\n",
            hint="turn the sign",
        ),
        Mistake("drops the sign", code=ERROR + "    return abs(prediction / rates[-1] - 1)\n", hint="keep the sign"),
        Mistake(
            "doesn't divide by the first number",
            code=ERROR.replace(" / workers[0]", "") + "    return prediction / rates[-1] - 1\n",
            hint="divide it by their number first",
        ),
        Mistake(
            "returns per cent", code=ERROR + "    return 100 * (prediction / rates[-1] - 1)\n", hint="not per cent"
        ),
        Mistake(
            "counts points",
            code=ERROR.replace("workers[-1]", "len(workers)") + "    return prediction / rates[-1] - 1\n",
            hint="number of points",
        ),
    ],
}
