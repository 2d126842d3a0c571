"""The identity provider: its addresses, its keys, and the tokens that it signs.

References
----------
OpenID Connect Core 1.0, Discovery 1.0 and RP-Initiated Logout 1.0; RFC 7636 (PKCE); RFC 8725 (JSON Web Tokens, best
practices).
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote_plus, urlencode, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet, KeySetSerialization
from joserfc.jwt import JWTClaimsRegistry

from api.problems import ProviderUnavailableError, UnauthorizedError
from autoprog.settings import SingleSignOn

# Signatures by a private key of the provider alone: with HS256 whoever knows the client's secret could sign.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_TIMEOUT_S = 5.0
# Seconds that addresses and keys are kept; least seconds between two requests for an unknown key, and after a failure.
_KEPT_S, _AGAIN_S, _AFTER_FAILURE_S = 3_600.0, 30.0, 5.0
# Difference of the clocks that is tolerated.
_LEEWAY_S = 60
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_WORDS = {
    "expired_token": "the token has expired",
    "invalid_token": "the token is not valid yet",
    "bad_signature": "the token's signature is wrong",
}


@dataclass(frozen=True, slots=True)
class SignOn:
    """A log-in under way, kept by the browser in a cookie until the provider sends it back.

    Attributes
    ----------
    state : str
        Ties the provider's answer to the browser that asked.
    nonce : str
        Ties the identity token to this log-in.
    verifier : str
        Secret of PKCE: whoever intercepts the code cannot use it.
    place : str
        Path of this server to return to.
    """

    state: str
    nonce: str
    verifier: str
    place: str

    @classmethod
    def begin(cls, place: str) -> Self:
        """Draw the secrets of a log-in."""
        return cls(secrets.token_urlsafe(32), secrets.token_urlsafe(32), secrets.token_urlsafe(48), place)

    def to_cookie(self) -> str:
        """The cookie's value."""
        text = json.dumps([self.state, self.nonce, self.verifier, self.place])
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def from_cookie(cls, value: str) -> Self | None:
        """Read a cookie's value; None if it is none."""
        try:
            parts = json.loads(base64.urlsafe_b64decode(value.encode()))
        except (ValueError, RecursionError):
            return None
        is_one = isinstance(parts, list) and len(parts) == len(cls.__slots__) and all(isinstance(p, str) for p in parts)
        return cls(*parts) if is_one else None

    @property
    def challenge(self) -> str:
        """SHA-256 of the verifier, in base64url."""
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@dataclass(slots=True)
class _Kept:
    """Documents of the provider, with the seconds at which they were fetched."""

    addresses: dict[str, str] = field(default_factory=dict)
    addresses_at: float = -_KEPT_S
    keys: KeySet | None = None
    keys_at: float = -_KEPT_S
    failed_at: float = -_KEPT_S


