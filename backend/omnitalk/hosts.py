"""Hosts as they are written in addresses and headers."""

import re
from typing import Final

__all__ = ["HOST"]

HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")
"""Name or address, and port. Whatever matches whole may be put into another header, or compared with a page's origin."""
