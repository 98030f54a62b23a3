"""Who has which images, and who takes part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.federated import FederatedParams
from workshop.workloads.federated.mathematics.partition import batches, label_counts, participants, partition

KINDS = ("iid", "dirichlet", "label")


def labels(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 10, count)


def asked(**values) -> FederatedParams:
    return FederatedParams(**{"alpha": 0.5, "classes": 10} | values)


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    institutions=st.integers(1, 12),
    count=st.integers(24, 400),
    seed=st.integers(0, 2**31 - 1),
    alpha=st.floats(0.05, 1e5),
    validation=st.floats(0.01, 0.99),
    limit=st.none() | st.integers(24, 500),
)
def test_every_image_belongs_to_one_institution(kind, institutions, count, seed, alpha, validation, limit):
    params = asked(
        partition=kind, institutions=institutions, seed=seed, alpha=alpha, validation=validation, images=limit
    )
    try:
        dealt = partition(params, labels(count))
    except BadInput as refused:  # of random shares and few images somebody may come off too badly
        assert kind in ("dirichlet", "label")
        assert "\n" not in str(refused)
        return
    whole = np.concatenate([dealt.all_of(one) for one in range(institutions)])
    assert len(set(whole.tolist())) == len(whole) == min(limit or count, count)
    assert all(len(part) > 0 for part in (*dealt.train, *dealt.validation))
    again = partition(params, labels(count))
    for one in range(institutions):
        assert again.train[one].tolist() == dealt.train[one].tolist()
        assert again.validation[one].tolist() == dealt.validation[one].tolist()


def skew(alpha: float) -> float:
    """How far institutions' shares of the digits are from those of all, on average: 0 alike, towards 1 apart."""
    there = labels(2000)
    dealt = partition(asked(partition="dirichlet", alpha=alpha, seed=3), there)
    counts = np.array([label_counts(there, dealt.all_of(one)) for one in range(4)], float)
    return float(np.abs(counts / counts.sum(axis=1, keepdims=True) - counts.sum(axis=0) / 2000).sum(axis=1).mean() / 2)


def test_a_smaller_alpha_makes_institutions_differ_more():
    assert skew(0.1) > skew(1.0) > skew(100.0)
    assert skew(0.1) > 0.4
    assert skew(1e4) < 0.05


def test_by_label_each_institution_has_as_many_digits_as_asked_for():
    there = labels(1000)
    for institutions, classes in ((4, 3), (2, 5), (10, 1), (7, 4), (1, 10)):
        dealt = partition(asked(partition="label", institutions=institutions, classes=classes), there)
        for one in range(institutions):
            assert sum(count > 0 for count in label_counts(there, dealt.all_of(one))) == classes


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"institutions": 51}, "51 institutions can't share 100 images: .* take at most 50 institutions"),
        ({"partition": "label", "classes": 2}, "would leave 2 of the 10 digits to nobody; take classes of at least 3"),
        ({"partition": "label", "classes": 3, "institutions": 1}, "1 institution of 3 digits each would leave 7"),
        (
            {"partition": "dirichlet", "alpha": 1e-9, "institutions": 40},
            "would have no images, where it needs .* take a larger alpha or more classes",
        ),
    ],
)
def test_what_can_not_be_dealt_is_refused_in_one_sentence(values, words):
    with pytest.raises(BadInput, match=words) as refused:
        partition(asked(**values), labels(100))
    assert "\n" not in str(refused.value)


@settings(deadline=None)
@given(st.integers(1, 64), st.floats(0.001, 1.0), st.integers(0, 100), st.integers(1, 50))
def test_participants_are_drawn_anew_in_each_round_and_the_same_every_time(institutions, fraction, seed, number):
    params = asked(institutions=institutions, participation=fraction, seed=seed)
    drawn = participants(params, number)
    assert drawn == sorted(set(drawn)) == participants(params, number)
    assert set(drawn) <= set(range(institutions))
    assert len(drawn) == max(int(fraction * institutions + 0.5), 1)


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(1, 4), st.integers(0, 9))
def test_an_epoch_reads_every_image_once(count, batch, epochs, seed):
    found = batches(count, batch, epochs, (seed, 1, 2))
    read = np.concatenate(found)
    assert np.bincount(read, minlength=count).tolist() == [epochs] * count
    assert max(map(len, found)) <= batch
    assert len(found) == epochs * -(-count // batch)


def test_each_institution_is_drawn_by_itself_where_it_is_private():
    params = asked(institutions=20, participation=0.3, privacy="institutions")
    sizes = np.array([len(participants(params, number)) for number in range(1, 1001)])
    assert sizes.mean() == pytest.approx(6, abs=0.25)
    assert sizes.std() == pytest.approx(np.sqrt(20 * 0.3 * 0.7), rel=0.1)
    everybody = asked(institutions=20, privacy="institutions")
    assert participants(everybody, 3) == list(range(20))
