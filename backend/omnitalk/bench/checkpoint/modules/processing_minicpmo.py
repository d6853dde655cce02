"""Turns sound and pictures into what the engine's encoders take: a thin processor of this project's own.

Sound: 16 kHz mono float32 → log-mel frames (80 bands, hop 10 ms), as Whisper takes them. In streaming every unit of 1 s gives
100 frames with 2 frames of its neighbours on each side (the first has none before it), which the encoder drops after its
convolutions. Pictures go through the engine's own image processor.
"""

import math
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer, BatchFeature, ProcessorMixin, WhisperFeatureExtractor
from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni_llm import MiniCPMVImageProcessor

RATE = 16_000
HOP = 160
UNIT = RATE
# A unit is cut after its last frame's neighbours have come: 35 ms of the next second.
LOOK_AHEAD = 560
EXTRA_FRAMES = 2


class StreamingMel:
    """Log-mel frames of a stream, unit by unit. ``get_config`` tells the engine how much of the first piece is used up."""

    sample_rate = RATE

    def __init__(self, extractor: WhisperFeatureExtractor) -> None:
        self._extractor = extractor
        self._before: np.ndarray | None = None

    def get_config(self) -> dict[str, int]:
        return {"effective_first_chunk_ms": UNIT * 1000 // RATE}

    def reset(self) -> None:
        self._before = None

    def unit(self, samples: np.ndarray) -> torch.Tensor:
        """Mel frames (1, 80, 102 or 104) of one unit with its look-ahead, ``samples`` float32 of shape (16560,)."""
        first = self._before is None
        whole = samples if first else np.concatenate([self._before, samples])
        self._before = np.array(samples[UNIT - EXTRA_FRAMES * HOP : UNIT])
        frames = UNIT // HOP + EXTRA_FRAMES * (1 if first else 2)
        return log_mel(self._extractor, whole)[None, :, :frames]


def log_mel(extractor: WhisperFeatureExtractor, samples: np.ndarray) -> torch.Tensor:
    """(80, frames) of float32 samples at 16 kHz."""
    features = extractor(samples, sampling_rate=RATE, padding="do_not_pad", return_tensors="np")["input_features"][0]
    return torch.from_numpy(np.asarray(features, dtype=np.float32))


class OwnProcessor(ProcessorMixin):  # type: ignore[misc]
    """Tokenizer, image processor and mel frames in one object, with the methods that the engine calls."""

    attributes: list[str] = []

    def __init__(self, tokenizer: Any, pool_step: int = 5) -> None:
        self.tokenizer = tokenizer
        self.pool_step = pool_step
        self.image_processor = MiniCPMVImageProcessor(max_slice_nums=1, use_image_id=False)
        self.feature_extractor = WhisperFeatureExtractor(feature_size=80)
        self._streaming_mel_processor = StreamingMel(self.feature_extractor)
        self.chat_template = None

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str, *_: Any, **options: Any) -> "OwnProcessor":
        tokenizer = options.get("tokenizer") or AutoTokenizer.from_pretrained(pretrained_model_name_or_path)
        return cls(tokenizer)

    # -- live calls ---------------------------------------------------------------------------------------------------

    def set_streaming_mode(self, **_: Any) -> None:
        """The engine's wishes (exact frames, 1 s units) are what this processor does anyway."""

    def reset_streaming(self) -> None:
        self._streaming_mel_processor.reset()

    def get_streaming_chunk_size(self) -> int:
        """Samples that the engine collects before it asks for a unit."""
        return UNIT + LOOK_AHEAD

    def process_audio_streaming(self, chunk: np.ndarray, reset: bool = False, return_batch_feature: bool = True) -> BatchFeature:
        if reset:
            self.reset_streaming()
        features = self._streaming_mel_processor.unit(np.asarray(chunk, dtype=np.float32))
        return BatchFeature({"audio_features": features, "audio_feature_lens": [torch.tensor([UNIT // HOP])]})

    def process_audio(self, audios: list[np.ndarray]) -> BatchFeature:
        """Whole clips, as the reference voice is one."""
        return self._audio_features([list(audios)])

    def process_image(self, images: list[Any], max_slice_nums: int | None = None) -> BatchFeature:
        return self.image_processor(images, max_slice_nums=max_slice_nums, return_tensors="pt")

    # -- chat ---------------------------------------------------------------------------------------------------------

    def get_audio_placeholder(self, audio_lens: int, chunk_input: bool = True, chunk_length: int = 1) -> str:
        """As many ``<unk>`` as the encoder gives vectors for ``audio_lens`` samples: one for 100 ms."""
        frames = math.ceil(audio_lens / HOP)
        vectors = ((frames - 1) // 2 + 1 - self.pool_step) // self.pool_step + 1
        return "<|audio_start|>" + "<unk>" * vectors + "<|audio_end|>"

    def _audio_features(self, groups: list[list[np.ndarray]]) -> BatchFeature:
        pieces: list[torch.Tensor] = []
        lengths: list[torch.Tensor] = []
        for group in groups:
            frames = [log_mel(self.feature_extractor, np.asarray(clip, dtype=np.float32)) for clip in group]
            pieces.extend(frames)
            lengths.append(torch.tensor([math.ceil(len(clip) / HOP) for clip in group]))
        longest = max((piece.shape[-1] for piece in pieces), default=0)
        padded = [torch.nn.functional.pad(piece, (0, longest - piece.shape[-1])) for piece in pieces]
        return BatchFeature({"audio_features": torch.stack(padded) if padded else [], "audio_feature_lens": lengths})

    def __call__(
        self,
        text: list[str] | str | None = None,
        images: list[list[Any]] | None = None,
        audios: list[list[np.ndarray]] | None = None,
        max_slice_nums: int | None = None,
        return_tensors: str | None = None,
        **_: Any,
    ) -> BatchFeature:
        found: dict[str, Any] = {}
        if images is not None:
            found.update(self.image_processor(images, max_slice_nums=max_slice_nums, return_tensors="pt"))
        if audios is not None:
            found.update(self._audio_features(audios))
        prompts = [text] if isinstance(text, str) else text or [""]
        found["input_ids"] = [self.tokenizer.encode(prompt, add_special_tokens=False) for prompt in prompts]
        return BatchFeature(found)


__all__ = ["OwnProcessor"]
