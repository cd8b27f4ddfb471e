"""The toolkit for backends that speak chat completions: a dialect, a call, translators."""

from core.chat.body import chat_body, merge
from core.chat.call import Call
from core.chat.chunks import ChunkReader
from core.chat.client import UpstreamClient
from core.chat.completion import Chunk, one_chunk, the_choice, the_delta
from core.chat.content import Content
from core.chat.dialect import Dialect
from core.chat.echo import without_echo
from core.chat.known import LLAMA_CPP
from core.chat.lenient import LenientCall
from core.chat.listing import served_models
from core.chat.problems import Problem, ProblemField, Problems
from core.chat.reasoning import Reasoning, ReasoningField
from core.chat.recording import RecordedCall, Recorder, RecordingTransport, ReplayTransport
from core.chat.stops import FinishReason, StopField, StopKind, VerboseStop
from core.chat.transport import direct_transport
from core.chat.usage import Counts, UsageField

__all__ = [
    "LLAMA_CPP",
    "Call",
    "Chunk",
    "ChunkReader",
    "Content",
    "Counts",
    "Dialect",
    "FinishReason",
    "LenientCall",
    "Problem",
    "ProblemField",
    "Problems",
    "Reasoning",
    "ReasoningField",
    "RecordedCall",
    "Recorder",
    "RecordingTransport",
    "ReplayTransport",
    "StopField",
    "StopKind",
    "UpstreamClient",
    "UsageField",
    "VerboseStop",
    "chat_body",
    "direct_transport",
    "merge",
    "one_chunk",
    "served_models",
    "the_choice",
    "the_delta",
    "without_echo",
]
