from __future__ import annotations

from importlib.metadata import version
from typing import Any, ClassVar

import pytest

from core import contract
from core.config.faults import TableError
from core.contract import CONTRACT, OLDEST, check_contract, contract_of, served


class Old:
    """Says nothing: made for the first contract."""


def made_for(number: Any) -> type:
    return type("Made", (), {"contract": number})


class Now:
    contract: ClassVar[int] = CONTRACT


def test_without_a_word_it_is_the_first() -> None:
    assert contract_of(Old) == 1
    assert contract_of(Now) == CONTRACT


def test_a_served_contract_passes() -> None:
    for number in range(OLDEST, CONTRACT + 1):
        check_contract("plugin 'x'", made_for(number))


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (CONTRACT + 1, "install a newer hookline or an older plugin"),
        (OLDEST - 1, "install a newer plugin or an older hookline"),
    ],
)
def test_another_contract_is_refused_with_both_versions(number: int, advice: str) -> None:
    with pytest.raises(TableError) as caught:
        check_contract("plugin 'parrot' of hookline-parrot 0.3", made_for(number))
    assert caught.value.message == (
        f"plugin 'parrot' of hookline-parrot 0.3 was made for contract {number}, "
        f"but hookline {version('hookline')} serves {served()}"
    )
    assert caught.value.hint == advice


@pytest.mark.parametrize("number", ["1", None, True, 1.0])
def test_what_is_no_number_is_refused(number: Any) -> None:
    with pytest.raises(TableError, match=r"^plugin 'x': contract is not a whole number: "):
        check_contract("plugin 'x'", made_for(number))


def test_a_range_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "CONTRACT", 3)
    assert served() == "contracts 1 to 3"
