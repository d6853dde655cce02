"""Writes the model folder."""

import json
import math
import struct
import wave
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from typing import Any

from . import tokenizer

__all__ = ["FULL", "TINY", "Size", "build"]

_VOICE_RATE = 24_000


@dataclass(frozen=True)
class Size:
    """Sizes of the model's parts. ``FULL`` are the released model's; ``TINY`` runs faster than real time on two CPU cores."""

    name: str
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head: int
    layers: int
    audio: tuple[int, int, int]  # width, layers, heads; the feed-forward is four times the width
    vision: tuple[int, int, int, int]  # width, feed-forward, layers, heads
    talker: tuple[int, int, int, int]  # width, feed-forward, layers, heads


TINY = Size("tiny", 128, 256, 2, 1, 64, 2, audio=(64, 2, 2), vision=(64, 128, 2, 2), talker=(128, 256, 2, 2))
FULL = Size("full", 4096, 12_288, 32, 8, 128, 36, audio=(1024, 24, 16), vision=(1152, 4304, 27, 16), talker=(768, 3072, 20, 12))


def _config(size: Size) -> dict[str, Any]:
    audio_width, audio_layers, audio_heads = size.audio
    width, feed, layers, heads = size.vision
    talker_width, talker_feed, talker_layers, talker_heads = size.talker
    return {
        "architectures": ["MiniCPMO"],
        "version": "4.5",
        "model_type": "minicpmo",
        "auto_map": {"AutoConfig": "configuration_minicpmo.MiniCPMOConfig"},
        # The language model: Qwen3.
        "hidden_size": size.hidden,
        "intermediate_size": size.intermediate,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "head_dim": size.head,
        "num_hidden_layers": size.layers,
        "max_window_layers": size.layers,
        "max_position_embeddings": 40_960,
        "rope_theta": 1_000_000,
        "rms_norm_eps": 1e-6,
        "vocab_size": tokenizer.VOCAB_SIZE,
        "bos_token_id": 151_643,
        "eos_token_id": 151_645,
        "hidden_act": "silu",
        "initializer_range": 0.02,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "use_sliding_window": False,
        "sliding_window": None,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        # Hearing and seeing.
        "init_vision": True,
        "init_audio": True,
        "init_tts": True,
        "image_size": 448,
        "query_num": 64,
        "slice_mode": True,
        "use_image_id": True,
        "batch_vision_input": True,
        "drop_vision_last_layer": False,
        "vision_batch_size": 16,
        "audio_pool_step": 5,
        "audio_chunk_length": 1.0,
        "stream_input": True,
        "listen_speak_type": "asr",
        "audio_config": {
            "model_type": "whisper",
            "architectures": ["MiniCPMWhisperEncoder"],
            "d_model": audio_width,
            "encoder_layers": audio_layers,
            "decoder_layers": audio_layers,
            "num_hidden_layers": audio_layers,
            "encoder_attention_heads": audio_heads,
            "decoder_attention_heads": audio_heads,
            # The engine's encoder takes four times the width as given.
            "encoder_ffn_dim": 4 * audio_width,
            "decoder_ffn_dim": 4 * audio_width,
            "num_mel_bins": 80,
            "max_source_positions": 1500,
            "vocab_size": 51_865,
            "torch_dtype": "bfloat16",
        },
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": width,
            "intermediate_size": feed,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "image_size": 980,
            "patch_size": 14,
        },
        "slice_config": {"model_type": "minicpmv", "max_slice_nums": 1, "patch_size": 14, "scale_resolution": 448},
        # Speaking.
        "tts_config": {
            "model_type": "minicpmtts",
            "architectures": ["MiniCPMTTS"],
            "llm_dim": size.hidden,
            "llm_intermediate_size": talker_width if size.name == "full" else 2 * talker_width,
            "hidden_size": talker_width,
            "intermediate_size": talker_feed,
            "num_hidden_layers": talker_layers,
            "num_attention_heads": talker_heads,
            "num_key_value_heads": talker_heads,
            "max_position_embeddings": 4096,
            "num_audio_tokens": 6562,
            "num_text_tokens": 152_064,
            "num_vq": 1,
            "audio_bos_token_id": 151_687,
            "text_eos_token_id": 151_692,
            "condition_type": "hidden_text_merge",
            "backbone_model": "llama",
            "audio_tokenizer_type": "s3tokenizer",
            "audio_tokenizer_sample_rate": 16_000,
            "normalize_projected_hidden": True,
            "attention_type": "full_attention",
            "streaming": True,
            "streaming_sliding_window": True,
            "interleaved": True,
            "hidden_act": "silu",
            "torch_dtype": "bfloat16",
        },
    }


def _write_voice(path: Path) -> None:
    """Six seconds of a 220 Hz tone: the reference voice of a model that has no voice. 24 kHz mono PCM16."""
    samples = (int(8000 * math.sin(2 * math.pi * 220 * n / _VOICE_RATE)) for n in range(6 * _VOICE_RATE))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(_VOICE_RATE)
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))


def build(folder: Path, size: Size = TINY) -> Path:
    """Write a model folder for ``size`` into ``folder`` and return it. The weights are left to the engine (``load_format: dummy``)."""
    (folder / "assets").mkdir(parents=True, exist_ok=True)
    modules = Path(__file__).parent / "modules"
    for name in ("configuration_minicpmo.py", "processing_minicpmo.py"):
        copyfile(modules / name, folder / name)
    (folder / "config.json").write_text(json.dumps(_config(size), indent=1))
    processor = {"processor_class": "OwnProcessor", "auto_map": {"AutoProcessor": "processing_minicpmo.OwnProcessor"}}
    (folder / "processor_config.json").write_text(json.dumps(processor, indent=1))
    (folder / "preprocessor_config.json").write_text(json.dumps(processor, indent=1))
    tokenizer.write(folder)
    _write_voice(folder / "assets" / "HT_ref_audio.wav")
    if size is FULL:
        from . import vocoder

        vocoder.write(folder)
    return folder
