"""``/v1/models`` as the unmodified openai package reads it."""

import httpx2
import openai
import pytest
from omnitalk.api.app import create_app
from omnitalk.engines.factory import make_engine
from omnitalk.settings import ServeSettings


async def test_the_model_is_listed_found_and_missed_by_name() -> None:
    settings = ServeSettings(engine="scripted")
    engine = make_engine(settings)
    wire = httpx2.AsyncClient(transport=httpx2.ASGITransport(create_app(settings, engine)))
    async with openai.AsyncOpenAI(base_url="http://server/v1", api_key="unused", http_client=wire) as client:
        listed = [model.id async for model in client.models.list()]
        assert listed == [engine.capabilities.model]
        assert (await client.models.retrieve(listed[0])).id == listed[0]
        with pytest.raises(openai.NotFoundError) as missing:
            await client.models.retrieve("no/such")
        assert missing.value.code == "model_not_found" and missing.value.param == "model"
