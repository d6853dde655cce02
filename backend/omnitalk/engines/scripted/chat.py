"""Chat of the scripted engine: it says what it was sent, word by word, and sounds a tone for each."""

from collections import Counter
from collections.abc import AsyncGenerator, Iterator

from omnitalk.engines.chat import ChatDelta, ChatRequest, ChatUsage
from omnitalk.protocol.session import AudioFormat

from .script import Reply, Script, Sleep, frequency_of
from .tone import ToneVoice

__all__ = ["answer", "tones"]

_WORD_MS = 200.0


async def answer(request: ChatRequest, index: int, script: Script, sleep: Sleep) -> AsyncGenerator[ChatDelta, None]:
    """Answer number ``index`` of the engine. A word counts as a token; ``max_tokens`` cuts it short."""
    reply = script.replies[index] if index < len(script.replies) else _made_up(request)
    words = reply.words.split()
    most = min(len(words), request.max_tokens or len(words))
    said = Reply(words=" ".join(words[:most]), seconds=reply.seconds * most / max(1, len(words)))
    voice = ToneVoice(said, reply.hz or frequency_of(index), AudioFormat(encoding="pcm16", rate=24_000))
    await sleep(script.first_sound_s)
    for number, word in enumerate(words[:most]):
        yield ChatDelta(text=word if number == 0 else f" {word}")
        await sleep(_WORD_MS / 1000.0 / script.pace)
        if request.speaks and voice.left:
            yield ChatDelta(audio=voice.say(_WORD_MS).data)
    while request.speaks and voice.left:
        yield ChatDelta(audio=voice.say(_WORD_MS).data)
    usage = ChatUsage(prompt_tokens=_words_in(request), completion_tokens=most)
    yield ChatDelta(finish="stop" if most == len(words) else "length", usage=usage)


def tones(text: str, speed: float) -> Iterator[bytes]:
    """A text as a tone, word by word."""
    seconds = len(text.split()) * _WORD_MS / 1000.0 / speed
    voice = ToneVoice(Reply(words=text, seconds=seconds), frequency_of(0), AudioFormat(encoding="pcm16", rate=24_000))
    while voice.left:
        yield voice.say(_WORD_MS).data


def _made_up(request: ChatRequest) -> Reply:
    kinds = Counter(part.kind for message in request.messages for part in message.parts)
    sent = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "nothing"
    words = f"This test engine understands nothing; it was sent {sent}."
    return Reply(words=words, seconds=len(words.split()) * _WORD_MS / 1000.0)


def _words_in(request: ChatRequest) -> int:
    return sum(len(part.text.split()) for message in request.messages for part in message.parts)
