"""``python -m tests.gradio.long_answers PORT``: a server whose engine answers for half a minute and tells when it begins and ends."""

import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing

from omnitalk.api.app import create_app
from omnitalk.engines.chat import ChatDelta, ChatRequest
from omnitalk.engines.scripted import ScriptedEngine
from omnitalk.engines.scripted.script import Reply, Script
from omnitalk.logs import configure
from omnitalk.server import listen, make_server
from omnitalk.settings import ServeSettings

LONG = Script(replies=(Reply(words="word " * 600, seconds=120.0),) * 3, pace=4.0)


class Telling(ScriptedEngine):
    """Says on standard output what it is at."""

    async def chat(self, request: ChatRequest) -> AsyncGenerator[ChatDelta, None]:
        """As the scripted engine's."""
        turns = [f"{message.role}:{message.parts[0].text[:20]}" for message in request.messages if message.role != "system"]
        print("began", *turns, flush=True)
        try:
            async with aclosing(super().chat(request)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            print("ended", flush=True)


if __name__ == "__main__":
    configure("error")
    settings = ServeSettings(engine="scripted", port=int(sys.argv[1]), log_level="error")
    with listen("127.0.0.1", settings.port) as listener:
        make_server(settings, create_app(settings, Telling(script=LONG))).run(sockets=[listener])
