"""The download against real servers: the right file, or a reason."""

from __future__ import annotations

import hashlib
import shutil
import ssl
import subprocess
from dataclasses import replace

import pytest

from tests.support import need
from tests.workloads.mnist.data.serving import Server, serve
from workshop.workloads.mnist.data import places
from workshop.workloads.mnist.data.places import Remote, fetch

DATA = bytes(range(256)) * 2000


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server():
    with serve(DATA) as serving:
        yield serving


def remote(server: Server, **other: str) -> Remote:
    return replace(Remote(server.address, hashlib.sha256(DATA).hexdigest()), **other)


def failure(remote: Remote) -> str:
    with pytest.raises(OSError) as failed:
        fetch(remote)
    return str(failed.value)


def test_a_file_comes_as_it_is(server):
    assert fetch(remote(server)) == DATA


def test_a_proxy_of_the_environment_is_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.address.removesuffix("/mnist.npz"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert fetch(remote(server, address="http://mnist.invalid/file")) == DATA
    assert server.asked == ["http://mnist.invalid/file"]


def test_another_file_is_refused(server):
    server.data = b"<html>Log in to the network of this hotel</html>"
    assert failure(remote(server)).startswith("what came has sha256")
    server.data = DATA[:-1]
    assert failure(remote(server)).startswith("what came has sha256")


def test_what_the_server_says_is_told(server):
    server.status = 404
    assert failure(remote(server)) == "HTTP Error 404: Not Found"


def test_a_server_that_never_answers_is_given_up(server, monkeypatch):
    server.silent = True
    monkeypatch.setattr(places, "SILENCE", 0.5)
    assert "timed out" in failure(remote(server))


@pytest.mark.real
def test_an_encrypted_connection_is_checked(tmp_path, monkeypatch):
    need(shutil.which("openssl"), "openssl, which makes a certificate")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(["openssl", *words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serve(DATA, context) as server:
        assert "certificate verify failed" in failure(remote(server)).lower().replace("_", " ")
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert fetch(remote(server)) == DATA
