"""Prints certificates as a JSON list: `certificates.py CHAIN CERT…`, where CHAIN holds the authorities that may have
signed them. This file runs in OpenFL's environment, which has `cryptography`."""

import hashlib
import json
import sys
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def signer(certificate, authorities) -> str:
    """Return the beginning of the SHA-256 of the signing key: all authorities of OpenFL have the same name."""
    for authority in authorities:
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, InvalidSignature):  # another name, or another signature
            continue
        key = authority.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        return f"key {hashlib.sha256(key).hexdigest()[:8]}"
    return "unknown key"


described, chain = [], x509.load_pem_x509_certificates(Path(sys.argv[1]).read_bytes())
for path in sys.argv[2:]:
    certificate = x509.load_pem_x509_certificate(Path(path).read_bytes())
    subject, issuer = (
        name.get_attributes_for_oid(x509.NameOID.COMMON_NAME)[0].value
        for name in (certificate.subject, certificate.issuer)
    )
    expires = certificate.not_valid_after_utc.timestamp()
    described.append({"subject": subject, "issuer": f"{issuer} ({signer(certificate, chain)})", "expires": expires})
print(json.dumps(described))
