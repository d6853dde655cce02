"""How much one event may hold. The first three are the public duplex protocol's own limits."""

from typing import Final

MAX_EVENT_BYTES: Final = 15 * 1024 * 1024
"""One client event, as it came off the wire."""

MAX_VIDEO_FRAMES: Final = 2
"""A base picture and one stacked composite."""

MAX_VIDEO_FRAME_BYTES: Final = 3_000_000
"""One picture, decoded: the 4,000,000 base64 characters of the public limit."""

MAX_DEPTH: Final = 64
"""JSON nesting. Real events reach 8; deeper ones would only try our stack."""

MIN_RATE_HZ: Final = 8_000
MAX_RATE_HZ: Final = 192_000
