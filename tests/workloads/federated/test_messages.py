"""What may travel between institutions and the aggregator, and what may not."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from workshop.workloads.federated import messages
from workshop.workloads.federated.messages import COUNT, MODEL, SCORE, UPDATE, InstitutionChannel, MessageKind, home
from workshop.workloads.federated.params import MOST_INSTITUTIONS

PARAMETERS = 1000


@pytest.mark.parametrize(
    ("kind", "array"),
    [
        (UPDATE, np.zeros((30, 28, 28), np.uint8)),  # images
        (UPDATE, np.zeros(PARAMETERS, np.float64)),
        (UPDATE, np.zeros(PARAMETERS + 1, np.float32)),
        (MODEL, np.zeros((PARAMETERS, 1), np.float32)),
        (COUNT, np.arange(10)),  # labels
        (SCORE, np.zeros(13)),
    ],
)
def test_what_was_not_declared_is_not_sent(kind, array):
    line = InstitutionChannel(MPI.COMM_SELF, 1, PARAMETERS)
    with pytest.raises(ValueError, match=f"A message of kind {kind.name} is {kind.dtype}"):
        line.from_institutions(kind, {0: array}, [0])
    assert line.bytes_up == 0


def test_no_declared_message_has_room_for_an_image():
    kinds = [value for value in vars(messages).values() if isinstance(value, MessageKind)]
    for kind in kinds:
        assert kind in (MODEL, UPDATE) or kind.empty(PARAMETERS).nbytes < 100
    tags = {kind.tag for kind in kinds}
    assert len(tags) == len(kinds) == len({kind.name for kind in kinds}) > 5
    assert messages.TAGS > MOST_INSTITUTIONS
    assert (max(tags) + 1) * messages.TAGS < 32_767, "MPI promises no larger tags"


def test_what_is_told_is_a_copy_and_is_counted():
    line = InstitutionChannel(MPI.COMM_SELF, 3, PARAMETERS)
    mine = {one: np.full(PARAMETERS, one, np.float32) for one in range(3)}
    told = line.from_institutions(UPDATE, mine, [0, 2])
    mine[2][:] = 9
    assert sorted(told) == [0, 2]
    assert told[2][0] == 2
    assert line.bytes_up == 2 * 4 * PARAMETERS
    assert line.model(mine[0]).tolist() == mine[0].tolist()
    assert line.bytes_down == 3 * 4 * PARAMETERS


def test_institutions_are_dealt_out_in_turn():
    assert [home(one, 3) for one in range(7)] == [0, 1, 2, 0, 1, 2, 0]
