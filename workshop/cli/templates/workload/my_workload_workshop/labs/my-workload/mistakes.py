"""Wrong answers that learners give, and a piece of the hint that each has to get."""

from workshop.course.exercise_checks import Mistake

_CELL = "%%ranks\ndef estimate(comm, hits, thrown):\n    {}\n"

MISTAKES = {
    "estimate": [
        Mistake("is empty", code=_CELL.format("..."), hint="Nothing is there yet"),
        Mistake("keeps its own", code=_CELL.format("return 4 * hits / thrown"), hint="its own darts only"),
        Mistake("adds estimates", code=_CELL.format("return comm.allreduce(4 * hits / thrown)"), hint="divide once"),
        Mistake("is on rank 0", code=_CELL.format("return comm.reduce(4 * hits / thrown)"), hint="Only rank 0 has"),
    ]
}
