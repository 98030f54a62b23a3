"""The table of what can go wrong."""

from __future__ import annotations

import pytest

from workshop.report.failures import failures_of
from workshop.workloads.openfl.faults import GUESTS, MEANINGS, reason


def test_every_fault_of_the_catalogue_has_a_meaning():
    faults = {failure.broken_params["fault"] for failure in failures_of("openfl")}
    assert faults == MEANINGS.keys() - {""}
    assert GUESTS.keys() < faults


@pytest.mark.parametrize(
    ("code", "words", "expires", "why"),
    [
        ("UNAUTHENTICATED", "", 2e9, "the name in the certificate is another one (gRPC: UNAUTHENTICATED)"),
        ("UNAVAILABLE", "SSL routines: CERTIFICATE_VERIFY_FAILED", 1e9, "TLS: it was valid until 2001-09-09 only"),
        ("UNAVAILABLE", "SSL routines: CERTIFICATE_VERIFY_FAILED", 2e9, "TLS: nobody here knows the authority"),
        ("UNAVAILABLE", "RSA routines:OPENSSL_internal:BLOCK_TYPE_IS_NOT_01", 2e9, "another key than the one"),
        ("UNAVAILABLE", "nothing known", 2e9, "the connection ends before a word is read (gRPC: UNAVAILABLE)"),
    ],
)
def test_why_somebody_was_refused_is_read_from_what_was_said(code, words, expires, why):
    assert why in reason(code, words, expires, 1.7e9)
