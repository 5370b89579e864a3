"""Methods across studies, each in a line, and effects."""

from places import ROOT

from replicse.cli.render import committed_methods


def test_methods_of_the_committed_studies(monkeypatch):
    monkeypatch.chdir(ROOT)
    found = committed_methods(ROOT / "workflow")
    columns = {name: head.metric_path for name, head in found.columns.items()}
    assert columns["followups"] == "sts/avg" and columns["compact"] == "sts-dev/STS-B/all"
    assert "reference" not in columns, "it trains nothing"
    methods = {method.recipe: method for method in found.methods}
    assert found.shared is methods["simcse/unsup"] and found.shared.label == "Unsupervised SimCSE"
    assert set(found.shared.results) == {"causes", "compact", "followups", "minilm"}
    crop = methods["simcse/crop-20"].results
    assert {name: round(result.effect.ours.mean, 1) for name, result in crop.items()} == {
        "compact": 3.9,
        "followups": 3.4,
    }
    # Rows with the same runs are listed as a single method. The table with an effect is used.
    bare = methods["simcse/unsup, dropout.hidden 0.0, dropout.attention 0.0"]
    assert (
        bare.label == "No dropout"
        and bare.results["compact"].effect.over == "over 9 pairs of backbone and seed"
    )
    # An effect should not be used if the baseline is another method.
    assert methods["twotier/multitask"].results["twotier"].effect is None
