"""The faults of a federation, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

# Guests whose certificate isn't right, by fault: the guest's name, and how messages call it. {0} is the last
# institution, {1} the guest's name.
GUESTS: Mapping[str, tuple[str, str]] = {
    "foreign-certificate": ("stranger", "a {1}"),
    "expired-certificate": ("latecomer", "a {1}"),
    "other-name": ("institution1", "{0} as {1}"),
}


# The verdict and the explanation of each fault. Names in braces are filled in, such as `{name}`.
MEANINGS: Mapping[str, tuple[str, str]] = {
    "foreign-certificate": (
        "{name} was refused: its certificate is of another authority.",
        "{issuer} has signed it; here only {trusted} is trusted, so TLS ends before a word is read.",
    ),
    "expired-certificate": (
        "{name} was refused: its certificate was valid until {until}.",
        "{issuer} has signed it, and says itself until when; from then on nobody has to believe it.",
    ),
    "other-name": (
        "Somebody who claimed to be {claimed} was refused: the certificate is that of {subject}.",
        "The certificate is valid, so TLS lets it through; but who says that it is somebody else than its certificate "
        "says is given no task.",
    ),
    "": ("{name} was refused: its certificate was not accepted.", "{reason}."),
    "dies": (
        "{killed} died in the middle of the federation.",
        "The aggregator can't tell one that is slow from one that is dead; only a limit of time can.{part}",
    ),
    "restart": (
        "The aggregator was started {starts} times, and the federation went on.",
        "It had ended {ended}; collaborators asked until somebody answered again, and the model of the last round was "
        "still there.",
    ),
}
# Words in the log of the aggregator's gRPC when it refuses a certificate.
WRONG_SIGNATURE, REFUSED = "RSA routines", "CERTIFICATE_VERIFY_FAILED"


def reason(code: str, words: str, expires: float, now: float) -> str:
    """Return why a guest was refused, from gRPC's status code, the logs of both sides, and when its certificate
    expires, in seconds since the epoch. Over TLS, the guest itself only learns that the connection was closed."""
    until = datetime.fromtimestamp(expires, UTC).date().isoformat()
    reasons = (
        (code == "UNAUTHENTICATED", "the name in the certificate is another one"),
        (WRONG_SIGNATURE in words, "TLS: the authority of that name has another key than the one that signed it"),
        (REFUSED in words and expires < now, f"TLS: it was valid until {until} only"),
        (REFUSED in words, "TLS: nobody here knows the authority that signed it"),
        (True, "the connection ends before a word is read"),
    )
    return f"{next(sentence for applies, sentence in reasons if applies)} (gRPC: {code})"
