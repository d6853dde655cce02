"""Replaces the Thinker's draw of a token by a script, in the engine's stage process, for models with random weights.

Random weights never decide to speak, nor to stop. Everything else runs as it is: encoders, attention, the engine's own sampler
(whose result is thrown away), scheduling, the Talker and Code2Wav. ``install`` is a plugin that does nothing unless the variable
``OMNITALK_DRAW`` names a file; the file holds a ``Script`` as JSON and is read when a turn starts, so that a test can change it
while the engine runs.

The script listens while it hears speech, and speaks when a unit without speech follows one with speech.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["VARIABLE", "Draw", "Script", "install"]

VARIABLE = "OMNITALK_DRAW"

# A unit's text may be 28 characters long before the engine cuts it; six of the reply's words stay below.
_WORDS_A_CHUNK = 6

_FIRST_OF_MANY = 3_000

# One second of codec frames and the end: what a turn's last chunk takes at most.
_LAST_FRAMES = 26


@dataclass(frozen=True)
class Script:
    """``chunks``: units that a turn speaks for. ``listen_at``: the chunk in which ``listen`` is drawn mid-turn (the engine suppresses
    it unless told to listen). ``empty``: the turn begins and ends without a word."""

    chunks: int = 3
    listen_at: int | None = None
    empty: bool = False
    vocabulary: int = 0

    @classmethod
    def read(cls) -> "Script":
        """The script in force; the default one while the file is missing."""
        try:
            return cls(**json.loads(Path(os.environ[VARIABLE]).read_text()))
        except FileNotFoundError:
            return cls()


@dataclass
class Draw:
    """One session's state. ``unit`` begins a unit, ``token`` names what is drawn next in it; no engine is needed to test it."""

    words: tuple[int, ...]
    script: Script = field(default_factory=Script)
    heard: bool = False
    chunk: int | None = None
    drawn: int = 0
    word: int = 0
    fresh: bool = True
    _speaking: bool = False

    def unit(self, *, is_speech: bool, force_listen: bool, asked: bool = False) -> None:
        """A new unit of input has come. ``asked``: the session began with a text that waits for an answer."""
        self.drawn = 0
        self.heard = self.heard or asked
        if force_listen:
            self.heard = self.heard or is_speech
            self.chunk = None
            self._speaking = False
            return
        if self.chunk is None:
            if is_speech:
                self.heard = True
            elif self.heard:
                self.heard, self.chunk = False, 0
                self.script = Script.read()
                self.word = self.word if self.script.vocabulary else 0
        elif is_speech:
            # Heard while speaking: the turn goes on and the answer follows in a turn of its own.
            self.heard = True
        self._speaking = self.chunk is not None

    def token(self) -> str | int:
        """``listen``, ``speak``, ``tts_bos``, ``turn_eos``, ``chunk_eos`` or the id of a word."""
        position, self.drawn = self.drawn, self.drawn + 1
        if not self._speaking or self.chunk is None:
            return "listen"
        last = self.chunk == self.script.chunks - 1 or self.script.empty
        words = 0 if self.script.empty else _WORDS_A_CHUNK
        if position == 0:
            if self.chunk == 0:
                return "speak"
            return "listen" if self.script.listen_at == self.chunk else "tts_bos"
        if position <= words:
            self.word += 1
            if self.script.vocabulary:
                return _FIRST_OF_MANY + (self.word - 1) % self.script.vocabulary
            return self.words[(self.word - 1) % len(self.words)]
        if last and position == words + 1:
            return "turn_eos"
        self.chunk = None if last else self.chunk + 1
        self._speaking = False
        return "chunk_eos"


