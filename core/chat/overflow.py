"""A prompt that is too long, said in the words on which clients act.

Claude Code compacts the conversation, lowers `max_tokens` or asks again with the cap, but only when it reads the
Messages API's own sentences. Engines say the same in their own (sources: vLLM 0.33, SGLang 0.5.23, llama.cpp, LMDeploy,
TensorRT-LLM, TGI, Ollama; documentation of OpenAI, Azure, DeepSeek, Mistral, OpenRouter, Groq, Gemini).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_N: Final = r"(?:about |at least )?(?P<{}>\d[\d,]*)"
_SAID: Final[tuple[str, ...]] = (
    # vLLM, OpenAI, Azure, DeepSeek, OpenRouter, TensorRT-LLM: the window first, then what was asked for
    (
        rf"maximum context length (?:is|of) {_N.format('window')} tokens?.*?"
        rf"requested {_N.format('output')} output tokens and your prompt contains {_N.format('prompt')} input tokens"
    ),
    (
        rf"maximum context length (?:is|of) {_N.format('window')} tokens?.*?"
        rf"requested (?:a total of )?{_N.format('total')} tokens(?: \(|: )"
        rf"{_N.format('prompt')}[^\d]+?{_N.format('output')}"
    ),
    (
        rf"maximum context length (?:is|of) {_N.format('window')} tokens?.*?"
        rf"(?:prompt contains|resulted in|messages contain|request has) {_N.format('prompt')} (?:input )?tokens"
    ),
    # SGLang
    rf"input \({_N.format('prompt')} tokens\) is longer than the model's context length \({_N.format('window')}",
    # LMDeploy
    rf"Input length \({_N.format('prompt')}\) must be smaller than the model context length \({_N.format('window')}",
    # TGI
    (
        r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<window>\d+)\. "
        r"Given: (?P<prompt>\d+) `inputs` tokens and (?P<output>\d+) `max_new_tokens`"
    ),
    r"`inputs` must have less than (?P<window>\d+) tokens\. Given: (?P<prompt>\d+)",
    # Mistral
    r"Prompt contains (?P<prompt>\d+) tokens.*?too large for model with (?P<window>\d+) maximum context length",
    # Gemini
    r"input token count \(?(?P<prompt>\d+)\)? exceeds the maximum number of tokens allowed \(?(?P<window>\d+)",
    # llama.cpp, newer
    r"request \((?P<prompt>\d+) tokens\) exceeds the available context size \((?P<window>\d+) tokens\)",
)
_PATTERNS: Final = tuple(re.compile(said, re.IGNORECASE | re.DOTALL) for said in _SAID)
_CAP: Final = re.compile(
    r"max_(?:completion_)?tokens[`'\"]?(?: is too large: |=)(?P<asked>\d+)"
    r".*?(?:supports at most |greater than max_model_len(?:=max_total_tokens)?=)(?P<cap>\d+)",
    re.DOTALL,
)
_WITHOUT_NUMBERS: Final = re.compile(
    r"context[_ ]length[_ ]exceeded|exceed_context_size|exceeds? the (?:available |model's |maximum )*context"
    r"|maximum context length|prompt (?:is )?too long|input length exceeds|reduce the length of the (?:messages|input)"
    r"|greater than the context length",
    re.IGNORECASE,
)


def overflow(message: str, word: str = "", fields: Mapping[str, Any] | None = None) -> str | None:
    """The Messages API's sentence for an engine's error about length, or None when it is about something else.

    `word` is the error's type and code; `fields` the error object, where llama.cpp puts `n_prompt_tokens` and `n_ctx`.
    """
    found = next((match for pattern in _PATTERNS if (match := pattern.search(message))), None)
    numbers = {key: _number(value) for key, value in found.groupdict().items()} if found else _told(fields or {})
    window, prompt, output = (numbers.get(key, 0) for key in ("window", "prompt", "output"))
    if window and prompt and output and prompt + output > window >= prompt:
        return (
            f"input length and `max_tokens` exceed context limit: {prompt} + {output} > {window}, "
            "decrease input length or `max_tokens` and try again"
        )
    if window and prompt:
        return f"prompt is too long: {prompt} tokens > {window} maximum"
    if cap := _CAP.search(message):
        asked, most = cap["asked"], cap["cap"]
        return f"max_tokens: {asked} > {most}, which is the maximum allowed number of output tokens for this model"
    if _WITHOUT_NUMBERS.search(f"{word} {message}"):
        return f"prompt is too long: {message}" if message else "prompt is too long"
    return None


def _told(fields: Mapping[str, Any]) -> dict[str, int]:
    prompt, window = fields.get("n_prompt_tokens"), fields.get("n_ctx")
    return {"prompt": prompt, "window": window} if isinstance(prompt, int) and isinstance(window, int) else {}


def _number(text: str) -> int:
    return int(text.replace(",", ""))
