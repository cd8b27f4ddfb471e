"""What each field of an attrs class is: `metadata={"help": …}`, or the string under the field in the source."""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Mapping

import attrs


def help_of(cls: type) -> Mapping[str, str]:
    """The texts by field's name, one line each; a field without a text is not in it."""
    texts: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if attrs.has(each):
            texts.update(_under_fields(each))
    for field in attrs.fields(cls):
        told = field.metadata.get("help")
        if isinstance(told, str) and told:
            texts[field.name] = " ".join(told.split())
    return texts


def _under_fields(cls: type) -> dict[str, str]:
    """The strings that stand right under annotated fields in the class's source; {} where there is no source."""
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    found = {}
    body = node.body if isinstance(node, ast.ClassDef) else []
    for field, under in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(under, ast.Expr):
            value = under.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[field.target.id] = " ".join(value.value.split())
    return found
