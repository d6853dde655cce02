"""Who may use a server: named keys for programs, a signed cookie or link for people's browsers."""

from .admitted import Admitted, admitted
from .guard import Guard
from .keyfile import KeyFile
from .keys import AuthFileError, Key
from .limits import Limits

__all__ = ["Admitted", "AuthFileError", "Guard", "Key", "KeyFile", "Limits", "admitted"]
