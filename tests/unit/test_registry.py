"""The registry: a class with a single name is an entry."""

import sys
from pkgutil import resolve_name
from typing import ClassVar, Literal

import pytest
from pydantic import TypeAdapter, ValidationError

from replicse.registry.corpora import CorpusFormat
from replicse.registry.encoders import PostprocessingParameters
from replicse.registry.entries import Entry
from replicse.registry.registry import Registry, current
from replicse.registry.terms import TermParameters


class Shape(Entry):
    key: ClassVar[str] = "shape"
    home: ClassVar[str] = "shapes"
    shape: str


class Round(Shape):
    width: int = 1


class Circle(Round):
    shape: Literal["circle"]


class Square(Shape):
    shape: Literal["square"]


@pytest.fixture(autouse=True)
def _shapes(monkeypatch):
    monkeypatch.setattr(Registry, "in_use", current().joined(__name__, [sys.modules[__name__]], {}, {}))


def test_a_class_with_a_name_of_its_own_is_an_entry_and_what_several_share_is_none():
    assert Shape.known() == Circle.known() == {"circle": Circle, "square": Square}
    assert Circle.implementation == "shapes:circle"
    assert Shape.known().keys().isdisjoint(TermParameters.known())
    shape = TypeAdapter(Shape)
    assert shape.validate_python({"shape": "circle", "width": 2}) == Circle(shape="circle", width=2)
    with pytest.raises(ValidationError, match="'circle', 'square'"):
        shape.validate_python({"shape": "triangle"})


@pytest.mark.parametrize("registry", [TermParameters, PostprocessingParameters, CorpusFormat])
def test_every_entry_has_its_code(registry):
    classes = [resolve_name(entry.implementation) for entry in registry.known().values()]
    assert classes and len(set(classes)) == len(classes)
