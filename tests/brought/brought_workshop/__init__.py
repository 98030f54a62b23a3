"""A package that brings an MPI and a launcher: Open MPI under another name, and this machine as a box."""

from workshop.extension import MPI, Extension, Launcher, LauncherOption

EXTENSION = Extension(
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
