from __future__ import annotations

from typing import ClassVar

import attrs

from core.chat import Dialect
from core.config import BackendConfig, PipelineConfig
from core.config.help import help_of


@attrs.frozen
class Base:
    word: str = "a"
    """The word
    of the base."""
    other: int = 0


@attrs.frozen
class Option(Base):
    name: ClassVar[str] = "x"
    """No field."""
    told: str = attrs.field(default="", metadata={"help": "from  the\nmetadata"})
    """Not from here."""
    silent: int = 0


def test_texts_stand_under_the_field_or_in_its_metadata() -> None:
    assert help_of(Option) == {
        "word": "The word of the base.",
        "told": "from the metadata",
        "name": "No field.",
    }


def test_a_class_without_source_has_no_texts() -> None:
    assert help_of(attrs.make_class("Made", ["x"])) == {}


def test_every_key_of_a_table_has_its_text() -> None:
    for cls, without in (
        (Dialect, set()),
        (BackendConfig, {"name"}),
        (PipelineConfig, {"name"}),
    ):
        assert {field.name for field in attrs.fields(cls)} - without == set(help_of(cls))
