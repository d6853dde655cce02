"""``POST /v1/chat/completions``: what a request says (``wire``, ``reading``), and the answer as OpenAI and as vLLM-Omni write it."""
