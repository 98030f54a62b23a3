"""The nine steps as data: what each asks, what learners predict, how it is drawn, what the article found, why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from workshop.study.guided import answers, cells, places, verdicts_of_settings, verdicts_of_threads
from workshop.study.guided.found import Found
from workshop.study.guided.guesses import Answer, Ask, Choice, Number
from workshop.study.guided.saying import Grown, Verdict, name
from workshop.study.published import PUBLISHED

SOURCE = next(one.source for one in PUBLISHED if one.what == "S-GAN")
OTHERS = "Their images, net and machine were others: compare what helped and what didn't, not the numbers."
Drawn = Literal["profile", "line", "heatmap", "memory", "bars", "mpis", "shares", "waterfall"]


@dataclass(frozen=True)
class Step:
    """One step. `ask` may need to know which cells there are."""

    key: str
    short: str  # for a row of buttons
    title: str
    asks: str
    ask: Callable[[Found], Ask]
    drawn: Drawn
    article: str  # the article's own figures
    explain: str
    judge: Callable[[Found, Grown], Verdict | None]
    means: Mapping[str, str] = field(default_factory=dict)  # what its settings are, where their names don't say it

    def answer(self, found: Found, grown: Grown) -> Answer | None:
        return answers.answer(found, self.key, grown)


def _number(ask: Number) -> Callable[[Found], Ask]:
    return lambda _: ask


def _cells(question: str, step: str) -> Callable[[Found], Ask]:
    return lambda found: Choice(question, tuple(name(one) for one in found.results(step)))


def _faster(question: str) -> Callable[[Found], Ask]:
    return _number(Number(question, "x", 1.0, 100.0, 0.05, 1.0))


STEPS: tuple[Step, ...] = (
    Step(
        "a",
        "Profile",
        "Profile the start",
        "One rank, started the way everybody starts: mpirun binds it to one core, and it takes as many threads as the "
        "machine has cores. What lives in that process, where does its time go, how much memory does it take?",
        _number(Number("How many threads does the process of that rank have?", "threads", 1, 1000, 1, 1)),
        "profile",
        "Intel's Application Performance Snapshot showed the authors far too many threads: those of OpenMP and of "
        "Eigen together were more than a node had logical cores.",
        "Measure before you change anything. Every library of a process starts threads of its own and knows nothing of "
        "the others: TensorFlow alone has two pools, the exchange of gradients, the MPI and Python have theirs. Most "
        "of them sleep. What counts are those that work at the same time, against the cores that the rank may use.",
        verdicts_of_threads.start,
    ),
    Step(
        "b",
        "OpenMP",
        "OMP_NUM_THREADS",
        "The one variable that every guide tells you to set. Here it alone changes; TensorFlow's own pools stay.",
        _faster("How many times as fast is the best number of threads as the worst?"),
        "line",
        "The best of the authors' runs had 50 OpenMP threads and did 19.67 images/s, on images of 256 x 256 pixels, "
        "on one node of two Xeon Platinum 8260L.",
        "OMP_NUM_THREADS is read by OpenMP's runtime. Whether that runs your kernels depends on how a library was "
        "built: the article's TensorFlow was Intel's, on OpenMP; the stock one shares operations out on a thread pool "
        "of Eigen's. A knob that nothing reads can be turned for hours, and noise will seem to favour some setting: "
        "so compare any effect with what repeats of one setting differ by.",
        verdicts_of_threads.openmp,
    ),
    Step(
        "c",
        "Thread pools",
        "inter_op x intra_op",
        "TensorFlow's two pools: intra_op threads share one operation out, inter_op threads run several operations at "
        "the same time. 0 leaves the number to TensorFlow.",
        _faster("How many times as fast is the best pair as the worst?"),
        "heatmap",
        "inter_op 0 and intra_op 45 were the authors' best for one rank on a node, with 12.34 images/s: less than "
        "OMP_NUM_THREADS had given them, so they went on with that variable.",
        "More intra_op threads help as long as one operation is large enough to be shared out; a small net on small "
        "images soon is not. More than cores take turns, and whoever waits for the last of them loses the turn, too.",
        verdicts_of_threads.pools,
    ),
    Step(
        "d",
        "Ranks",
        "Ranks x threads",
        "The same cores can be one rank with many threads or many ranks with one each. All ranks share the batch of a "
        "step, so every cell does the same work.",
        _cells("Which combination (ranks x threads) is the fastest?", "d"),
        "heatmap",
        "Eight ranks on a node with nine OpenMP threads each were the authors' best: 26.3 images/s.",
        "Threads of a rank can only share what is inside one operation. Ranks share the batch: each runs the whole net "
        "on its part, and they meet once, to exchange gradients. That costs memory (each rank has its own net and its "
        "own TensorFlow) and the exchange, and it mends what doesn't scale within an operation.",
        verdicts_of_threads.ranks_threads,
    ),
    Step(
        "e",
        "Memory",
        "Memory of predict",
        "The classifier is asked again and again: with Keras's predict, with predict_on_batch, and with a compiled "
        "function. Does memory come back?",
        _number(
            Number(
                "By how many MB does memory grow over 100 evaluations with predict, after a warm-up?",
                "MB",
                -100,
                100_000,
                1,
                0,
            )
        ),
        "memory",
        "At 1360 x 1360 pixels one rank of the authors' took over 129 GB, of which about 56 GB were never given back "
        "by Model.predict (TensorFlow issue 33009, Keras issue 13118). With predict_on_batch two ranks fitted on a "
        "node.",
        "Memory that grows is only a leak if it goes on growing: pools fill up and then stay. So look at the slope "
        "after a warm-up, and at its uncertainty. predict builds a data pipeline for each call, which costs time even "
        "where it costs no memory.",
        verdicts_of_settings.memory,
    ),
    Step(
        "f",
        "Settings",
        "Six sets of settings",
        "Variables that guides recommend, in six sets, each on the fastest placement of several ranks.",
        _cells("Which set is the fastest?", "f"),
        "bars",
        "Six sets of KMP_BLOCKTIME, KMP_AFFINITY and I_MPI_PIN_DOMAIN were compared (Table 1, whose values are not in "
        "the article's text, so these sets are our own); the third trained fastest.",
        "A variable only matters to a library that reads it. KMP_* belong to Intel's OpenMP, I_MPI_* to Intel MPI, "
        "HOROVOD_* to Horovod. Where ranks keep to their cores and yield while they wait, little is left to gain; "
        "where they don't, much can be lost.",
        verdicts_of_settings.settings,
        places.SETS,
    ),
    Step(
        "g",
        "MPIs",
        "Three MPIs",
        "The same ranks and the same exchange over Open MPI, MPICH and Intel MPI. Horovod is built for Open MPI, so "
        "all three exchange through mpi4py here.",
        _cells("Which MPI is the fastest?", "g"),
        "mpis",
        "Intel MPI moved up to 27 % more images/s than Open MPI 4.0.5 on one node, and up to 18 % more on eight.",
        "On one machine ranks meet in shared memory, and MPIs differ most in what ranks do while they wait: one that "
        "polls keeps its core from whoever would have work to do on it. With a core for each rank that hardly shows.",
        verdicts_of_settings.mpis,
    ),
    Step(
        "h",
        "Evaluation",
        "Evaluation and the number of ranks",
        "Before: an evaluation after so many images of all ranks together, by rank 0 while the others wait. After: "
        "every 15 iterations, however many ranks there are, and shared among them. From one rank to as many as there "
        "are cores (8 at most), all read as many images.",
        _number(
            Number("Before: what percentage of the time does evaluation take on the most ranks?", "%", 0, 100, 1, 0)
        ),
        "shares",
        "The authors' throughput grew in line with the nodes, but the time to train did not fall as much: evaluations "
        "became more frequent with every node, on rank 0 alone. Every 15 iterations mended it, at the same accuracy.",
        "Images/s while training is not time to solution. What one rank does while the others wait doesn't shrink with "
        "more ranks (Amdahl's law), so its share of the time grows with them. Always count all of the time.",
        verdicts_of_settings.evaluation,
    ),
    Step(
        "i",
        "All of it",
        "From the naive start to the end",
        "Every step's gain on top of the ones before, measured anew in turns: a noisy machine doesn't decide, and "
        "gains that aren't real vanish.",
        _faster("How many times as fast as the naive start is the end?"),
        "waterfall",
        "2x on one node, a further 8x over eight nodes, 16x in all; many of the gains without a change of code.",
        "Gains of single steps don't multiply: two of them may mend the same waste. So the whole way is measured "
        "again, each stage beside the others. Here the naive start is one rank that mpirun has bound to one core.",
        verdicts_of_settings.stages,
    ),
)


def step(key: str) -> Step:
    """The step of that letter."""
    return next(one for one in STEPS if one.key == key)


assert "".join(one.key for one in STEPS) == "".join(cells.CELLS)
