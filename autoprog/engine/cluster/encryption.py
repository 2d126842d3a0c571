"""Certificates of a cluster: scheduler, workers and runners trust each other and nobody else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from distributed.security import Security

from autoprog.errors import Fault, InvalidInputError

if TYPE_CHECKING:
    from cryptography.x509 import CertificateBuilder, Name

_AUTHORITY, _CERTIFICATE, _KEY = "ca.pem", "node.pem", "node-key.pem"
_PRIVATE = 0o600


def make_certificates(folder: Path, days: int) -> datetime:
    """Write an authority's certificate and one node's certificate and key, which all processes of a cluster use.

    Parameters
    ----------
    folder : Path
        Made if it is missing; files of an earlier call are replaced.
    days : int
        Days for which the certificates are valid, at least 1.

    Returns
    -------
    datetime
        When they end.

    Raises
    ------
    ModuleNotFoundError
        If the extra `distributed` is not installed.
    """
    from cryptography import x509  # noqa: PLC0415  an extra, which only this function needs
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415
    from cryptography.x509.oid import NameOID  # noqa: PLC0415

    now = datetime.now(UTC)
    ends_at = now + timedelta(days=days)

    def certificate(subject: Name, issuer: Name, key: ec.EllipticCurvePrivateKey) -> CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))  # clocks differ
            .not_valid_after(ends_at)
        )

    # The authority's key is not kept: nobody can make further certificates that the cluster would trust.
    authority_key, node_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority_name, node_name = (
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("autoprog cluster", "autoprog node")
    )
    authority = (
        certificate(authority_name, authority_name, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    node = (
        certificate(node_name, authority_name, node_key)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key = node_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    folder.mkdir(parents=True, exist_ok=True)
    contents = {_AUTHORITY: authority.public_bytes(pem), _CERTIFICATE: node.public_bytes(pem), _KEY: key}
    for name, content in contents.items():
        file = folder / name
        file.touch(_PRIVATE)
        file.chmod(_PRIVATE)
        file.write_bytes(content)
    return ends_at


def are_there(folder: Path) -> bool:
    """Check whether a folder holds a cluster's certificates."""
    return all((folder / name).is_file() for name in (_AUTHORITY, _CERTIFICATE, _KEY))


def read_certificates(folder: Path | None) -> Security | None:
    """Return what Dask needs to use a folder's certificates; None for Dask's own configuration.

    Parameters
    ----------
    folder : Path or None
        As `make_certificates` wrote it.

    Returns
    -------
    Security or None
        Connections are encrypted, and both ends must show a certificate of the same authority.

    Raises
    ------
    InvalidInputError
        If a file is missing.
    """
    if folder is None:
        return None
    if not are_there(folder):
        text = f"{folder} does not hold {_AUTHORITY}, {_CERTIFICATE} and {_KEY}: run `autoprog cluster certificates`"
        raise InvalidInputError([Fault("AUTOPROG_CERTIFICATES", text)])
    certificate, key = str(folder / _CERTIFICATE), str(folder / _KEY)
    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / _AUTHORITY),
        **{f"tls_{role}_cert": certificate for role in ("scheduler", "worker", "client")},
        **{f"tls_{role}_key": key for role in ("scheduler", "worker", "client")},
    )
