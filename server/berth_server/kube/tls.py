"""What a TLS connection to the API server is made of: whom it trusts, and the certificate that it shows.

The contents of the files are kept, not their names: certificates are renewed in place. Nothing is read here.
"""

import ssl
import tempfile
from dataclasses import dataclass, field


class TlsError(ValueError):
    """No TLS can be made of it. The message is part of a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM, as bytes. Whoever compares equal makes the same connections.

    `authority`: None trusts what the system trusts. `verify`: False trusts everybody.
    """

    authority: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    verify: bool = True

    def context(self) -> ssl.SSLContext:
        """Return a new context, as strict as client-go and not more. Raises TlsError."""
        # Not `create_default_context`: from Python 3.13 it refuses authorities without a key identifier, which
        # Kubernetes clusters have.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self.authority is None:
            context.load_default_certs()
        else:
            _trust(context, self.authority)
        if self.certificate is not None:
            _show(context, self.certificate, self.key)
        return context


def _trust(context: ssl.SSLContext, authority: bytes) -> None:
    try:
        # As text it is taken for PEM; what is not ASCII is a comment.
        context.load_verify_locations(cadata=authority.decode("ascii", errors="ignore"))
    except (ssl.SSLError, ValueError) as error:
        raise TlsError(f"the certificate authority is no certificate in PEM ({_reason(error)})") from None


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes | None) -> None:
    """Only files can be loaded, so there are two for a moment, which nobody else may read."""
    try:
        with tempfile.NamedTemporaryFile() as chain_file, tempfile.NamedTemporaryFile() as key_file:
            for file, content in ((chain_file, certificate), (key_file, certificate if key is None else key)):
                file.write(content)
                file.flush()
            # Without a password OpenSSL would ask the terminal for that of an encrypted key.
            context.load_cert_chain(chain_file.name, key_file.name, password="")
    except OSError as error:  # an SSLError is one, too
        raise TlsError(f"the client certificate and its key can't be used ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else None
    return reason.replace("_", " ").lower() if reason else str(error)
