"""An OpenID Connect provider of the tests: discovery, keys, codes and tokens, without a network."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

ISSUER = "https://login.hospital.example/realms/clinic"
CLIENT_ID, SECRET = "autoprog", "a secret: of the client, long enough"
ADA = {"sub": "u-1", "preferred_username": "ada", "roles": ["physician"]}


class FakeProvider:
    """Answers what a server asks of a provider, and logs people in."""

    def __init__(self) -> None:
        self.key = RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"})
        self.others: list[dict[str, Any]] = [{"kty": "RSA", "use": "enc", "kid": "e1", "n": "AQAB", "e": "AQAB"}]
        self.issuer = ISSUER
        self.is_away = False
        self.ends_sessions = True
        self.asked: list[str] = []
        self._goes_on, self._is_asked = threading.Event(), threading.Event()
        self._goes_on.set()
        self._codes: dict[str, dict[str, Any]] = {}

    @contextmanager
    def slow(self) -> Iterator[threading.Event]:
        """Answer nothing until the block ends; the event tells that something was asked."""
        self._is_asked.clear()
        self._goes_on.clear()
        try:
            yield self._is_asked
        finally:
            self._goes_on.set()

    @property
    def transport(self) -> httpx2.MockTransport:
        """The provider in place of the network."""
        return httpx2.MockTransport(self._answer)

    def token(self, claims: Mapping[str, Any] = ADA, *, key: Any = None, alg: str = "RS256", **more: Any) -> str:
        """A signed token; None as a claim leaves it out."""
        now = int(time.time())
        whole = {"iss": ISSUER, "aud": CLIENT_ID, "iat": now, "exp": now + 300, **claims, **more}
        key = key or self.key
        header = {"alg": alg, **({"kid": key.kid} if key.kid else {})}
        return jwt.encode(header, {k: v for k, v in whole.items() if v is not None}, key, algorithms=[alg])

    def log_in(self, address: str, claims: Mapping[str, Any] = ADA) -> str:
        """Log a person in at the address where the server has sent her; return the query of the way back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT_ID)
        assert (asked["code_challenge_method"], "openid" in asked["scope"].split()) == ("S256", True)
        code = f"code-{len(self._codes)}"
        self._codes[code] = {**asked, "claims": claims}
        return str(httpx2.QueryParams({"code": code, "state": asked["state"]}))

    def log_out(self, address: str) -> str:
        """End a person's session at the address where the server has sent her; return the address of the way back."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{ISSUER}/logout?theme=plain&")
        assert asked["client_id"] == CLIENT_ID
        return asked["post_logout_redirect_uri"]

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path.removeprefix("/realms/clinic")
        self.asked.append(path)
        self._is_asked.set()
        assert self._goes_on.wait(60)
        if self.is_away:
            raise httpx2.ConnectError("nobody answers", request=request)
        if path == "/.well-known/openid-configuration":
            places = {"authorization_endpoint": "auth", "token_endpoint": "token", "jwks_uri": "keys"}
            if self.ends_sessions:
                places["end_session_endpoint"] = "logout?theme=plain"
            addresses = {name: f"{ISSUER}/{place}" for name, place in places.items()}
            return httpx2.Response(200, json={"issuer": self.issuer, **addresses})
        if path == "/keys":
            own = KeySet([self.key]).as_dict(private=False)["keys"]
            return httpx2.Response(200, json={"keys": [*self.others, *own]})
        assert (path, request.method) == ("/token", "POST")
        return self._redeem(request)

    def _redeem(self, request: httpx2.Request) -> httpx2.Response:
        form = {name: values[0] for name, values in parse_qs(request.content.decode()).items()}
        basic = base64.b64encode(f"{CLIENT_ID}:{quote_plus(SECRET)}".encode()).decode()
        assert request.headers["authorization"] == f"Basic {basic}"
        asked = self._codes.pop(form["code"], None)  # each works once
        digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
        if asked is None or asked["redirect_uri"] != form["redirect_uri"] or asked["code_challenge"] != digest.decode():
            return httpx2.Response(400, json={"error": "invalid_grant"})
        token = self.token({"nonce": asked["nonce"], **asked["claims"]})
        return httpx2.Response(200, json={"id_token": token, "access_token": "other", "token_type": "Bearer"})
