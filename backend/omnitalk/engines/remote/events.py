"""A server's events as the session reads them: the JSON object with the attributes that vLLM-Omni's own classes have."""

from typing import Any

__all__ = ["RemoteEvent"]


class RemoteEvent:
    """``data`` is the object as it came."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.type = str(data.get("type"))

    def under(self, response_id: str) -> "RemoteEvent":
        """The same event of another response."""
        return RemoteEvent({**self.data, "response_id": response_id})

    @property
    def response(self) -> dict[str, Any]:
        """The response object, empty when there is none."""
        found = self.data.get("response")
        return found if isinstance(found, dict) else {}

    @property
    def response_id(self) -> str | None:
        """Which response it is about."""
        found = self.data.get("response_id") or self.response.get("id")
        return found if isinstance(found, str) else None

    @property
    def item_id(self) -> str:
        """Which item it is about."""
        return str(self.data.get("item_id") or "")

    @property
    def delta(self) -> str:
        """Text or base64 sound."""
        return str(self.data.get("delta") or "")

    @property
    def metadata(self) -> dict[str, Any]:
        """What the server says about a piece."""
        found = self.data.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def details(self) -> dict[str, Any]:
        """Why the model listens."""
        found = self.response.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def _error(self) -> dict[str, Any]:
        found = self.data.get("error")
        return found if isinstance(found, dict) else self.data

    @property
    def code(self) -> str:
        """An error's code."""
        return str(self._error.get("code") or "engine_error")

    @property
    def message(self) -> str:
        """An error's words."""
        return str(self._error.get("message") or "The server reported an error.")

    @property
    def reason(self) -> str:
        """Why a session ended."""
        return str(self.data.get("reason") or "closed")
