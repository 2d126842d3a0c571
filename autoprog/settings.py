"""The settings of a process: read from the environment once, and passed on."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self
from urllib.parse import quote

from pydantic import AfterValidator, Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from autoprog.errors import Fault, InvalidInputError
from autoprog.scopes import SCOPES, Scope

PERSON_KEYS_DAYS = 90
"""Days after a person's last log-in at which the keys that she has made end, unless a setting says otherwise."""


def _place(text: str) -> str:
    if not re.fullmatch(r".+:\d{1,5}", text):
        msg = "give HOST:PORT"
        raise ValueError(msg)
    return text


def _scheduler_address(text: str) -> str:
    if not re.fullmatch(r"(tcp|tls)://.+:\d+", text):
        msg = "give tcp://HOST:PORT or tls://HOST:PORT"
        raise ValueError(msg)
    return text


def _issuer(text: str) -> str:
    if not re.fullmatch(r"https://[^\s?#]+|http://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?(/[^\s?#]*)?", text):
        msg = "give an address with https"
        raise ValueError(msg)
    return text


@dataclass(frozen=True, slots=True)
class SingleSignOn:
    """The identity provider, and how its claims are read.

    Attributes
    ----------
    issuer : str
        Address of the provider, as its tokens name it.
    client_id, client_secret : str, SecretStr or None
        As whom this server is known to it.
    audience : str
        For whom the tokens must be that programs send.
    owner, owner_claim : str or None
        Owner of everybody, or the claim that names it; one of the two.
    scopes_claim : str
        Claim with scopes or roles.
    roles : mapping of str to tuple of str
        Scopes of each role; other values of the claim are scopes by their names.
    asked_scopes : str
        Scopes that a log-in asks the provider for.
    """

    issuer: str
    client_id: str
    client_secret: SecretStr | None
    audience: str
    owner: str | None
    owner_claim: str | None
    scopes_claim: str
    roles: Mapping[str, tuple[Scope, ...]]
    asked_scopes: str


class Settings(BaseSettings):
    """Settings of a process; each field is read from the environment variable `AUTOPROG_<FIELD>`."""

    model_config = SettingsConfigDict(env_prefix="AUTOPROG_", frozen=True, extra="ignore")

    data_dir: Path = Field(Path("autoprog-data"), description="folder of the SQLite database, cohort files and models")
    database: str | None = Field(None, description="SQLAlchemy URL; default: SQLite in the data folder")
    database_password: SecretStr | None = Field(
        None, description="password of the URL's user, any characters; default: as the URL says"
    )
    connections: Annotated[int, Field(ge=2)] = Field(30, description="most connections of a process to PostgreSQL")
    files: str | None = Field(None, description="fsspec URL of cohort files and models; default: in the data folder")
    scheduler: Annotated[str, AfterValidator(_scheduler_address)] | None = Field(
        None, description="address of a Dask scheduler; default: workers in this process"
    )
    certificates: Path | None = Field(
        None, description="folder of `autoprog cluster certificates`; default: what Dask's own configuration says"
    )
    plain_scheduler: bool = Field(
        default=False, description="use a scheduler without encryption: whoever reaches its port can run code"
    )
    workers: Annotated[int, Field(ge=1)] | None = Field(
        None, description="evaluations at once; default: number of cores"
    )
    plugins: tuple[str, ...] = Field((), description="modules that register algorithms of your own")
    require_keys: bool = Field(default=False, description="ask for keys on a loopback address too")
    audit_reads: bool = Field(default=False, description="enter requests that only read into the audit trail too")
    operations: Annotated[str, AfterValidator(_place)] | None = Field(
        None, description="HOST:PORT where /metrics and /docs are served; default: with the API"
    )
    proxies: str = Field("", description="addresses of proxies whose X-Forwarded-For names the client, by commas")
    upload_mb: Annotated[int, Field(ge=1)] = Field(256, description="largest file of an upload")
    decompressed_mb: Annotated[int, Field(ge=1)] = Field(512, description="largest size of a file once decompressed")
    queued: Annotated[int, Field(ge=1)] = Field(200, description="most searches and jobs of one owner that wait")
    requests_a_minute: Annotated[int, Field(ge=1)] | None = Field(
        None, description="most requests of one owner to one process; default: any number"
    )
    running: Annotated[int, Field(ge=1)] | None = Field(
        None, description="most searches, and most jobs, of one owner that run at a time; default: any number"
    )
    storage_mb: Annotated[int, Field(ge=1)] | None = Field(
        None, description="most storage for one owner's files; default: no limit but the disk's"
    )
    retention_days: Annotated[int, Field(ge=1)] | None = Field(
        None, description="age at which cohorts, their searches and diagnosis sessions are erased; default: never"
    )
    model_key: SecretStr | None = Field(None, description="HMAC key that signs stored models where storage is shared")
    accepted_model_keys: tuple[SecretStr, ...] = Field(
        (), description="further keys whose signatures of models are accepted, while the key is rotated"
    )
    oidc_issuer: Annotated[str, AfterValidator(_issuer)] | None = Field(
        None, description="address of an OpenID Connect provider whose people and programs may use the server"
    )
    oidc_client_id: str | None = Field(None, description="as whom the provider knows this server")
    oidc_client_secret: SecretStr | None = Field(None, description="its secret; default: none, PKCE alone")
    oidc_audience: str | None = Field(
        None, description="for whom the tokens must be that programs send; default: the client id"
    )
    oidc_owner: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        None, description="owner for whom everybody of the provider works"
    )
    oidc_owner_claim: str | None = Field(None, description="instead: the claim that names the owner")
    oidc_scopes_claim: str = Field("scope", description="claim with a person's scopes or roles, a text or a list")
    oidc_roles: dict[str, tuple[Scope, ...]] = Field(
        default_factory=dict, description=f"scopes of each role, as JSON; scopes are {', '.join(SCOPES)}"
    )
    oidc_asked: str = Field("openid profile email", description="scopes that a log-in asks the provider for")
    person_keys_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        PERSON_KEYS_DAYS, description="days after a person's last log-in at which the keys that she has made end"
    )
    log_json: bool = Field(default=False, description="structured logs as JSON lines")

    @model_validator(mode="after")
    def _has_one_password(self) -> Self:
        if self.database_password is None:
            return self
        user, at, _ = (self.database or "").partition("://")[2].rpartition("@")
        if not at or not user or ":" in user:
            msg = "AUTOPROG_DATABASE_PASSWORD needs AUTOPROG_DATABASE with a user and no password: ...://USER@HOST/NAME"
            raise PydanticCustomError("database_password", msg)
        return self

    @model_validator(mode="after")
    def _encrypted(self) -> Self:
        if self.scheduler is not None and not self.scheduler.startswith("tls://") and not self.plain_scheduler:
            msg = (
                "whoever reaches a scheduler at a tcp:// address can run code on every worker: use tls:// with "
                "AUTOPROG_CERTIFICATES, or say AUTOPROG_PLAIN_SCHEDULER=true where nobody else can reach it"
            )
            raise PydanticCustomError("scheduler", msg)
        return self

    @model_validator(mode="after")
    def _signs_what_it_accepts(self) -> Self:
        if self.accepted_model_keys and self.model_key is None:
            msg = "AUTOPROG_ACCEPTED_MODEL_KEYS needs AUTOPROG_MODEL_KEY: without it no signature is checked"
            raise PydanticCustomError("accepted_model_keys", msg)
        return self

    @model_validator(mode="after")
    def _knows_its_provider(self) -> Self:
        if self.oidc_issuer is None:
            return self
        if self.oidc_client_id is None:
            msg = "AUTOPROG_OIDC_ISSUER needs AUTOPROG_OIDC_CLIENT_ID: as whom the provider knows this server"
            raise PydanticCustomError("oidc_client_id", msg)
        if (self.oidc_owner is None) == (self.oidc_owner_claim is None):
            msg = (
                "say either with AUTOPROG_OIDC_OWNER for whom everybody works, or with AUTOPROG_OIDC_OWNER_CLAIM which "
                "claim says it"
            )
            raise PydanticCustomError("oidc_owner", msg)
        return self

    @property
    def single_sign_on(self) -> SingleSignOn | None:
        """The identity provider; None if there is none."""
        if self.oidc_issuer is None or self.oidc_client_id is None:
            return None
        return SingleSignOn(
            self.oidc_issuer,
            self.oidc_client_id,
            self.oidc_client_secret,
            self.oidc_audience or self.oidc_client_id,
            self.oidc_owner,
            self.oidc_owner_claim,
            self.oidc_scopes_claim,
            self.oidc_roles,
            self.oidc_asked,
        )

    @property
    def database_url(self) -> str:
        """URL of the database in use, with its password."""
        if self.database is not None and self.database_password is not None:
            start, _, place = self.database.rpartition("@")
            return f"{start}:{quote(self.database_password.get_secret_value(), safe='')}@{place}"
        return self.database or f"sqlite:///{self.data_dir.absolute() / 'autoprog.db'}"

    @property
    def files_url(self) -> str:
        """Location of cohort files and models."""
        return self.files or str(self.data_dir.absolute() / "files")


