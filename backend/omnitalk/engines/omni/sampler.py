"""A faster draw for the Thinker, pinned to vLLM-Omni 0.30, with the same probabilities.

0.30 draws a native-duplex token on the host's time: it divides the logits of every token of the last 512, one small GPU operation
each; it sorts all 151,748 logits to keep 20 of them; it waits for the GPU twice; and it asks the tokenizer for its special tokens
every time. Here the history is one indexed division, top-k comes before top-p on 20 values, and the host waits once. Which token
is drawn for a given seed differs (the generator is used in another order); how probable each is does not.
"""

import os
from typing import Any

__all__ = ["VARIABLE", "install", "probabilities"]

VARIABLE = "OMNITALK_FAST_SAMPLER"
"""``0`` leaves the engine's own draw in place."""

_PENALTY = 1.05
"""The released decoder's repetition penalty, as the engine has it."""


def probabilities(logits: Any, *, history: Any, forbidden: Any, temperature: Any, top_k: int, top_p: float) -> tuple[Any, Any]:
    """Probabilities (shape (k,)) and token ids (shape (k,)) of the ``top_k`` likeliest tokens, those beyond ``top_p`` at 0.

    ``logits``: (1, vocabulary). ``history``, ``forbidden``: token ids on the same device, each at most once.
    """
    import torch

    row = logits[0].clone()
    if forbidden.numel():
        row[forbidden] = float("-inf")
    if history.numel():
        row[history] /= _PENALTY
    values, ids = torch.topk(row / temperature, top_k)
    shares = torch.softmax(values, dim=-1)
    if 0.0 < top_p < 1.0:
        beyond = torch.cumsum(shares, dim=-1) > top_p
        # The token that crosses the mark is kept, and the first always.
        kept = torch.ones_like(beyond)
        kept[1:] = ~beyond[:-1]
        shares = shares * kept
        shares = shares / shares.sum()
    return shares, ids


def install() -> None:
    """Put it in place of the engine's draw; idempotent. Only in stage processes that our engine starts."""
    if os.environ.get(VARIABLE, "1") == "0":
        return
    import torch
    from vllm_omni.model_executor.models.minicpmo_4_5.duplex.policy import MiniCPMO45DuplexPolicy as Policy
    from vllm_omni.model_executor.models.minicpmo_4_5.minicpmo_4_5_omni import MiniCPMO45OmniForConditionalGeneration as Thinker

    if getattr(Thinker, "_omnitalk_fast", False):
        return
    Thinker._omnitalk_fast = True
    own = Thinker._sample_minicpmo45_native_duplex_row
    own_special = Thinker._minicpmo45_native_special_token_ids

    def special(self: Any, token_ids: dict[str, int]) -> set[int]:
        known: set[int] | None = self.__dict__.get("_omnitalk_special")
        if known is None:
            known = self.__dict__["_omnitalk_special"] = set(own_special(self, token_ids))
        return known

    def sample(self: Any, logits: Any, metadata: Any, *, row_idx: int, token_ids: dict[str, int]) -> int:
        end = token_ids.get("chunk_eos_token_id", -1)
        top_k = int(self._sampling_metadata_value(metadata, "top_k", row_idx, 100))
        greedy = getattr(metadata, "all_greedy", False)
        if greedy or not 0 < top_k < logits.shape[-1] or not 0 <= end < logits.shape[-1]:
            return int(own(self, logits, metadata, row_idx=row_idx, token_ids=token_ids))
        outputs = getattr(metadata, "output_token_ids", None) or []
        recent = [token for token in (outputs[row_idx] if row_idx < len(outputs) else []) if isinstance(token, int) and token >= 0]
        limit = int(getattr(self, "max_new_speak_tokens_per_chunk", 0) or Policy.DEFAULT_MAX_NEW_SPEAK_TOKENS_PER_CHUNK)
        asked = self._minicpmo45_duplex_row_request_max_tokens(row_idx)
        limit = min(limit, asked) if asked is not None else limit
        if len(recent) >= max(1, limit - 1):
            return end
        temperature = float(self._sampling_metadata_value(metadata, "temperature", row_idx, 0.7))
        if temperature <= 0:
            return int(own(self, logits, metadata, row_idx=row_idx, token_ids=token_ids))
        generator = getattr(metadata, "generators", {}).get(row_idx)
        state = self._minicpmo45_duplex_state_for_row(row_idx)
        said = getattr(state, "generated_tokens", None) or recent
        unique = {token for token in said[-Policy.REPETITION_HISTORY_SIZE :] if 0 <= token < logits.shape[-1]}
        banned = {token for token in self._minicpmo45_native_forbidden_token_ids(token_ids) if 0 <= token < logits.shape[-1]}
        shares, ids = probabilities(
            logits,
            history=torch.tensor(sorted(unique), dtype=torch.long, device=logits.device),
            forbidden=torch.tensor(sorted(banned), dtype=torch.long, device=logits.device),
            temperature=temperature,
            top_k=top_k,
            top_p=float(self._sampling_metadata_value(metadata, "top_p", row_idx, 0.8)),
        )
        # The model's own chunk boundary is drawn from the distribution as it is, before anything is masked.
        boundary = torch.multinomial(torch.softmax(logits[0], dim=-1), 1, generator=generator)
        choice = ids[torch.multinomial(shares, 1, generator=generator)]
        first, token = torch.cat((boundary, choice)).tolist()
        if first == end:
            return end
        self._record_minicpmo45_duplex_generation_token(row_idx, token)
        token = self._maybe_cut_minicpmo45_native_duplex_text_chunk(token, recent, token_ids)
        return int(self._finalize_minicpmo45_native_duplex_sample(row_idx, token, token_ids))

    Thinker._minicpmo45_native_special_token_ids = special
    Thinker._sample_minicpmo45_native_duplex_row = sample
