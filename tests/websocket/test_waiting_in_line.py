"""More callers than lines: places, moving up, leaving, and a full line."""

import contextlib

from omnitalk.engines.scripted import ScriptedEngine

from .live import Live, Talker, eventually, serving, talking


async def waiting(live: Live, stack: contextlib.AsyncExitStack) -> Talker:
    talker = await stack.enter_async_context(talking(live.ws()))
    await talker.send("session.update", session={})
    await talker.until("omnitalk.queue")
    return talker


async def test_callers_are_told_their_place_move_up_and_are_served_in_order() -> None:
    async with contextlib.AsyncExitStack() as stack:
        live = await stack.enter_async_context(serving(ScriptedEngine(max_sessions=1)))
        first = await stack.enter_async_context(talking(live.ws()))
        await first.open()
        second = await waiting(live, stack)
        third = await waiting(live, stack)
        assert (second.events[0]["position"], second.events[0]["length"]) == (1, 1)
        assert (third.events[0]["position"], third.events[0]["length"]) == (2, 2)
        await first.hang_up()
        assert (await second.until("session.created"))["session"]["state"] == "open"
        moved = await third.until(lambda event: event["type"] == "omnitalk.queue" and event["position"] == 1)
        assert moved["estimated_wait_ms"] is not None
        await second.hang_up()
        await third.until("session.created")
        await third.alive()


async def test_a_caller_who_leaves_frees_the_place_at_once() -> None:
    async with contextlib.AsyncExitStack() as stack:
        live = await stack.enter_async_context(serving(ScriptedEngine(max_sessions=1)))
        holder = await stack.enter_async_context(talking(live.ws()))
        await holder.open()
        async with contextlib.AsyncExitStack() as gone:
            await waiting(live, gone)
            last = await waiting(live, stack)
            assert last.events[0]["position"] == 2
        await last.until(lambda event: event["type"] == "omnitalk.queue" and event["position"] == 1)
        await last.send("omnitalk.queue.leave")
        await last.closed()
        await eventually(lambda: not live.hub.admission.waiting)
        await holder.alive()


async def test_what_was_said_in_line_is_executed_when_the_call_begins() -> None:
    async with contextlib.AsyncExitStack() as stack:
        live = await stack.enter_async_context(serving(ScriptedEngine(max_sessions=1)))
        holder = await stack.enter_async_context(talking(live.ws()))
        await holder.open()
        eager = await waiting(live, stack)
        await eager.ask()
        await eager.alive()
        await holder.hang_up()
        await eager.until("session.created")
        await eager.until("response.done")


async def test_a_full_line_turns_callers_away_with_the_reason() -> None:
    async with contextlib.AsyncExitStack() as stack:
        live = await stack.enter_async_context(serving(ScriptedEngine(max_sessions=1), queue_length=1))
        holder = await stack.enter_async_context(talking(live.ws()))
        await holder.open()
        await waiting(live, stack)
        turned_away = await stack.enter_async_context(talking(live.ws()))
        await turned_away.send("session.update", session={})
        error = await turned_away.error("resource_exhausted")
        assert (error["type"], error["retryable"]) == ("rate_limit_error", True)
        assert (await turned_away.closed())[0] == 1013
        await holder.alive()


async def test_those_who_wait_are_told_when_the_server_stops() -> None:
    async with contextlib.AsyncExitStack() as stack:
        async with serving(ScriptedEngine(max_sessions=1)) as live:
            holder = await stack.enter_async_context(talking(live.ws()))
            await holder.open()
            talker = await waiting(live, stack)
        await talker.error("server_draining")
        assert (await talker.closed())[0] == 1013