class IdentityProvider:
    """An OpenID Connect provider; safe to share between threads.

    Parameters
    ----------
    settings : SingleSignOn
        Which provider, and as whom this server is known to it.
    transport : httpx2.BaseTransport or None
        Replaces the network.
    clock : callable () -> float
        Monotonic seconds.
    """

    def __init__(
        self,
        settings: SingleSignOn,
        *,
        transport: httpx2.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._client = httpx2.Client(timeout=_TIMEOUT_S, transport=transport)
        self._clock = clock
        self._kept = _Kept()
        self._fetching = threading.Lock()

    def login_address(self, sign_on: SignOn, return_to: str) -> str:
        """Address that a browser is sent to; raises ProviderUnavailableError."""
        asked = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": return_to,
            "scope": self.settings.asked_scopes,
            "state": sign_on.state,
            "nonce": sign_on.nonce,
            "code_challenge": sign_on.challenge,
            "code_challenge_method": "S256",
        }
        return _with_query(self._address("authorization_endpoint"), asked)

    def logout_address(self, return_to: str) -> str | None:
        """Address where a browser logs out of the provider; None if it has none; raises ProviderUnavailableError."""
        if "end_session_endpoint" not in self._addresses():
            return None
        # Without the identity token, which is not kept, the provider may ask the person.
        asked = {"client_id": self.settings.client_id, "post_logout_redirect_uri": return_to}
        return _with_query(self._address("end_session_endpoint"), asked)

    def redeem(self, code: str, sign_on: SignOn, return_to: str) -> Mapping[str, Any]:
        """Exchange the code of a log-in for the claims of its identity token.

        Raises
        ------
        UnauthorizedError
            If the provider refuses the code, or the token is not of this log-in.
        ProviderUnavailableError
            If it cannot be reached or answers in no way that OpenID Connect knows.
        """
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": return_to,
            "client_id": self.settings.client_id,
            "code_verifier": sign_on.verifier,
        }
        headers = {}
        if self.settings.client_secret is not None:
            parts = (self.settings.client_id, self.settings.client_secret.get_secret_value())
            # Encoded as forms are, by RFC 6749 (2.3.1).
            pair = ":".join(map(quote_plus, parts)).encode()
            headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
        try:
            response = self._client.post(self._address("token_endpoint"), data=form, headers=headers)
        except httpx2.HTTPError as error:
            raise _unavailable(error) from error
        if response.is_client_error:
            raise UnauthorizedError("the identity provider does not accept this log-in: begin it again")
        token = _document(response).get("id_token")
        if not isinstance(token, str):
            raise ProviderUnavailableError("the identity provider sent no identity token")
        return self._verified(token, self.settings.client_id, nonce=sign_on.nonce)

    def verify(self, token: str) -> Mapping[str, Any]:
        """Return the claims of a token that a program sends; raises UnauthorizedError and ProviderUnavailableError."""
        return self._verified(token, self.settings.audience)

    def _verified(self, token: str, audience: str, nonce: str | None = None) -> Mapping[str, Any]:
        rules: dict[str, Any] = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": audience},
            "sub": {"essential": True},
            "exp": {"essential": True},
        }
        if nonce is not None:
            rules["nonce"] = {"essential": True, "value": nonce}
        try:
            claims = jwt.decode(token, self._key_set(token), algorithms=_ALGORITHMS).claims
            JWTClaimsRegistry(leeway=_LEEWAY_S, **rules).validate(claims)
        except (JoseError, ValueError, TypeError) as error:
            text = _WORDS.get(getattr(error, "error", ""), "the token is not one that this server accepts")
            raise UnauthorizedError(text) from error
        return claims

    def _key_set(self, token: str) -> KeySet:
        """The provider's keys, fetched again if old or if the token names one that is not among them.

        While the provider is away, those that are known go on to count.
        """
        name = _key_name(token)
        if self._needs_fetch(name):
            # One request fetches them, for which the others do not wait: it may take seconds.
            if self._fetching.acquire(blocking=False):
                try:
                    if self._needs_fetch(name):
                        self._fetch_keys()
                finally:
                    self._fetching.release()
            elif not self._knows(name):
                raise ProviderUnavailableError("the identity provider's keys are being fetched")
        return self._kept.keys or KeySet([])

    def _knows(self, name: str | None) -> bool:
        """Whether any key exists, or, with a name, whether a key has that name."""
        keys = self._kept.keys
        return keys is not None and (name is None or name in {key.kid for key in keys.keys})

    def _needs_fetch(self, name: str | None) -> bool:
        age = self._clock() - self._kept.keys_at
        return self._kept.keys is None or age > _KEPT_S or (age > _AGAIN_S and not self._knows(name))

    def _fetch_keys(self) -> None:
        is_first = self._kept.keys is None
        if is_first and self._clock() - self._kept.failed_at < _AFTER_FAILURE_S:
            raise ProviderUnavailableError("the identity provider could not be reached seconds ago")
        try:
            self._kept.keys = self._fetched_keys()
        except ProviderUnavailableError:
            self._kept.failed_at = self._clock()
            if is_first:
                raise
        self._kept.keys_at = self._clock()

    def _fetched_keys(self) -> KeySet:
        document = self._fetched(self._address("jwks_uri"))
        try:
            return KeySet.import_key_set(_signing_keys(document))
        except (JoseError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ProviderUnavailableError("the identity provider's keys cannot be read") from error

    def _address(self, name: str) -> str:
        """One of the provider's addresses, as its configuration gives it."""
        address = self._addresses().get(name, "")
        if not is_protected(address):
            msg = f"the identity provider's configuration has no address {name} with https"
            raise ProviderUnavailableError(msg)
        return address

    def _addresses(self) -> Mapping[str, str]:
        kept = self._kept
        if self._clock() - kept.addresses_at > _KEPT_S:
            document = self._fetched(self.settings.issuer.rstrip("/") + "/.well-known/openid-configuration")
            if document.get("issuer") != self.settings.issuer:
                msg = f"the identity provider at {self.settings.issuer} says that it is another"
                raise ProviderUnavailableError(msg)
            kept.addresses = {k: v for k, v in document.items() if isinstance(v, str)}
            kept.addresses_at = self._clock()
        return kept.addresses

    def _fetched(self, address: str) -> Mapping[str, Any]:
        try:
            return _document(self._client.get(address))
        except httpx2.HTTPError as error:
            raise _unavailable(error) from error


def is_protected(address: str) -> bool:
    """Test whether an address uses https or is on this machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOCAL)


def _with_query(address: str, asked: Mapping[str, str]) -> str:
    return f"{address}{'&' if urlsplit(address).query else '?'}{urlencode(asked)}"


def _document(response: httpx2.Response) -> Mapping[str, Any]:
    try:
        document = response.raise_for_status().json()
    except (httpx2.HTTPError, ValueError) as error:
        raise _unavailable(error) from error
    if not isinstance(document, dict):
        raise ProviderUnavailableError("the identity provider's answer is no JSON object")
    return document


def _unavailable(error: Exception) -> ProviderUnavailableError:
    return ProviderUnavailableError(f"the identity provider cannot be reached: {type(error).__name__}")


def _key_name(token: str) -> str | None:
    """Name of the key that a token's header gives; None if it gives none or is no token."""
    head = token.partition(".")[0]
    try:
        header = json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))
    except (ValueError, RecursionError):
        return None
    name = header.get("kid") if isinstance(header, dict) else None
    return name if isinstance(name, str) else None


def _signing_keys(document: Mapping[str, Any]) -> KeySetSerialization:
    """The public keys of a set that sign: a provider may list others, of kinds that no library knows."""
    kinds = {"RSA", "EC", "OKP"}
    return {"keys": [key for key in document["keys"] if key.get("use", "sig") == "sig" and key.get("kty") in kinds]}
