"""Forms with one file in them (``multipart/form-data``), read within the bounds of any body."""

from collections.abc import AsyncGenerator

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from omnitalk.protocol.errors import ProtocolError

from .body import BodyLimits, read_body

__all__ = ["read_form"]

_MAX_FIELDS = 32
_MAX_FIELD = 64 * 1024


async def read_form(request: Request, limits: BodyLimits) -> tuple[dict[str, str], dict[str, bytes]]:
    """Its fields and its files, by name. Raises ``ProtocolError``."""
    body = await read_body(request, limits)

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield body

    parser = MultiPartParser(request.headers, pieces(), max_files=1, max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD)
    fields: dict[str, str] = {}
    files: dict[str, bytes] = {}
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, UnicodeDecodeError) as problem:
        reason = problem.message if isinstance(problem, MultiPartException) else "it has no boundary, or letters that are no UTF-8"
        raise ProtocolError("invalid_form", f"The form cannot be read: {reason}.") from None
    try:
        for name, value in form.multi_items():
            if isinstance(value, UploadFile):
                files[name] = await value.read()
            else:
                fields[name] = value
    finally:
        await form.close()
    return fields, files
