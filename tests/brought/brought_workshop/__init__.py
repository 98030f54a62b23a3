"""A package that brings an MPI, a launcher and a type of questions: Open MPI under another name, this machine as a box,
and claims that are true or false."""

from workshop.extension import MPI, Extension, Launcher, LauncherOption, QuestionType

EXTENSION = Extension(
    question_types=(QuestionType("claim", "brought_workshop.claim:Claim"),),
    mpis=(
        MPI(
            name="thin",
            title="Thin MPI",
            module="brought_workshop.thin",
            mapper="workshop.mpi.mapper:ask_openmpi",
            words="openmpi",
            waiting="variable",
            aliases=("slim",),
        ),
    ),
    launchers=(
        Launcher(
            name="box",
            module="brought_workshop.box",
            title="a box",
            flag="Run it in a box.",
            options=(LauncherOption("shelf", "N", "The shelf on which the box stands."),),
        ),
    ),
)
