"""What TLS is made of, and what can't be made into any."""

import ssl
import tempfile
from pathlib import Path

import pytest
import trustme

from berth_server.kube.tls import Tls, TlsError

AUTHORITY = trustme.CA()
PEM = AUTHORITY.cert_pem.bytes()
ONE, OTHER = AUTHORITY.issue_cert("one.example"), AUTHORITY.issue_cert("other.example")
CHAIN, KEY = ONE.cert_chain_pems[0].bytes(), ONE.private_key_pem.bytes()
ENCRYPTED = b"""-----BEGIN EC PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED
DEK-Info: AES-128-CBC,00000000000000000000000000000000

AAAAAAAAAAAAAAAAAAAAAA==
-----END EC PRIVATE KEY-----
"""


@pytest.mark.parametrize(
    ("tls", "want_authorities", "want_verified"),
    [
        pytest.param(Tls(PEM), 1, True, id="an authority"),
        pytest.param(Tls(PEM + trustme.CA().cert_pem.bytes()), 2, True, id="two"),
        pytest.param(Tls("# Zürich\n".encode() + PEM), 1, True, id="a comment"),
        pytest.param(Tls(PEM, CHAIN, KEY), 1, True, id="a certificate"),
        pytest.param(Tls(PEM, CHAIN + KEY), 1, True, id="a certificate with its key"),
        pytest.param(Tls(PEM, verify=False), 0, False, id="everybody"),
    ],
)
def test_context(tls: Tls, *, want_authorities: int, want_verified: bool) -> None:
    """Nobody else is trusted, and names are checked unless nothing is."""
    context = tls.context()
    assert len(context.get_ca_certs()) == want_authorities
    assert (context.verify_mode is ssl.CERT_REQUIRED, context.check_hostname) == (want_verified, want_verified)
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT


@pytest.mark.parametrize(
    ("tls", "want"),
    [
        pytest.param(Tls(b"garbage"), r"authority is no certificate in PEM \(no start line", id="no authority"),
        pytest.param(Tls(b""), "authority is no certificate in PEM", id="empty authority"),
        pytest.param(Tls(None, b"garbage", KEY), "certificate and its key can't be used", id="no certificate"),
        pytest.param(Tls(None, CHAIN), "certificate and its key can't be used", id="no key"),
        pytest.param(Tls(None, CHAIN, ENCRYPTED), "certificate and its key can't be used", id="an encrypted key"),
        pytest.param(
            Tls(None, CHAIN, OTHER.private_key_pem.bytes()),
            r"can't be used \(key values mismatch\)",
            id="another's key",
        ),
    ],
)
def test_no_context(tls: Tls, want: str) -> None:
    """The reason is said in words, and nobody is asked for a password."""
    with pytest.raises(TlsError, match=want):
        tls.context()


def test_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys are on the disk only while they are loaded, and in no message."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    tls = Tls(PEM, CHAIN, KEY)
    tls.context()
    assert list(tmp_path.iterdir()) == []
    assert KEY.decode().splitlines()[1] not in repr(tls)


def test_a_disk_that_takes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A certificate that can't be loaded for that is said like any other."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(TlsError, match="No such file or directory"):
        Tls(PEM, CHAIN, KEY).context()
