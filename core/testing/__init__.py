"""The test kit, for plugin authors and for hookline itself.

An upstream on a socket (`MockUpstream`), one in process (`replay`), upstream answers as values (`UpstreamAnswer`), the
check that the cutting of the wire changes nothing (`assert_split_invariant`), and `fold`, which reads an answer as
clients do. `conformance` and `BackendConformance` run every rule against one backend. Hypothesis strategies are in
`core.testing.strategies`, which alone needs `hypothesis`.
"""

from core.captured import Captured
from core.testing.answers import USAGE, ChunkShape, Framing, UpstreamAnswer, UpstreamToolCall
from core.testing.assemble import Assembly
from core.testing.broken import BrokenAnswer, error_bodies
from core.testing.exchange import Exchange
from core.testing.fold import fold, fold_json
from core.testing.fold_checks import Folded
from core.testing.kit.facts import MATCH, EngineFacts
from core.testing.kit.report import Failure, Report
from core.testing.kit.run import conformance
from core.testing.kit.suite import BackendConformance
from core.testing.replay import Replayer, Reply, replay, replayer
from core.testing.split import Mode, assert_split_invariant
from core.testing.upstream import MockUpstream
from core.testing.upstream_reply import UpstreamReply

__all__ = [
    "MATCH",
    "USAGE",
    "Assembly",
    "BackendConformance",
    "BrokenAnswer",
    "Captured",
    "ChunkShape",
    "EngineFacts",
    "Exchange",
    "Failure",
    "Folded",
    "Framing",
    "MockUpstream",
    "Mode",
    "Replayer",
    "Reply",
    "Report",
    "UpstreamAnswer",
    "UpstreamReply",
    "UpstreamToolCall",
    "assert_split_invariant",
    "conformance",
    "error_bodies",
    "fold",
    "fold_json",
    "replay",
    "replayer",
]
