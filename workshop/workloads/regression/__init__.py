"""Linear and ridge regression over MPI ranks: one all-reduce, whatever the number of rows. This file only describes
it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from workshop.core import extras
from workshop.engine.fields import ADVANCED, setting
from workshop.extension import Artifacts, Extension, Params, Preset, Scaling, Workload

INSTEAD = "own"  # the backend that every machine can run


class RegressionParams(Params):
    """The params of a regression: the rows that are made up, and how they are fitted."""

    rows: int = Field(500_000, ge=1, le=200_000_000, description="rows over all ranks")
    features: int = Field(20, ge=1, le=2000, description="features of each row")
    penalty: float = Field(0.0, ge=0, le=1e12, description="ridge penalty; 0: linear regression without one")
    mode: Literal["batch", "streaming"] = Field("batch", description="all rows in memory, or blocks that are seen once")
    block: int = setting(
        8192, "rows of a block of the stream, over all ranks", when={"mode": "streaming"}, ge=1, le=10_000_000
    )
    backend: Literal["own", "daal4py"] = Field("own", description="ours, or Intel's library (on MPICH or Intel MPI)")
    noise: float = Field(1.0, ge=0, le=1e6, description="standard deviation of the targets' noise")
    verify: bool = Field(False, description="compare with scikit-learn, which fits all rows on rank 0")
    fits: int = setting(
        5, "fits of the same rows, of which the median counts", ADVANCED, {"mode": "batch"}, ge=1, le=1000
    )
    dtype: Literal["float32", "float64"] = setting("float64", "precision of rows", ADVANCED)
    seed: int = setting(0, "seed of the rows", ADVANCED, ge=0, le=2**32 - 1)

    @model_validator(mode="after")
    def _solvable(self) -> RegressionParams:
        if self.features >= self.rows and not self.penalty:
            raise ValueError(
                f"features is {self.features}, but there are {self.rows} rows; take at least {self.features + 1} rows, "
                "or a penalty above 0"
            )
        if self.mode == "streaming" and self.backend != INSTEAD:
            raise ValueError(f"backend is {self.backend}, which has no mode streaming; choose own, or the mode batch")
        return self


def _inputs(params: RegressionParams, artifacts: Artifacts) -> Mapping[str, bytes]:
    """No files. Raises BadInput where the backend or scikit-learn, which verifies, is not here."""
    if params.verify:
        extras.require("The setting verify", extras.TRAINING, "sklearn")
    if params.backend == "daal4py":
        from workshop.mpi import daal

        daal.check_here(INSTEAD)
    return {}


WORKLOAD = Workload(
    name="regression",
    title="Linear regression",
    summary="Fits linear or ridge regression to rows spread over ranks, with one all-reduce for any number of rows.",
    params=RegressionParams,
    function="workshop.workloads.regression.run:run",
    inputs=_inputs,
    results=("rows_per_second", "r2", "coefficient_error", "difference", "bytes_exchanged", "bytes_data"),
    metrics={
        "rows_per_second": "throughput [rows/s]",
        "r2": "R²",
        "coefficient_error": "largest error of a coefficient, relative",
        "difference": "largest difference from scikit-learn, relative",
        "bytes_exchanged": "bytes that a rank exchanged in a fit",
        "bytes_data": "bytes of all rows",
        "bytes_kmeans": "bytes that k-means would exchange in each iteration",
        "rows": "rows",
        "features": "features of each row",
        "intercept": "intercept",
        "backend": "back end",
        "stopped": "stopped early",
        "seconds.generate": "time of making the rows",
        "seconds.fit": "time of a fit",
        "seconds.exchange": "time of the messages in a fit",
        "seconds.verify": "time of the comparison with scikit-learn",
    },
    notes={"total rows/s": "The rows of each fit, or of each block of a stream, by its seconds."},
    scaling=Scaling(rate="rows_per_second", unit="rows/s", total="rows", live="total rows/s"),
    compile="workshop.workloads.regression.moments:compile_kernels",
    order=650,
    lab="kmeans",
    rules="workshop.workloads.regression",
    panels="workshop.workloads.regression.report:PANELS",
    star="published",
    presets=(
        Preset(
            "Two ranks against one",
            "Run it on two ranks, then on one: the bytes exchanged stay the same, and the throughput doubles.",
            {"rows": 1_000_000},
            {"ranks": 2, "threads": 1},
        ),
        Preset("Ridge", "A penalty makes the coefficients smaller.", {"rows": 100_000, "penalty": 1e4, "verify": True}),
        Preset("A stream of rows", "Every row is seen once.", {"mode": "streaming", "verify": True}),
    ),
)

EXTENSION = Extension(
    workloads=(WORKLOAD,),
)
