"""A small byte-level tokenizer with MiniCPM-o 4.5's special tokens at their own ids."""

import json
from pathlib import Path

__all__ = ["REPLY_WORDS", "VOCAB_SIZE", "special_tokens", "word_id", "write"]

VOCAB_SIZE = 151_748

# Words that a scripted reply is made of, one token each, so that the text of a unit stays within the engine's limit of 28 characters.
REPLY_WORDS = (" One", " fine", " day", " the", " old", " keeper", " of", " the light", " saw", " seven", " ships", " at", " sea.")
_FIRST_WORD = 1_000


def special_tokens() -> dict[str, int]:
    """Token → id, as in the released model's tokenizer; ``<unk>`` is ours (there it is part of the base vocabulary)."""
    table: dict[str, int] = json.loads((Path(__file__).parent / "special_tokens.json").read_text())
    return table


def word_id(index: int) -> int:
    """Token id of ``REPLY_WORDS[index % len(REPLY_WORDS)]``."""
    return _FIRST_WORD + index % len(REPLY_WORDS)


def _spelt(number: int) -> str:
    """The number in letters: a, b, … z, ba, bb, …"""
    letters = ""
    while number or not letters:
        number, digit = divmod(number, 26)
        letters = chr(ord("a") + digit) + letters
    return "z" + letters


def write(folder: Path) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json`` into ``folder``. Text becomes one token a byte."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    special = special_tokens()
    vocab = {symbol: number for number, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    # The byte-level alphabet writes a space as Ġ.
    vocab.update({word.replace(" ", "Ġ"): word_id(index) for index, word in enumerate(REPLY_WORDS)})
    vocab.update(special)
    # Random weights draw any number: each must have a word of its own.
    taken = set(vocab.values())
    vocab.update({f"Ġ{_spelt(number)}": number for number in range(VOCAB_SIZE) if number not in taken})
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 40_960,
        "bos_token": "<|im_start|>",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "unk_token": "<unk>",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))
