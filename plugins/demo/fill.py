"""A JSON value that keeps to a JSON schema, its parts taken from a text where the text has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

DEPTH = 12
"""How deep a schema is followed; below that everything is empty."""
CLIP = 200
"""The longest string, in characters, that is taken from a text."""

_PLACES = frozenset({"city", "country", "location", "place", "region", "state", "town", "where"})
_QUOTED = r"\"([^\"\n]{1,200})\"|'([^'\n]{1,200})'|`([^`\n]{1,200})`"
_BARE = r"([^\s,;\"'`][^,;\n]{0,200}?)(?=\s+(?:and|then)\b|[,;\n]|[.!?]+(?:\s|$)|\s*$)"
_PLACE = re.compile(rf"\b(?:in|at|for)\s+{_BARE}", re.IGNORECASE)
_TIME_WORD = re.compile(r"\s+(?:now|please|right now|today|tomorrow|tonight)$", re.IGNORECASE)
_NUMBER = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")


def fill(schema: object, text: str) -> Any:
    """A value for the schema. It is a dict where the schema asks for an object or does not say."""
    return _Filler(schema, text).value(schema, "", 0)


def _found(match: re.Match[str] | None) -> str | None:
    """The group that matched."""
    return next(group for group in match.groups() if group is not None) if match else None


@attrs.frozen
class _Filler:
    root: object
    text: str

    def value(self, schema: object, name: str, depth: int) -> Any:
        """A value for the part of the schema that describes `name`."""
        schema = self._chosen(schema, depth)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        options = schema.get("enum")
        if isinstance(options, list) and options:
            return next((one for one in options if isinstance(one, str) and one and one in self.text), options[0])
        match _type(schema, depth):
            case "object":
                return self._object(schema, depth)
            case "array":
                least = schema.get("minItems")
                filled = isinstance(least, int) and least > 0 and depth < DEPTH
                return [self.value(schema.get("items"), name, depth + 1)] if filled else []
            case "string":
                return self._string(name)
            case "integer" | "number" as kind:
                return self._number(schema, name, whole=kind == "integer")
            case "boolean":
                return self._said(name) not in {"false", "no", "off"}
        return None

    def _object(self, schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, dict) or depth >= DEPTH:
            return {}
        required = schema.get("required")
        wanted = required if isinstance(required, list) else []
        return {
            name: self.value(part, name, depth + 1)
            for name, part in properties.items()
            if name in wanted or self._said(name) is not None
        }

    def _string(self, name: str) -> str:
        place = _found(_PLACE.search(self.text)) if name.lower() in _PLACES else None
        if place:
            place = _TIME_WORD.sub("", place)
        return self._said(name) or place or _found(re.search(_QUOTED, self.text)) or self.text.strip()[:CLIP]

    def _number(self, schema: Mapping[str, Any], name: str, *, whole: bool) -> int | float:
        match = _NUMBER.search(self._said(name) or "") or _NUMBER.search(self.text)
        if match:
            return int(float(match[0])) if whole else float(match[0])
        least = schema.get("minimum")
        return least if isinstance(least, int | float) else 1

    def _said(self, name: str) -> str | None:
        """What the text gives for a name: "city Paris", "city=Paris", "city: 'New York'"."""
        if not name or name not in self.text:
            return None
        return _found(re.search(rf"(?<!\w){re.escape(name)}(?:\s*[=:]\s*|\s+)(?:{_QUOTED}|{_BARE})", self.text))

    def _chosen(self, schema: object, depth: int) -> Mapping[str, Any]:
        """The schema itself, or what it refers to, or its first alternative that is not null."""
        for _ in range(DEPTH - min(depth, DEPTH)):
            if not isinstance(schema, dict):
                break
            following = self._reference(schema.get("$ref")) or _alternative(schema)
            if following is None:
                return schema
            schema = following
        return {}

    def _reference(self, reference: object) -> object:
        found = self.root
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        for part in reference[2:].split("/"):
            found = found.get(part) if isinstance(found, dict) else None
        return found


def _alternative(schema: Mapping[str, Any]) -> object:
    for key in ("anyOf", "oneOf", "allOf"):
        options = schema.get(key)
        if isinstance(options, list):
            return next((one for one in options if isinstance(one, dict) and one.get("type") != "null"), None)
    return None


def _type(schema: Mapping[str, Any], depth: int) -> object:
    """The schema's type, the first that is not null; not given, it is "object" for the root and what has properties."""
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return kind or ("object" if depth == 0 or "properties" in schema else "string")
