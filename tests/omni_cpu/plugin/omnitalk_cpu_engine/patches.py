"""Two changes inside the stage processes: a vocoder that needs no files, and a copy that the CPU needs."""

import math
from typing import Any

import torch

__all__ = ["SineVocoder", "install"]

# The codec has 25 frames a second; the sound is 24 kHz.
SAMPLES_A_FRAME = 960

# Every piece comes with frames of its neighbour, which the real vocoder keeps for the next piece.
CONTEXT_FRAMES = 3


class SineVocoder:
    """One tone a codec frame, its pitch from the codec's number: audible, cheap, and different for different codes."""

    def prepare_prompt(self, cache_id: str, wav: str) -> tuple[str, str]:
        return cache_id, wav

    def evict_prompt(self, cache_id: str, wav: str) -> None:
        return None

    def _state(self) -> Any:
        from vllm_omni.model_executor.models.minicpmo_4_5.batched_token2wav import BatchedToken2WavState

        return BatchedToken2WavState(flow_cache={}, hift_cache={})

    def setup_batch(self, features: Any, batch_size: int) -> list[Any]:
        return [self._state() for _ in range(batch_size)]

    def _sound(self, codes: torch.Tensor) -> torch.Tensor:
        seconds = torch.arange(SAMPLES_A_FRAME, dtype=torch.float32) / 24_000
        return torch.cat([0.2 * torch.sin(2 * math.pi * (200 + 25 * (int(code) % 16)) * seconds) for code in codes.tolist()])

    def decode_batch(self, tokens: Any, features: Any, states: list[Any], last_chunk: bool = False) -> tuple[list[Any], list[Any]]:
        return [self._sound(row if last_chunk else row[:-CONTEXT_FRAMES]) for row in tokens], [self._state() for _ in states]

    def decode_ragged_batch(self, tokens: Any, features: Any, states: list[Any], last_chunks: Any = None) -> tuple[list[Any], list[Any]]:
        last = last_chunks or [False] * len(states)
        sounds = [self._sound(row if end else row[:-CONTEXT_FRAMES]) for row, end in zip(tokens, last, strict=True)]
        return sounds, [self._state() for _ in states]


def install() -> None:
    """Plugin entry; idempotent."""
    _sine_vocoder()
    _own_ledger()


def _sine_vocoder() -> None:
    from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_code2wav import MiniCPMO45Code2Wav as Code2Wav

    def build(self: Any) -> None:
        if self.backend is None:
            self.backend = SineVocoder()

    Code2Wav._build_backend = build


def _own_ledger() -> None:
    # On a CPU the runner's lasting buffers are themselves the model's inputs: the rows handed on to the Talker must be copied
    # before the next step overwrites them. On a GPU the copy to the device does that.
    from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni import MiniCPMO45OmniForConditionalGeneration as Thinker

    if getattr(Thinker, "_omnitalk_ledger", False):
        return
    own = Thinker.forward

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = own(self, *args, **kwargs)
        outputs = getattr(result, "multimodal_outputs", None)
        if isinstance(outputs, dict):
            for key in ("latent_input_ids", "latent_positions"):
                if isinstance(outputs.get(key), torch.Tensor):
                    outputs[key] = outputs[key].clone()
        return result

    Thinker.forward = forward
    Thinker._omnitalk_ledger = True
