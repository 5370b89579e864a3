"""Frozen models of a term: how they are saved, found and replaced."""

from cases import cases

from replicse.registry.frozen import FrozenModel, frozen_models, with_frozen
from replicse.registry.terms import TermParameters

RTD = {"term": "rtd", "generator": {"backbone": "small"}}


@cases
def test_a_folder_alone_is_written_as_its_text(given, written):
    model = FrozenModel.of(given, "here")
    assert model.plain() == written and FrozenModel.of(model.plain(), "here") == model


def test_they_are_found_and_replaced_wherever_they_stand():
    terms = tuple(TermParameters.of(each, "here") for each in (RTD, {"term": "infonce"}, RTD))
    assert [model.name for model in frozen_models(terms)] == ["small", "small"]
    assert frozen_models(terms[1]) == [] and with_frozen(terms[1], lambda model: model) is terms[1]
    assert with_frozen(terms, lambda model: model) is terms
    changed = with_frozen({"terms": terms}, lambda model: FrozenModel(folder=f"x/{model.backbone}"))
    assert [model.folder for model in frozen_models(changed)] == ["x/small", "x/small"]
    assert changed["terms"][1] is terms[1] and changed["terms"][0].plain()["generator"] == "x/small"


def test_a_recipe_without_its_paper_is_of_the_paper_that_names_it():
    model = FrozenModel(use="unsup")
    assert model.of_paper("simcse").use == "simcse/unsup"
    for other in (FrozenModel(use="diffcse/plain"), FrozenModel(backbone="unsup")):
        assert other.of_paper("simcse") is other
