"""A plugin's table -> the plugin: an instance of its attrs class, whose fields are the options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import cattrs

from core.config.faults import TableError, dotted
from core.config.tables import structure
from core.errors import ConfigError

_WHOLE = "hookline.whole_table"


def whole_table(**arguments: Any) -> Any:
    """An attrs field that takes the plugin's whole table, for a table whose keys are free (`[models]` has such).

    The field is a mapping, empty without a table, and the class's only option; `arguments` go to `attrs.field`.
    """
    metadata = {**arguments.pop("metadata", {}), _WHOLE: True}
    return attrs.field(factory=dict, metadata=metadata, **arguments)


def whole_field(cls: type) -> attrs.Attribute[Any] | None:
    """The field of an attrs class that takes the whole table, if it has one."""
    return next((field for field in attrs.fields(cls) if field.metadata.get(_WHOLE)), None)


def make_plugin(converter: cattrs.Converter, name: str, cls: type, table: Mapping[str, Any]) -> object:
    """An instance of the class with the table's options.

    Raises TableError for an option that is unknown, missing or of the wrong type, and for a class that cannot be made.
    A ConfigError of the class's own leaves as it is.
    """
    if not attrs.has(cls):
        if table:
            raise TableError(f"plugin {name!r} takes no options", key=dotted(next(iter(table))))
        return _made(name, cls, {})
    try:
        fields = attrs.fields(attrs.resolve_types(cls))
    except NameError as error:
        raise TableError(
            f"plugin {name!r} has a field whose type is not defined when it runs: {error}",
            hint="import the type outside `if TYPE_CHECKING:`",
        ) from error
    if (whole := whole_field(cls)) is not None:
        return _made(name, cls, {str(whole.alias): structure(converter, dict(table), whole.type or dict)})
    if not table and not any(field.init and field.default is attrs.NOTHING for field in fields):
        return _made(name, cls, {})
    return structure(converter, dict(table), cls)


def _made(name: str, cls: type, arguments: Mapping[str, Any]) -> object:
    try:
        return cls(**arguments)
    except ConfigError:
        raise
    except Exception as error:
        text = f": {error}" if str(error) else ""
        raise TableError(f"plugin {name!r} cannot be made: {type(error).__name__}{text}") from error
