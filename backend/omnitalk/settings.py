"""Settings of a server: one object, filled from ``OMNITALK_*`` variables and the command line (which wins)."""

import ipaddress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, IPvAnyAddress, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from omnitalk.hosts import HOST

__all__ = ["EngineName", "ServeSettings"]

EngineName = Literal["auto", "cascade", "omni", "remote", "scripted", "echo"]


class ServeSettings(BaseSettings):
    """What ``omnitalk serve`` runs with. Times in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="OMNITALK_", extra="ignore", populate_by_name=True)

    engine: EngineName = "auto"
    scripted_mode: Literal["turn", "minicpm", "qwen3"] = "turn"
    for_measuring: bool = Field(default=False, description="Allows the echo engine, which is no partner for a call.")
    model: str | None = Field(default=None, description="Model of the omni engine: a name on the hub or a folder.")
    deploy_config: str | None = Field(default=None, description="Stages of the omni engine: a file, or one of vLLM-Omni's names.")
    stage_overrides: dict[str, dict[str, Any]] = Field(default_factory=dict, description="Stage id to engine arguments, over the file.")
    voice: Path | None = Field(default=None, description="Sound file that replaces the omni engine's built-in reference voice.")
    ws_backend: list[str] = Field(default_factory=list, description="Origins of vLLM-Omni servers for the remote engine.")
    profile: Literal["minicpm-native", "qwen3"] | None = Field(default=None, description="What the remote engine's model is.")
    host: str = "127.0.0.1"
    port: int = Field(default=7862, ge=0, le=65535)
    root_path: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    max_calls: int | None = Field(default=None, ge=1, description="Calls at once; by default what the engine can hold.")
    queue_length: int = Field(default=16, ge=0, description="Callers that may wait for a free line.")
    grace_s: float = Field(default=30.0, gt=0, description="How long a call waits for a lost connection to return.")
    llm_base_url: str | None = Field(default=None, description="OpenAI-compatible endpoint for the cascade's LLM stage.")
    llm_model: str | None = None
    llm_sees: bool = Field(default=False, description="That endpoint's model takes pictures: the camera goes with each turn.")
    llm_api_key_env: str = Field(default="OPENAI_API_KEY", description="Name of the variable that holds that endpoint's key.")
    public_realtime_url: str | None = Field(default=None, description="ws(s):// address that the page uses verbatim.")
    auth: Path | None = Field(
        default=None,
        validation_alias=AliasChoices("OMNITALK_AUTH", "OMNITALK_AUTH_FILE"),
        description="File of keys: only who has one may use the server.",
    )
    trusted_proxy: list[str] = Field(default_factory=list, description="Addresses or networks whose X-Forwarded-* headers count.")
    ssl_certfile: Path | None = Field(default=None, description="Certificate for TLS, PEM.")
    ssl_keyfile: Path | None = Field(default=None, description="Its key, PEM.")
    ssl_self_signed: bool = Field(default=False, description="TLS with a certificate of our own, for phones on the same network.")
    allow_origin: list[str] = Field(default_factory=list, description="Further origins whose pages may open a call.")

    fetch_media: Literal["no", "public", "any"] = Field(
        default="no", description="Whether chat fetches media by URL: from public addresses, or from any (private networks too)."
    )
    fetch_within_s: float = Field(default=20.0, gt=0, le=120, description="How long one such file may take.")
    allowed_local_media_path: Path | None = Field(default=None, description="Folder whose files chat may read by file:// URL.")
    max_requests: int = Field(default=16, ge=1, description="API requests that are answered at once; further ones get 429.")
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024, description="Largest body of an API request.")
    body_within_s: float = Field(default=60.0, gt=0, description="How long the body of an API request may take to arrive.")

    gradio: bool = Field(default=True, description="The demo at gradio/, where gradio is installed.")
    loopback: bool = Field(default=True, description="Say back what a page sends to measure its way: no model, at most four at once.")
    webrtc: bool = Field(default=True, description="Take calls over WebRTC beside those over WebSockets.")
    webrtc_address: list[str] = Field(default_factory=list, description="Addresses for media; by default all of the machine's.")
    webrtc_ports: str | None = Field(default=None, description="UDP ports for media, such as 50000-50199; by default any.")
    public_address: IPvAnyAddress | None = Field(default=None, description="Address of this machine as seen from outside its NAT.")
    ice_server: list[str] = Field(default_factory=list, description="stun: and turn: URLs for browsers.")
    turn_secret: SecretStr | None = Field(default=None, description="coturn's static-auth-secret, for turn: URLs.")
    turn_ttl_s: int = Field(default=3600, ge=60, le=86_400, description="How long credentials for turn: URLs are good.")

    @property
    def trusted_proxies(self) -> list[str]:
        """Addresses and networks; this machine's own when none are named."""
        return self.trusted_proxy or ["127.0.0.1", "::1"]

    @property
    def media_ports(self) -> tuple[int, int] | None:
        """``webrtc_ports`` as numbers, both ends included."""
        if self.webrtc_ports is None:
            return None
        first, _, last = self.webrtc_ports.partition("-")
        return int(first), int(last or first)

    @field_validator("webrtc_ports")
    @classmethod
    def _a_range(cls, value: str | None) -> str | None:
        if value is None:
            return None
        first, _, last = value.partition("-")
        if not (first.isdigit() and (last or first).isdigit() and 1024 <= int(first) <= int(last or first) <= 65_535):
            raise ValueError("a range of UDP ports is written 50000-50199, within 1024 to 65535")
        return value

    @field_validator("public_realtime_url")
    @classmethod
    def _a_socket(cls, value: str | None) -> str | None:
        if value is None:
            return None
        url = urlsplit(value)
        # Its origin goes into the page's policy, where a space or a semicolon would begin something else.
        if url.scheme not in ("ws", "wss") or not HOST.fullmatch(url.netloc) or url.fragment:
            raise ValueError(f"an address for sockets is written wss://talk.example.org/v1/realtime, not {value!r}")
        return value

    @field_validator("allow_origin")
    @classmethod
    def _origins(cls, value: list[str]) -> list[str]:
        for each in value:
            url = urlsplit(each)
            if each not in ("*", "null") and (each != f"{url.scheme}://{url.netloc}" or not HOST.fullmatch(url.netloc)):
                raise ValueError(f"an origin is written https://talk.example.org, without a path and a slash at its end, not {each!r}")
        return value

    @field_validator("trusted_proxy")
    @classmethod
    def _networks(cls, value: list[str]) -> list[str]:
        for each in value:
            ipaddress.ip_network(each, strict=False)
        return value

    @model_validator(mode="after")
    def _one_certificate(self) -> "ServeSettings":
        if self.ssl_self_signed and self.ssl_certfile is not None:
            raise ValueError("--ssl-self-signed makes a certificate; leave --ssl-certfile out, or leave it out")
        if (self.ssl_certfile is None) != (self.ssl_keyfile is None):
            raise ValueError("a certificate needs its key: give both --ssl-certfile and --ssl-keyfile")
        return self

    @field_validator("webrtc_address")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        for address in value:
            ipaddress.ip_address(address)
        return value

    @field_validator("ice_server")
    @classmethod
    def _ice_urls(cls, value: list[str]) -> list[str]:
        for url in value:
            if not url.startswith(("stun:", "stuns:", "turn:", "turns:")):
                raise ValueError(f"a STUN or TURN server is written stun:host:3478 or turn:host:3478?transport=tcp, not {url!r}")
        return value

    @model_validator(mode="after")
    def _turn_needs_a_secret(self) -> "ServeSettings":
        if self.turn_secret is None and any(url.startswith("turn") for url in self.ice_server):
            raise ValueError("turn: URLs need the TURN server's shared secret in OMNITALK_TURN_SECRET")
        return self

    @field_validator("allowed_local_media_path")
    @classmethod
    def _a_folder(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_dir():
            raise ValueError(f"there is no folder {value}")
        return value

    @field_validator("stage_overrides")
    @classmethod
    def _stages_by_number(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for stage in value:
            if not stage.isdigit():
                raise ValueError(f"stages are named by their number, not {stage!r}")
        return value
