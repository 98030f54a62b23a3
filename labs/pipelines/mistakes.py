"""Typical wrong answers of lab 11, and the hint for each of them."""

from workshop.course.exercise_checks import Mistake

ORDER = "def order_work(stage, stages, micro_batches):\n"
JOIN = "    return ' '.join(work)\n"
BUBBLE = "def predict_bubble(seconds, micro_batches):\n"
STEP = "    step = sum(seconds) + (micro_batches - 1) * max(seconds)\n    work = micro_batches * sum(seconds)\n"


def one_f_one_b(warm_up: str, first: int = 0, join: str = JOIN) -> str:
    """1F1B with another warm-up, or numbers from `first` on."""
    return (
        ORDER
        + f"    warm_up = {warm_up}\n"
        + f"    work = [f'F{{micro + {first}}}' for micro in range(warm_up)]\n"
        + "    for micro in range(micro_batches):\n"
        + "        if warm_up + micro < micro_batches:\n"
        + f"            work.append(f'F{{warm_up + micro + {first}}}')\n"
        + f"        work.append(f'B{{micro + {first}}}')\n"
        + join
    )


MISTAKES = {
    "order_work": [
        Mistake(
            "has one more in the warm-up",
            one_f_one_b("min(stages - stage, micro_batches)"),
            "holds the activations of 5",
        ),
        Mistake("has one less in the warm-up", one_f_one_b("max(stages - stage - 2, 0)"), "the warm-up is too short"),
        Mistake(
            "has the same warm-up on all stages",
            one_f_one_b("min(stages - 1, micro_batches)"),
            "holds the activations of 4",
        ),
        Mistake("counts the warm-up by the stage", one_f_one_b("min(stage, micro_batches)"), "deadlock: stage 0 waits"),
        Mistake("forgets that micro-batches may be few", one_f_one_b("stages - stage - 1"), "fewer micro-batches"),
        Mistake("is naive", one_f_one_b("0"), "the naive schedule"),
        Mistake("is GPipe", one_f_one_b("micro_batches"), "This is GPipe"),
        Mistake("counts from 1", one_f_one_b("min(stages - stage - 1, micro_batches)", 1), "count from 0"),
        Mistake(
            "returns a list",
            one_f_one_b("min(stages - stage - 1, micro_batches)", 0, "    return work\n"),
            "join its items",
        ),
        Mistake(
            "has no spaces",
            one_f_one_b("min(stages - stage - 1, micro_batches)", 0, "    return ''.join(work)\n"),
            "space",
        ),
        Mistake(
            "has backward first in the steady phase",
            code=ORDER
            + "    warm_up = min(stages - stage - 1, micro_batches)\n"
            + "    work = [f'F{micro}' for micro in range(warm_up)]\n"
            + "    for micro in range(micro_batches):\n"
            + "        work.append(f'B{micro}')\n"
            + "        if warm_up + micro < micro_batches:\n"
            + "            work.append(f'F{warm_up + micro}')\n"
            + JOIN,
            hint="a backward computation needs the activations",
        ),
        Mistake(
            "forgets the cool-down",
            code=ORDER
            + "    warm_up = min(stages - stage - 1, micro_batches)\n"
            + "    work = [f'F{micro}' for micro in range(warm_up)]\n"
            + "    for micro in range(micro_batches - warm_up):\n"
            + "        work += [f'F{warm_up + micro}', f'B{micro}']\n"
            + JOIN,
            hint="cool-down",
        ),
        Mistake(
            "goes back in the opposite order",
            code=ORDER
            + "    work = [f'F{micro}' for micro in range(micro_batches)]\n"
            + "    work += [f'B{micro}' for micro in reversed(range(micro_batches))]\n"
            + JOIN,
            hint="GPipe",
        ),
        Mistake(
            "takes the last micro-batches back first",
            code=ORDER
            + "    work = []\n"
            + "    for begin in range(0, micro_batches, 2):\n"
            + "        pair = range(begin, min(begin + 2, micro_batches))\n"
            + "        work += [f'F{micro}' for micro in pair] + [f'B{micro}' for micro in reversed(pair)]\n"
            + JOIN,
            hint="by their numbers",
        ),
    ],
    "predict_bubble": [
        Mistake("returns per cent", BUBBLE + STEP + "    return 100 * (1 - work / len(seconds) / step)\n", "per cent"),
        Mistake("returns the work", BUBBLE + STEP + "    return work / len(seconds) / step\n", "the stages work"),
        Mistake("forgets the stages", BUBBLE + STEP + "    return 1 - work / step\n", "Multiply T by the stages"),
        Mistake(
            "divides by the work", BUBBLE + STEP + "    return (len(seconds) * step - work) / work\n", "divided by work"
        ),
        Mistake(
            "returns idle seconds",
            BUBBLE + STEP + "    return len(seconds) * step - work\n",
            "idle seconds of all stages",
        ),
        Mistake(
            "takes the formula for equal stages",
            BUBBLE + "    stages = len(seconds)\n    return (stages - 1) / (micro_batches + stages - 1)\n",
            "formula for equal stages",
        ),
        Mistake(
            "counts the first micro-batch twice",
            BUBBLE + STEP + "    return 1 - work / len(seconds) / (step + max(seconds))\n",
            "counted twice",
        ),
        Mistake(
            "forgets fill and drain",
            BUBBLE + STEP + "    return 1 - work / len(seconds) / (micro_batches * max(seconds))\n",
            "fill and the drain",
        ),
        Mistake(
            "is naive",
            BUBBLE + "    return 1 - 1 / len(seconds)\n",
            "naive schedule",
        ),
        Mistake(
            "queues at the last stage",
            BUBBLE
            + "    step = sum(seconds) + (micro_batches - 1) * seconds[-1]\n"
            + "    return 1 - micro_batches * sum(seconds) / len(seconds) / step\n",
            "need not be the last",
        ),
        Mistake(
            "queues at the fastest stage",
            BUBBLE
            + "    step = sum(seconds) + (micro_batches - 1) * min(seconds)\n"
            + "    return 1 - micro_batches * sum(seconds) / len(seconds) / step\n",
            "not the fastest",
        ),
    ],
    "faster": [
        Mistake(
            "has no W",
            "faster = 'F0 F1 B0 F2 B1 F3 B2 B3 / F0 B0 F1 B1 F2 B2 F3 B3'\n",
            "Divide it",
        ),
        Mistake(
            "has W before B",
            "faster = 'F0 F1 W0 B0 F2 W1 B1 F3 W2 B2 W3 B3 / F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3'\n",
            "before its backward",
        ),
        Mistake(
            "forgets a W",
            "faster = 'F0 F1 B0 F2 W0 B1 F3 W1 B2 W2 B3 / F0 B0 F1 B1 W0 F2 B2 W1 F3 B3 W2 W3'\n",
            "no weights of micro-batch 3",
        ),
        Mistake(
            "puts W off on stage 0 only",
            "faster = 'F0 F1 B0 F2 B1 F3 B2 B3 W0 W1 W2 W3 / F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3'\n",
            "Your schedule takes",
        ),
        Mistake(
            "is GPipe with W at the end",
            "faster = 'F0 F1 F2 F3 B0 B1 B2 B3 W0 W1 W2 W3 / F0 F1 F2 F3 B0 B1 B2 B3 W0 W1 W2 W3'\n",
            "13 are possible",
        ),
        Mistake(
            "stands still",
            "faster = 'F0 B0 F1 B1 W0 W1 F2 B2 F3 B3 W2 W3 / F0 F1 B0 B1 W0 W1 F2 F3 B2 B3 W2 W3'\n",
            "his is a deadlock: stage 0 waits",
        ),
        Mistake("is for one stage", "faster = 'F0 B0 W0 F1 B1 W1 F2 B2 W2 F3 B3 W3'\n", "for 1 stages"),
        Mistake(
            "has three micro-batches",
            "faster = 'F0 F1 B0 F2 W0 B1 W1 B2 W2 / F0 B0 F1 B1 W0 F2 B2 W1 W2'\n",
            "no forward of micro-batch 3",
        ),
    ],
}
