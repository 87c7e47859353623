"""Attributes that lead to others."""

from dataclasses import dataclass
from types import FunctionType

import pytest

from coordinator.core.attributes import attribute
from coordinator.core.consumer.group import ConsumerGroup
from coordinator.core.consumer.member import ConsumerMember
from coordinator.core.share.group import ShareGroup
from coordinator.core.share.member import ShareMember
from coordinator.core.streams.group import StreamsGroup
from coordinator.core.streams.member import StreamsMember


@dataclass
class Inner:
    name: str


@dataclass(slots=True)
class Outer:
    inner: Inner
    name = attribute("inner.name")
    same = attribute("inner")


def test_an_attribute_has_what_its_path_leads_to() -> None:
    outer = Outer(Inner("first"))
    assert (outer.name, outer.same) == ("first", outer.inner)
    outer.inner = Inner("second")
    assert outer.name == "second"


def test_an_attribute_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Outer(Inner("first")).name = "second"


@pytest.mark.parametrize(
    "made", [Outer, ConsumerGroup, ConsumerMember, ShareGroup, ShareMember, StreamsGroup, StreamsMember]
)
def test_a_dataclass_with_slots_has_only_properties_that_are_functions(made: type) -> None:
    """Python 3.13 looks into their code when it makes the class: the server did not start there."""
    properties = [each for base in made.__mro__ for each in vars(base).values() if isinstance(each, property)]
    assert all(isinstance(each.fget, FunctionType) for each in properties)
