"""What a stage of a model takes: weights, KV cache and working memory. Everything in GiB or bytes; where each number is from stands beside
it.

"Measured" is vLLM-Omni 0.30 with MiniCPM-o 4.5 at full size (random weights) on one H200. "Computed" follows from the released
configuration. "Estimate" is neither, and ``check`` says so when it uses one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["MODELS", "CallCost", "ModelFacts", "StageFacts", "facts_for"]

KIB = 1024
GIB = 1024**3


@dataclass(frozen=True, kw_only=True)
class StageFacts:
    """One stage on one GPU.

    ``sharded``: the part of ``weights`` that tensor parallelism divides, GiB. ``kv_bytes``: KV cache of one token, 0 = the stage keeps
    none. ``working``: GiB beside weights and cache while it works, at ``working_tokens`` batched tokens, growing in proportion;
    ``per_seat``: GiB more for each sequence at once. ``heads``: what tensor parallelism must divide. ``whole_cache``: every sequence must
    fit at full length.
    """

    name: str
    weights: float
    sharded: float = 0.0
    kv_bytes: int = 0
    kv_heads: int = 1
    heads: int = 1
    context: int | None = None
    working: float
    working_tokens: int | None = None
    per_seat: float = 0.0
    whole_cache: bool = False
    estimate: bool = False


@dataclass(frozen=True)
class CallCost:
    """Tokens that a second of a call adds to the first stage's context."""

    audio: float
    camera: float


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """A model's stages. ``call``: None when nothing of a call stays in the cache between turns. ``one_gpu_calls``: most calls at once that
    one H200 was measured to keep up with, None = not measured."""

    title: str
    stages: Mapping[int, StageFacts]
    call: CallCost | None = None
    one_gpu_calls: int | None = None


_MINICPM = ModelFacts(
    title="MiniCPM-o 4.5",
    stages=MappingProxyType(
        {
            0: StageFacts(
                name="thinker",
                # Measured. 8.19 B parameters of the language model (15.3 GiB in bf16) are sharded; eyes and ears (0.8 B) are on every card.
                weights=16.8,
                sharded=15.3,
                # Computed: 36 layers x key and value x 8 heads x 128 x 2 bytes. Measured: 39.5 GiB hold 288 k tokens, which is the same.
                kv_bytes=36 * 2 * 8 * 128 * 2,
                kv_heads=8,
                heads=32,
                context=40_960,
                # Measured: of 76.9 GiB (0.55 of an H200) 39.5 were left for the cache. vLLM keeps the peak of a profiling run with the
                # largest batch of images and sound free; most of it is unused while calls run.
                working=20.6,
                working_tokens=16_384,
            ),
            1: StageFacts(
                name="talker",
                # Measured: 3.5 GiB in all, 2 of them cache.
                weights=0.6,
                # Computed: 20 layers x 2 x 12 heads x 64 x 2 bytes.
                kv_bytes=20 * 2 * 12 * 64 * 2,
                kv_heads=12,
                heads=12,
                context=4_096,
                working=0.9,
                # A sequence that was pushed out of the cache cannot be played again.
                whole_cache=True,
            ),
            2: StageFacts(
                name="code2wav",
                # Measured: 6.4 GiB at start, 10.2 after four calls spoke at once.
                weights=1.0,
                working=5.4,
                per_seat=0.95,
            ),
        }
    ),
    # A unit is 12 to 13 tokens of sound, a frame 66.
    call=CallCost(audio=13.0, camera=79.0),
    one_gpu_calls=4,
)

_QWEN3 = ModelFacts(
    title="Qwen3-Omni-30B-A3B",
    stages=MappingProxyType(
        {
            0: StageFacts(
                name="thinker",
                # Computed: 30.5 B parameters and 1.2 B of eyes and ears, bf16.
                weights=59.1,
                sharded=56.9,
                # Computed: 48 layers x 2 x 4 heads x 128 x 2 bytes.
                kv_bytes=48 * 2 * 4 * 128 * 2,
                kv_heads=4,
                heads=32,
                working=5.0,
                estimate=True,
            ),
            1: StageFacts(
                name="talker",
                # Computed: 3.3 B parameters, bf16; 20 layers x 2 x 2 heads x 128 x 2 bytes.
                weights=6.2,
                kv_bytes=20 * 2 * 2 * 128 * 2,
                kv_heads=2,
                heads=16,
                working=4.0,
                estimate=True,
            ),
            2: StageFacts(name="code2wav", weights=0.4, working=4.0, estimate=True),
        }
    ),
)

MODELS: Mapping[str, ModelFacts] = MappingProxyType({"minicpmo_4_5": _MINICPM, "qwen3_omni_moe": _QWEN3})


def facts_for(pipeline: str | None, chain_names: tuple[str, ...]) -> tuple[str | None, ModelFacts | None]:
    """The model of a deploy file: by its ``pipeline``, else by the name of the vLLM-Omni file it inherits."""
    if pipeline is not None:
        return pipeline, MODELS.get(pipeline)
    for name in chain_names:
        for key, facts in MODELS.items():
            family = key.removesuffix("_moe")
            if name.startswith((key, family)):
                return key, facts
    return None, None
