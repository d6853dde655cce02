"""A certificate of our own for a local network: browsers give a microphone to https pages only, and a phone cannot open ``localhost``.

It is signed by itself, so the browser warns once. It is kept in the user's data folder, never in the project.
"""

import contextlib
import datetime
import ipaddress
import os
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

__all__ = ["CertificateError", "check_pair", "lan_addresses", "lan_certificate"]

_DAYS = 397
"""Browsers refuse certificates that are good for longer."""

_RENEW_DAYS = 14


class CertificateError(Exception):
    """The files given for TLS will not do; the message says which and why."""


def check_pair(certificate: Path, key: Path) -> None:
    """Raises ``CertificateError``."""
    for file in (certificate, key):
        if not os.access(file, os.R_OK) or file.is_dir():
            raise CertificateError(f"{file} cannot be read: --ssl-certfile and --ssl-keyfile name PEM files that this user may read.")
    try:
        # A locked key would be asked for on the terminal, which a service has not.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, ValueError) as problem:
        raise CertificateError(f"{certificate} and {key} are no certificate with its (unlocked) key in PEM form: {problem}.") from None


def lan_addresses() -> list[str]:
    """Addresses that this machine has in its networks, without those that are good on one wire only (``fe80::``)."""
    found = {"127.0.0.1", "::1"}
    with contextlib.suppress(ImportError, OSError):
        import ifaddr

        every = [ip.ip if ip.is_IPv4 else ip.ip[0] for adapter in ifaddr.get_adapters() for ip in adapter.ips]
        found |= {str(each) for each in every if not ipaddress.ip_address(str(each)).is_link_local}
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                # Nothing is sent: connecting a datagram socket only asks which address the route would use.
                probe.connect((target, 9))
                found.add(str(probe.getsockname()[0]).split("%")[0])
            except OSError:
                continue  # no route of this family
    # A host that its resolver does not know still has the addresses above.
    with contextlib.suppress(OSError):
        found |= {str(info[4][0]).split("%")[0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    return sorted(found)


def lan_certificate(folder: Path, *, names: Sequence[str] = (), now: datetime.datetime | None = None) -> tuple[Path, Path]:
    """Paths of certificate and key (mode 0600) for ``localhost``, this host's name, ``names`` and every address of the machine.

    What is in ``folder`` is used while it is good for two weeks more and names them all; else a new one takes its place.
    """
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    now = now or datetime.datetime.now(datetime.UTC)
    host = socket.gethostname()
    wanted_names = {"localhost", host, f"{host.split('.')[0]}.local", *names}
    wanted_addresses = {ipaddress.ip_address(each) for each in lan_addresses()}
    certificate, key = folder / "lan.pem", folder / "lan.key"
    if certificate.exists() and key.exists():
        try:
            old = x509.load_pem_x509_certificate(certificate.read_bytes())
            has = old.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            good = wanted_names <= set(has.get_values_for_type(x509.DNSName))
            good = good and wanted_addresses <= set(has.get_values_for_type(x509.IPAddress))
            if good and old.not_valid_after_utc > now + datetime.timedelta(days=_RENEW_DAYS):
                return certificate, key
        except (ValueError, x509.ExtensionNotFound):
            pass  # not a certificate any more: a new one is written over it
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"Omnitalk on {host}"[:64])])
    alternatives: list[x509.GeneralName] = [x509.DNSName(each) for each in sorted(wanted_names)]
    alternatives += [x509.IPAddress(each) for each in sorted(wanted_addresses, key=str)]
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(private, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    secret = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    for path, data in ((key, secret), (certificate, signed.public_bytes(serialization.Encoding.PEM))):
        new = path.with_suffix(".new")
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        new.replace(path)
    return certificate, key
