"""Names of models and voices in requests."""

from omnitalk.engines.base import Capabilities
from omnitalk.protocol.errors import ProtocolError

__all__ = ["check_model", "check_voice"]

_ALIAS = "omnitalk"
"""Stands for whatever model the server runs."""

_OPENAI = frozenset({"alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse"})
"""OpenAI's voices. Its clients must name one, so these stand for the engine's own voice."""


def check_voice(name: str | None, capabilities: Capabilities, param: str) -> None:
    """Raises ``ProtocolError`` for a voice that is neither the engine's nor one of OpenAI's."""
    if name is None or name == "default" or name in _OPENAI or name in capabilities.voices:
        return
    have = ", ".join(capabilities.voices) or "default"
    raise ProtocolError("invalid_value", f"There is no voice {name!r} here; there is: {have} (OpenAI's names stand for it).", param=param)


def check_model(name: str | None, capabilities: Capabilities) -> str:
    """The model's own name. Raises ``ProtocolError`` (``model_not_found``) when another is asked for."""
    here = capabilities.model
    if name and name not in (_ALIAS, here):
        raise ProtocolError("model_not_found", f"There is no model {name[:100]!r} here; this server runs {here!r}.", param="model")
    return here
