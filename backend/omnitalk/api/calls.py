"""``POST /v1/realtime/calls``: a call over WebRTC, in the shape of OpenAI's API; and how to hang one up.

The body is an SDP offer (``application/sdp``), or a form (``multipart/form-data``) with ``sdp`` and, as JSON, ``session``. Ours may
carry ``resume`` instead of a session: the fields of ``session.resume``, and the call goes on over the new connection.
"""

from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect

from omnitalk.engines.base import EngineError
from omnitalk.protocol import json_codec
from omnitalk.protocol.base import UNSET
from omnitalk.protocol.client import SessionResume, SessionUpdate
from omnitalk.protocol.errors import ProtocolError
from omnitalk.protocol.session import SessionPatch

from . import origins
from .auth import admitted
from .origins import check_origin, cors
from .problems import problem_response
from .state import state_of

__all__ = ["router"]

router = APIRouter()

RESUME_TOKEN = "Omnitalk-Resume-Token"

_MAX_BODY = 512 * 1024
"""An offer of 64 kB, instructions of 200,000 characters, and room for JSON's escapes."""


@router.post("/v1/realtime/calls")
async def open_call(request: Request) -> Response:
    """201 with the SDP answer, and the call's address in ``Location``."""
    state = state_of(request)
    try:
        check_origin(request)
        hub, switchboard = state.hub, state.switchboard
        if state.loopback is not None and request.query_params.get("loopback") == "1":
            hub, switchboard = state.loopback.hub, state.loopback.switchboard
        if switchboard is None:
            why = state.webrtc_problem or "WebRTC is switched off on this server."
            raise ProtocolError("webrtc_unavailable", f"{why} Call over the WebSocket v1/realtime instead.")
        offer, patch, ticket = await _read(request)
        who = admitted(request)
        if ticket is not None:
            answer = await switchboard.resume(offer, ticket)
        elif who is not None and who.only_returns:
            message = "`resume=1` is for a call that is taken up again: send `resume`, or leave the query out to open a new call."
            raise ProtocolError("invalid_session_resume", message, param="resume")
        else:
            duplex = request.query_params.get("duplex", "").lower() in ("1", "true", "yes", "on")
            answer = await switchboard.call(offer, patch, duplex=duplex)
            runner = hub.find(answer.call_id)
            if runner is not None and who is not None and who.seat is not None:
                # The request is over at once; the call is what goes on.
                runner.when_over(who.seat.keep())
    except (ProtocolError, EngineError) as problem:
        return problem_response(problem, cors(request))
    except ClientDisconnect:
        return Response(status_code=400)
    location = f"{request.scope.get('root_path', '')}/v1/realtime/calls/{answer.call_id}"
    headers = {"Location": location, "Cache-Control": "no-store", **cors(request)}
    if answer.resume_token:
        # A network that lets no media through delivers no session.created either: the call can still go on over the WebSocket.
        headers[RESUME_TOKEN] = answer.resume_token
    return Response(answer.sdp, status_code=201, media_type="application/sdp", headers=headers)


@router.delete("/v1/realtime/calls/{call_id}")
@router.post("/v1/realtime/calls/{call_id}/hangup")
async def hang_up(request: Request, call_id: str) -> Response:
    """Ends a live call. Whoever knows its id may: it is as long as a key, and only the caller was told it."""
    state = state_of(request)
    try:
        check_origin(request)
        runner = state.hub.find(call_id) or (state.loopback.hub.find(call_id) if state.loopback is not None else None)
        if runner is None:
            raise ProtocolError("call_not_found", "There is no such live call.", param="call_id")
        await runner.end("client_close")
    except ProtocolError as problem:
        return problem_response(problem, cors(request))
    return Response(status_code=200, headers=cors(request))


@router.get("/v1/realtime/ice_servers")
async def ice_servers(request: Request) -> JSONResponse:
    """Servers that help a browser through a firewall, with credentials made for this one question."""
    state = state_of(request)
    try:
        check_origin(request)
    except ProtocolError as problem:
        return problem_response(problem, cors(request))
    servers = state.ice_servers() if state.switchboard is not None else []
    body = {"ice_servers": servers, "ttl_s": state.settings.turn_ttl_s}
    return JSONResponse(body, headers={"Cache-Control": "no-store", **cors(request)})


@router.options("/v1/realtime/ice_servers", include_in_schema=False)
@router.options("/v1/realtime/calls", include_in_schema=False)
@router.options("/v1/realtime/calls/{rest:path}", include_in_schema=False)
async def preflight(request: Request) -> Response:
    """A browser asks for another origin's page whether it may."""
    return origins.preflight(request, "GET, POST, DELETE, OPTIONS")


async def _read(request: Request) -> tuple[str, SessionPatch, SessionResume | None]:
    """The offer, the settings asked for, and the ticket of a call that returns. Raises ``ProtocolError``."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    session: Any = {}
    ticket: SessionResume | None = None
    if kind == "application/sdp":
        offer = _text(await _body(request), "sdp")
    elif kind == "multipart/form-data":
        fields = await _form(request)
        offer = _text(fields.get("sdp", b""), "sdp")
        session = _json(fields["session"], "session") if "session" in fields else {}
        if "resume" in fields:
            resume = json_codec.decode_client(
                msgspec.json.encode({**_object(_json(fields["resume"], "resume"), "resume"), "type": "session.resume"})
            )
            assert isinstance(resume, SessionResume)
            ticket = resume
    else:
        message = "Send the SDP offer as application/sdp, or as multipart/form-data with the fields sdp and session."
        raise ProtocolError("unsupported_media_type", message)
    update = json_codec.decode_client(msgspec.json.encode({"type": "session.update", "session": _object(session, "session")}))
    assert isinstance(update, SessionUpdate)
    model = request.query_params.get("model")
    if model is not None and update.session.model is UNSET:
        update.session.model = model
    return offer, update.session, ticket


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_BODY:
            raise ProtocolError("body_too_large", f"The request has at most {_MAX_BODY} bytes.")
    return bytes(body)


async def _form(request: Request) -> dict[str, bytes]:
    length = request.headers.get("content-length", "")
    if not length.isdigit() or int(length) > _MAX_BODY:
        raise ProtocolError("body_too_large", f"A form says its Content-Length, and it is at most {_MAX_BODY} bytes.")
    fields: dict[str, bytes] = {}
    try:
        async with request.form(max_files=4, max_fields=4, max_part_size=_MAX_BODY) as form:
            for name, value in form.multi_items():
                fields[name] = await value.read() if isinstance(value, UploadFile) else value.encode()
    except MultiPartException as problem:
        raise ProtocolError("bad_event", f"The form cannot be read: {problem.message}") from None
    return fields


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolError("invalid_offer", f"The field {name} is no UTF-8 text.", param=name) from None


def _json(data: bytes, name: str) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        raise ProtocolError("invalid_json", f"The field {name} is no JSON.", param=name) from None


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ProtocolError("bad_event", f"The field {name} is a JSON object.", param=name)
    return value
