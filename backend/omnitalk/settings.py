"""Settings of a server: one object, filled from ``OMNITALK_*`` variables and the command line (which wins)."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ["EngineName", "ServeSettings"]

EngineName = Literal["auto", "cascade", "omni", "remote", "scripted", "echo"]


class ServeSettings(BaseSettings):
    """What ``omnitalk serve`` runs with. Times in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(env_prefix="OMNITALK_", extra="ignore")

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
    llm_api_key_env: str = Field(default="OPENAI_API_KEY", description="Name of the variable that holds that endpoint's key.")
    public_realtime_url: str | None = Field(default=None, description="ws(s):// address that the page uses verbatim.")
    allow_origin: list[str] = Field(default_factory=list, description="Further origins whose pages may open a call.")

    @field_validator("stage_overrides")
    @classmethod
    def _stages_by_number(cls, value: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        for stage in value:
            if not stage.isdigit():
                raise ValueError(f"stages are named by their number, not {stage!r}")
        return value
