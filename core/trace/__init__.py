"""One request through a pipeline, with a look at what each plugin's hook took and gave: what `hookline trace` shows."""

from core.trace.run import Outcome, run_traced
from core.trace.words import Step, Tell, line_of

__all__ = ["Outcome", "Step", "Tell", "line_of", "run_traced"]
