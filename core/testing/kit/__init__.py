"""The conformance kit: every rule of an answer, run against one backend.

`facts.py` is what an author says of the engine, `engine.py` makes its bytes, `bench.py` serves them; the rules stand in
`reasoning` to `table`, `catalogue.py` has them all, `run.py` and `suite.py` run them.
"""
