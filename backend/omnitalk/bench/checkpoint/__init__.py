"""A MiniCPM-o 4.5 model folder with random weights, tiny or full size, made here from nothing.

Who cannot download the released weights can still run the real engine on it: tests do on a CPU (``TINY``), ``scripts/gpu_bench``
does on a GPU (``FULL``). The tokenizer, the processor and the configuration are this project's own; only the names and numbers
that the engine looks up (special tokens and their ids, sizes of layers) are those of the released model.
"""

from .build import FULL, TINY, Size, build
from .tokenizer import REPLY_WORDS, word_id

__all__ = ["FULL", "REPLY_WORDS", "TINY", "Size", "build", "word_id"]
