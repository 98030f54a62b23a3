"""Describes certificates, and makes an expired one. This file runs in OpenFL's environment, which has `cryptography`.

`certificates.py describe OUT CHAIN CERT…` writes a JSON list about CERTs into the file OUT; CHAIN holds the authorities
that may have signed them. `certificates.py expire REQUEST CA OUT` signs a request with the authority in the folder CA,
for a week in the past. Private keys are read here for signing, and written nowhere.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

DAYS = (-8, -1)  # from today, of a certificate that has expired


def identity(key) -> str:
    """Return the beginning of a public key's SHA-256: authorities of OpenFL all have the same name."""
    parts = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    return hashlib.sha256(key.public_bytes(*parts)).hexdigest()[:8]


def common_name(name: x509.Name) -> str:
    """Return the common name within a distinguished name, or all of it where it has none."""
    names = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else name.rfc4514_string()


def describe(path: str, authorities: list[x509.Certificate]) -> dict:
    """Return a certificate's subject, issuer with the signing key, and expiry in seconds since the epoch."""
    certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
    signer = "unknown key"
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except Exception:  # another name, or another signature: it is not this one
            continue
        signer = f"key {identity(authority.public_key())}"
    return {
        "subject": f"CN={common_name(certificate.subject)}",
        "issuer": f"CN={common_name(certificate.issuer)} ({signer})",
        "expires": certificate.not_valid_after_utc.timestamp(),
    }


def expired(request: str, authority: str, out: str) -> None:
    """Sign a request for a week in the past."""
    folder = Path(authority)
    csr = x509.load_pem_x509_csr(Path(request).read_bytes())
    signer = x509.load_pem_x509_certificate((folder / "signing-ca.crt").read_bytes())
    key = load_pem_private_key((folder / "signing-ca" / "private" / "signing-ca.key").read_bytes(), password=None)
    today = datetime.datetime.now(datetime.UTC)
    begin, end = (today + datetime.timedelta(days=days) for days in DAYS)
    builder = x509.CertificateBuilder(signer.subject, csr.subject, csr.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(begin).not_valid_after(end)
    Path(out).write_bytes(builder.sign(key, hashes.SHA384()).public_bytes(serialization.Encoding.PEM))


def main(words: list[str]) -> None:
    what, *rest = words
    if what == "expire":
        expired(*rest)
        return
    out, chain, *paths = rest
    authorities = x509.load_pem_x509_certificates(Path(chain).read_bytes())
    Path(out).write_text(json.dumps([describe(path, authorities) for path in paths]))


if __name__ == "__main__":
    main(sys.argv[1:])
