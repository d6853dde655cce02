"""The page's files: right types, revalidated on each load, so a new release is seen at once and an old one costs a 304."""

from typing import Any

from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Scope

__all__ = ["PageFiles"]

_TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json", ".yaml": "text/plain", ".md": "text/plain"}


class PageFiles(StaticFiles):
    """Static files with ``no-cache`` (ETags do the rest) and a JSON body for what is not there."""

    def file_response(self, full_path: Any, *args: Any, **kwargs: Any) -> Response:
        """As Starlette's, with our types and caching."""
        response = super().file_response(full_path, *args, **kwargs)
        response.headers["Cache-Control"] = "no-cache"
        for ending, kind in _TYPES.items():
            if str(full_path).endswith(ending):
                response.headers["Content-Type"] = f"{kind}; charset=utf-8"
        return response

    async def get_response(self, path: str, scope: Scope) -> Response:
        """As Starlette's; a miss is answered in JSON, for a person as for a program."""
        try:
            response = await super().get_response(path, scope)
            if response.status_code == 307:
                # A folder asked for without its slash. Starlette names the whole address, which is another one before a proxy.
                response.headers["Location"] = f"{path.rsplit('/', 1)[-1]}/"
            return response
        except HTTPException as problem:
            if problem.status_code != 404:
                raise
            return JSONResponse({"error": {"code": "not_found", "message": f"There is nothing at /{path}."}}, status_code=404)
