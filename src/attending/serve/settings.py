"""How a service runs: where it listens, whom it lets in, what it takes, where it keeps things."""

import ipaddress
from pathlib import Path
from typing import Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from attending.errors import ServeError

MIB = 1 << 20
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Names under which a service on loopback is asked for; any other is someone else's page."""


class Settings(BaseModel):
    """Settings of a service; nothing of them is secret but ``database``, which may hold a password.

    Raises:
        ServeError: From ``require_safe``, if it would answer strangers.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str = Field("Attending", max_length=100, description="What the pages call the service.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on.")
    socket: Path | None = Field(None, description="Unix socket to listen on, instead of a port.")
    data: Path = Field(Path("attending-data"), description="Folder of the inbox and the audit.")
    database: str | None = Field(None, description="Database of the inbox; SQLite in `data`.")
    inbox: bool = Field(True, description="Whether there is an inbox.")

    keys: Path | None = Field(None, description="File of API keys.")
    user_header: str | None = Field(
        None, pattern=r"^[A-Za-z0-9-]+$", description="Header in which a proxy names the user."
    )
    proxies: tuple[str, ...] = Field(
        ("127.0.0.1", "::1"), description="Addresses from which that header is believed."
    )
    hosts: tuple[str, ...] = Field(
        (), description="Host names it answers to; on loopback its own, else any."
    )

    priorities: Path | None = Field(None, description="File that maps labels to FHIR priorities.")
    codes: str | None = Field(None, description="Code system of the labels, where they are codes.")
    zone: str | None = Field(None, description="Zone of FHIR times that name none.")

    body_bytes: int = Field(MIB, ge=1024, description="Largest body of a request.")
    upload_bytes: int = Field(32 * MIB, ge=1024, description="Largest upload or FHIR body.")
    texts: int = Field(64, ge=1, description="Most texts of one request.")
    text_chars: int = Field(200_000, ge=1, description="Longest text that is read.")
    body_seconds: float = Field(30, gt=0, description="How long a body may take to arrive.")
    answer_seconds: float = Field(30, gt=0, description="How long a request may wait.")
    stop_seconds: int = Field(20, ge=1, description="How long a stop waits for open requests.")

    batch: int = Field(32, ge=1, description="Most texts that the model reads at once.")
    wait_ms: float = Field(5, ge=0, le=1000, description="How long a batch waits for more.")
    queue: int = Field(256, ge=1, description="Most texts that wait for the model.")
    retention_days: int | None = Field(
        None, ge=1, description="Days after which messages are deleted; never if left out."
    )

    @field_validator("zone")
    @classmethod
    def _is_zone(cls, zone: str | None) -> str | None:
        if zone is None:
            return None
        try:
            return ZoneInfo(zone).key
        except (OSError, ValueError, KeyError):  # not found, or no name of a zone
            raise ValueError(
                f'there is no time zone "{zone[:60]}" (allowed: names such as Europe/Berlin, '
                "America/Chicago or UTC)"
            ) from None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.texts > self.queue:
            raise ValueError("texts: a request can't hold more texts than the queue")
        return self

    @property
    def on_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.socket is not None or is_loopback(self.host)

    @property
    def knows_users(self) -> bool:
        """Whether it asks who is there."""
        return self.keys is not None or self.user_header is not None

    @property
    def answers_to(self) -> tuple[str, ...]:
        """Host names that it answers to; any if there is none."""
        if self.hosts or not self.on_loopback or self.knows_users:
            return self.hosts
        return LOOPBACK_HOSTS

    @property
    def database_url(self) -> str:
        """Where messages and corrections are kept."""
        return self.database or f"sqlite:///{(self.data / 'inbox.sqlite').absolute()}"

    @property
    def audit_file(self) -> Path:
        """Where it is recorded who did what."""
        return self.data / "audit.jsonl"

    def require_safe(self) -> None:
        """Refuse to listen beyond this machine without knowing who asks.

        Raises:
            ServeError: If it would.
        """
        if not self.on_loopback and not self.knows_users:
            raise ServeError(
                "a service that others can reach must know who asks",
                found=f"--host {self.host} without keys",
                step="Make a key with attending keys add NAME and pass --keys, or name the header "
                "in which your proxy passes on the user with --user-header.",
            )


def is_loopback(host: str) -> bool:
    """Say whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
