"""How engines say that a prompt or a token limit is too long, and the numbers in what they say.

Sources: vLLM 0.33 and before, SGLang 0.5.23, llama.cpp, llama-cpp-python, LMDeploy, TensorRT-LLM, TGI, Ollama;
documentation and clients' issues of LM Studio, OpenAI, Azure, DeepSeek, Mistral, OpenRouter, Groq, Gemini, DashScope.
"""

from __future__ import annotations

import re
from typing import Final

import attrs

_WINDOW: Final = "maximum context length (?:is|of) <window> tokens?.*?"
_SAID: Final[tuple[str, ...]] = (
    # vLLM, OpenAI, Azure, DeepSeek, OpenRouter, TensorRT-LLM, SGLang: the window first, then what was asked for
    _WINDOW + "requested <output> output tokens and your prompt contains <prompt> input tokens",
    r"too large: <output>\. This model's " + _WINDOW + "request has <prompt> input tokens",
    _WINDOW + r"requested (?:a total of )?<total> tokens(?: \(|: )(?P<parts>[^).]+)",
    _WINDOW + "(?:prompt contains|resulted in|messages contain|request has) <prompt> (?:input )?tokens",
    r"exceed the configured limit of <window> tokens\..*?resulted in <prompt> tokens",
    # vLLM's engine
    r"prompt \((?:total )?length <prompt>\) is longer than the maximum model length of <window>",
    r"prompt \((?:total )?length <prompt>\) is too long to fit into the model \(context length <window>",
    r"input prompt \(<prompt> tokens\) is too long and exceeds limit of <window>",
    # SGLang
    r"input \(<prompt> tokens\) is longer than the model's context length \(<window>",
    r"input length \(<prompt> tokens\) exceeds the maximum allowed length \(<window>",
    # LMDeploy
    r"input length \(<prompt>\) must be smaller than the model context length \(<window>",
    # TensorRT-LLM
    r"sum of prompt length \(<prompt>\)[^.]*?max_tokens \(<output>\) should not exceed max_seq_len \(<window>",
    r"sum of prompt length \(<prompt>\).*?should not exceed max_\w+ \(<window>",
    r"must be greater than 0.*?max_seq_len \(<window>\) - `splited_prompt_len` \(<prompt>",
    # TGI
    r"`max_new_tokens` must be <= <window>\. Given: <prompt> `inputs` tokens and <output> `max_new_tokens`",
    r"`inputs` must have less than <window> tokens\. Given: <prompt>",
    # Mistral
    "prompt contains <prompt> tokens.*?too large for model with <window> maximum context length",
    # Gemini
    r"input token count \(?<prompt>\)? exceeds the maximum number of tokens allowed \(?<window>",
    # llama.cpp, llama-cpp-python, LM Studio
    r"request \(<prompt> tokens\) exceeds the available context size \(<window> tokens\)",
    r"requested tokens \(<prompt>\) exceed context window of <window>",
    r"keep the first <prompt> tokens when .{0,20}overflows.*?context length of only <window> tokens",
    r"n_keep: <prompt> ?>= n_ctx: <window>",
)
_CAPS: Final[tuple[str, ...]] = (
    # OpenAI, vLLM
    r"max_(?:completion_)?tokens[`'\"]? is too large: <asked>.*?supports at most <cap>",
    r"max_(?:completion_)?tokens=<asked>.*?greater than max_model_len(?:=max_total_tokens)?=<cap>",
    # DeepSeek, DashScope
    r"range of max_(?:completion_)?tokens (?:is|should be) \[\d+, ?<cap>\]",
    # Groq, Mistral
    r"max_(?:completion_)?tokens[`'\"]?:? (?:must|input should) be less than or equal to [`'\"]?<cap>",
    # Gemini
    r"maxOutputTokens value of <asked> but the supported range is from \d+ \(inclusive\) to <above> \(exclusive\)",
)
_WITHOUT_NUMBERS: Final = re.compile(
    r"context[_ ]length[_ ]exceeded|exceed_context_size|exceeds? the (?:available |model's |maximum )*context"
    r"|maximum context length|(?:prompt|input) (?:is )?too long|input length exceeds|greater than the context length"
    r"|reduce the length of the (?:messages|input)|exceed context window|reached context length of"
    r"|input token count exceeds the maximum number|range of input length should be|input tokens exceed the configured",
    re.IGNORECASE,
)
_PART: Final = re.compile(r"(\d[\d,]*)([^\d]*)")


def _pattern(said: str) -> re.Pattern[str]:
    """A wording as a pattern: `<name>` stands for a number, to be found in the group of that name."""
    numbered = re.sub(r"<(\w+)>", r"(?:about |at least )?(?P<\1>\\d[\\d,]*)(?:\\.\\d+)?", said.replace("(?P<", "\0"))
    return re.compile(numbered.replace("\0", "(?P<"), re.IGNORECASE | re.DOTALL)


_PATTERNS: Final = tuple(_pattern(said) for said in _SAID)
_CAP_PATTERNS: Final = tuple(_pattern(said) for said in _CAPS)


@attrs.frozen
class Length:
    """Tokens: what the prompt has, what was asked for on top of it, and what both together may have; 0: not said."""

    prompt: int = 0
    output: int = 0
    window: int = 0


def length_in(message: str) -> Length:
    """The numbers of a sentence about a prompt that is too long; of any other sentence, none."""
    for pattern in _PATTERNS:
        if match := pattern.search(message):
            found = match.groupdict()
            prompt, output = _summed(found["parts"]) if "parts" in found else (found["prompt"], found.get("output"))
            return Length(_number(prompt), _number(output), _number(found["window"]))
    return Length()


def cap_in(message: str) -> tuple[int, int]:
    """The token limit that was asked for (0: not said) and the most that may be; (0, 0) for any other sentence."""
    for pattern in _CAP_PATTERNS:
        if match := pattern.search(message):
            found = match.groupdict()
            cap = _number(found["cap"]) if "cap" in found else _number(found["above"]) - 1
            return _number(found.get("asked")), cap
    return 0, 0


def speaks_of_length(text: str) -> bool:
    """Whether a sentence, an error's type or its code says that a prompt is too long, with numbers or without."""
    return bool(_WITHOUT_NUMBERS.search(text))


def _summed(parts: str) -> tuple[int, int]:
    """Prompt and output of "5000 in the messages, 1000 in the functions, and 4000 in the completion"."""
    prompt = output = 0
    for number, label in _PART.findall(parts):
        if re.search("output|completion", label, re.IGNORECASE):
            output += _number(number)
        else:
            prompt += _number(number)
    return prompt, output


def _number(text: str | int | None) -> int:
    return int(text.replace(",", "")) if isinstance(text, str) else text or 0
