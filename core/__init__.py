"""hookline's public API, together with `core.chat` and `core.testing`: the marker, the values, the errors.

Anything that cannot be imported from these three places is private and may change in any release.
"""

from core.config import Config, Secret
from core.config.options import whole_table
from core.contract import CONTRACT
from core.deltas import Delta, Model, State, Stop, Text, Thinking, ToolUse, Usage
from core.errors import ConfigError, GatewayError, Kind, RequestError, UpstreamError
from core.estimate import TokenEstimate, estimate_input_tokens, estimate_tokens
from core.hookspecs import Answer, Chunk, ContentTranslator, StopTranslator, UpstreamCall, hookimpl
from core.identity import fresh_id
from core.page import Page
from core.record import Record
from core.request import (
    Block,
    DocumentBlock,
    HTTPRequest,
    ImageBlock,
    Message,
    OtherBlock,
    OtherTool,
    RedactedThinkingBlock,
    Request,
    SearchResultBlock,
    Task,
    TextBlock,
    ThinkingBlock,
    ThinkingConfig,
    Tool,
    ToolChoice,
    ToolReferenceBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from core.route import Candidate, Route
from core.traffic import Traffic

__all__ = [
    "CONTRACT",
    "Answer",
    "Block",
    "Candidate",
    "Chunk",
    "Config",
    "ConfigError",
    "ContentTranslator",
    "Delta",
    "DocumentBlock",
    "GatewayError",
    "HTTPRequest",
    "ImageBlock",
    "Kind",
    "Message",
    "Model",
    "OtherBlock",
    "OtherTool",
    "Page",
    "Record",
    "RedactedThinkingBlock",
    "Request",
    "RequestError",
    "Route",
    "SearchResultBlock",
    "Secret",
    "State",
    "Stop",
    "StopTranslator",
    "Task",
    "Text",
    "TextBlock",
    "Thinking",
    "ThinkingBlock",
    "ThinkingConfig",
    "TokenEstimate",
    "Tool",
    "ToolChoice",
    "ToolReferenceBlock",
    "ToolResultBlock",
    "ToolUse",
    "ToolUseBlock",
    "Traffic",
    "UpstreamCall",
    "UpstreamError",
    "Usage",
    "estimate_input_tokens",
    "estimate_tokens",
    "fresh_id",
    "hookimpl",
    "whole_table",
]
