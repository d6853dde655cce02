"""The faster draw gives every token the same probability as the engine's own."""

import torch
import torch.nn.functional as functional
from omnitalk.engines.omni.sampler import probabilities
from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni import MiniCPMO45OmniForConditionalGeneration as Thinker

VOCABULARY = 5_000


def engines_own(
    logits: torch.Tensor, history: list[int], forbidden: list[int], temperature: float, top_k: int, top_p: float
) -> torch.Tensor:
    """As vLLM-Omni 0.30 does it, with its own filter; shape (vocabulary,)."""
    row = logits.clone()
    row[:, forbidden] = float("-inf")
    for token in set(history):
        row[0, token] /= 1.05
    filtered = Thinker._top_k_top_p_filter(row / temperature, top_k=top_k, top_p=top_p)
    return functional.softmax(filtered, dim=-1)[0]


def test_probabilities_are_the_engines() -> None:
    generator = torch.Generator().manual_seed(3)
    for case in range(40):
        logits = torch.randn(1, VOCABULARY, generator=generator) * (1 + case % 5)
        history = torch.randperm(VOCABULARY, generator=generator)[: 30 * (case % 10)]
        forbidden = torch.randperm(VOCABULARY, generator=generator)[:3]
        top_k, top_p, temperature = (20, 100, 5)[case % 3], (0.8, 1.0, 0.3)[case % 3], (0.7, 1.0)[case % 2]
        shares, ids = probabilities(logits, history=history, forbidden=forbidden, temperature=temperature, top_k=top_k, top_p=top_p)
        ours = torch.zeros(VOCABULARY).scatter_(0, ids, shares)
        theirs = engines_own(logits, history.tolist(), forbidden.tolist(), temperature, top_k, top_p)
        assert torch.allclose(ours, theirs, atol=1e-6), case


def test_a_unit_that_must_listen_still_does() -> None:
    logits = torch.full((1, VOCABULARY), float("-inf"))
    logits[0, 42] = 0.0
    none = torch.tensor([], dtype=torch.long)
    shares, ids = probabilities(logits, history=none, forbidden=none, temperature=0.7, top_k=20, top_p=0.8)
    assert ids[shares.argmax()] == 42
    assert shares.max() == 1.0