def install() -> None:
    """Plugin entry: put the script in place of the sampler's result, when ``OMNITALK_DRAW`` is set."""
    if not os.environ.get(VARIABLE):
        return
    from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni import MiniCPMO45OmniForConditionalGeneration as Thinker

    from omnitalk.engines.omni.plugin import register

    from .checkpoint import REPLY_WORDS, word_id

    # Whatever draw our engine would use is the one whose cost is paid.
    register()
    if getattr(Thinker, "_omnitalk_draw", False):
        return
    Thinker._omnitalk_draw = True
    words = tuple(word_id(index) for index in range(len(REPLY_WORDS)))
    own_sampler = Thinker._sample_minicpmo45_native_duplex_row
    own_prepare = Thinker.prepare_duplex_sampling

    def prepare(self: Any, logits: Any, metadata: Any, rows: Any) -> Any:
        self._omnitalk_rows = {row.row_idx: row for row in rows}
        return own_prepare(self, logits, metadata, rows)

    def sample(self: Any, logits: Any, metadata: Any, *, row_idx: int, token_ids: dict[str, int]) -> int:
        # The real sampler runs for its cost; its bookkeeping must not see what is thrown away.
        self.__dict__["_record_minicpmo45_duplex_generation_token"] = lambda *_: None
        try:
            own_sampler(self, logits, metadata, row_idx=row_idx, token_ids=token_ids)
        finally:
            del self.__dict__["_record_minicpmo45_duplex_generation_token"]
        row = self._omnitalk_rows.get(row_idx)
        draws: dict[object, tuple[Draw, list[object]]] = self.__dict__.setdefault("_omnitalk_draws", {})
        key = (row.session_id, row.request_id) if row else row_idx
        draw, seen = draws.setdefault(key, (Draw(words), [None]))
        payload = (row.payload if row else None) or {}
        if row is None or row.seq != seen[0]:
            seen[:] = [row.seq if row else None]
            _note(row, payload)
            state = self._minicpmo45_duplex_state_for_row(row_idx)
            draw.unit(
                is_speech=payload.get("is_speech") is True,
                force_listen=payload.get("force_listen") is True,
                asked=draw.fresh and bool(getattr(state, "pending_speech_response_open", False)),
            )
            draw.fresh = False
        elif len(seen) > 1:
            # One more step runs ahead of the scheduler after a unit's end; what it draws is dropped.
            return int(str(seen[1]))
        name = draw.token()
        token = name if isinstance(name, int) else token_ids[f"{name}_token_id"]
        self._record_minicpmo45_duplex_generation_token(row_idx, token)
        token = int(self._finalize_minicpmo45_native_duplex_sample(row_idx, token, token_ids))
        if name == "chunk_eos" or (name == "listen" and token == token_ids["listen_token_id"]):
            seen.append(token)
        return token

    Thinker.prepare_duplex_sampling = prepare
    Thinker._sample_minicpmo45_native_duplex_row = sample
    _end_the_turn()
    _random_voice()


def _note(row: Any, payload: dict[str, Any]) -> None:
    """One line a unit beside the script: which of the engine's requests it came in, and as which unit of it."""
    line = {
        "session": str(row.session_id) if row else None,
        "request": row.request_id if row else None,
        "seq": row.seq if row else None,
        "speech": payload.get("is_speech") is True,
        "forced": payload.get("force_listen") is True,
        "frames": len(payload.get("video_frames") or ()),
    }
    with Path(f"{os.environ[VARIABLE]}.log").open("a") as file:
        file.write(json.dumps(line) + "\n")


def _end_the_turn() -> None:
    # The Talker of random weights never draws its end either: a turn's last chunk would fill all the room it has.
    from vllm_omni.model_executor.models.minicpmo_4_5 import minicpmo_4_5_omni_tts as talker

    own = talker._native_duplex_chunk_budget

    def budget(meta: Any) -> tuple[int, int]:
        most, least = own(meta)
        return (min(most, _LAST_FRAMES) if most > _LAST_FRAMES else most), least

    talker._native_duplex_chunk_budget = budget


def _random_voice() -> None:
    # What reads the reference voice (two ONNX files that only the release has) is replaced by random weights of the same shape. The
    # vocoder itself is left as it is.
    import types

    import numpy as np
    import torch

    try:
        import s3tokenizer
        from s3tokenizer.model_v2 import S3TokenizerV2
        from vllm_omni.model_executor.models.step_audio2 import step_audio2_token2wav as loader
    except ImportError:
        # Without the gpu extra there is no vocoder whose voice could be read.
        return

    def load_model(path: str, *_: Any, **__: Any) -> Any:
        tokenizer = S3TokenizerV2("speech_tokenizer_v2_25hz")
        for parameter in tokenizer.parameters():
            if not torch.isfinite(parameter).all() or parameter.abs().sum() == 0:
                torch.nn.init.normal_(parameter, std=0.02)
        return tokenizer

    class Speaker:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def get_inputs(self) -> list[Any]:
            return [types.SimpleNamespace(name="input")]

        def run(self, *_: Any, **__: Any) -> list[Any]:
            return [np.random.default_rng(0).normal(size=(1, 192)).astype("float32")]

    if isinstance(loader.onnxruntime, types.SimpleNamespace):
        return
    runtime = loader.onnxruntime
    loader.s3tokenizer = types.SimpleNamespace(
        load_model=load_model, log_mel_spectrogram=s3tokenizer.log_mel_spectrogram, padding=s3tokenizer.padding
    )
    loader.onnxruntime = types.SimpleNamespace(
        SessionOptions=runtime.SessionOptions, GraphOptimizationLevel=runtime.GraphOptimizationLevel, InferenceSession=Speaker
    )
