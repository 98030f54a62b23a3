"""Which MPI these ranks run under."""

from __future__ import annotations


def library() -> str:
    """The MPI library of this process in a few words: Open MPI v5.0.11, MPICH 5.0.2, Intel(R) MPI Library 2021.18.1."""
    from mpi4py import MPI

    first = MPI.Get_library_version().strip("\0\n ").splitlines()[0].partition(",")[0]
    return " ".join(first.replace("Version:", " ").split()).partition(" for ")[0]