_OTHERS = stat.S_IROTH | stat.S_IWOTH


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Read the settings of this process.

    Parameters
    ----------
    given : mapping of str to any
        Values that go before all others, by field.

    Returns
    -------
    Settings
        Each from `given`, else from the environment, else from the file `autoprog_<field>` in the folder that
        `AUTOPROG_SECRETS_DIR` names, as Docker and Kubernetes lay secrets.

    Raises
    ------
    ValidationError
        If a value is invalid.
    SettingsError
        If a value is not the JSON that its field needs.
    InvalidInputError
        If there is no such folder, or files in it cannot be secrets; lists all of them.
    """
    folder = os.environ.get("AUTOPROG_SECRETS_DIR")
    if folder is not None and not Path(folder).is_dir():
        raise InvalidInputError([Fault("AUTOPROG_SECRETS_DIR", f"there is no folder {folder}")])
    if folder is not None and (faults := [fault for path in _secrets(Path(folder)) if (fault := _secret_fault(path))]):
        raise InvalidInputError(faults)
    return Settings(**given, _secrets_dir=folder)


def _secrets(folder: Path) -> list[Path]:
    """The files of a folder that are meant for this program; others may belong to the database."""
    return sorted(path for path in folder.iterdir() if path.name.lower().startswith("autoprog_"))


def _secret_fault(path: Path) -> Fault | None:
    """Return why a file cannot be a secret, or None if it can."""
    detail = None
    try:
        if path.name.lower().removeprefix("autoprog_") not in Settings.model_fields:
            detail = "there is no setting of this name"
        elif path.is_dir():  # which Docker makes where the file of a secret is missing
            detail = "this is a folder; write the secret into a file of this name"
        elif not path.read_text(encoding="utf-8").strip():
            detail = "the file is empty"
        # Docker and Kubernetes mount secrets that everybody in a container can read, where there is nobody else.
        elif path.stat().st_mode & _OTHERS and not any(map(os.path.ismount, (path, path.parent))):
            detail = "other users of this machine can read or change the file: chmod 600"
    except UnicodeDecodeError:
        detail = "the file is not UTF-8"
    except OSError as error:
        detail = f"the file cannot be read by the user of this process: {error.strerror}"
    return None if detail is None else Fault(str(path), detail)
