from __future__ import annotations

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from plugins.tracing.protobuf import BYTES, VARINT, field, tag, varint


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**35, 2**63 - 1])
def test_a_number_is_read_as_it_was_written(number: int) -> None:
    encoded = tag(AnyValue.INT_VALUE_FIELD_NUMBER, VARINT) + varint(number)
    assert AnyValue.FromString(encoded) == AnyValue(int_value=number)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20_000])
def test_a_field_of_bytes(size: int) -> None:
    key = field(KeyValue.KEY_FIELD_NUMBER, b"k" * size)
    assert key[:1] == tag(KeyValue.KEY_FIELD_NUMBER, BYTES)
    assert KeyValue.FromString(key).key == "k" * size


def test_a_high_number_takes_two_bytes() -> None:
    assert tag(16, BYTES) == b"\x82\x01"
