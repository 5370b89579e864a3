"""DiffCSE's recipes, compared with the script and the tables."""

from collected import printed_of
from planned import shipped_plan

from replicse.compile.recipes import merge_recipe


def rtd_of(run):
    (term,) = [term for term in run.objective if term.term == "rtd"]
    return term


def test_the_recipes_are_those_of_the_script_and_of_tables_12_and_13():
    printed = {key: row["value"] for key, row in printed_of("diffcse").items()}
    papers = shipped_plan(scale="paper", papers={"diffcse": "all"}, adjudicate="all").papers
    for item, task in (("table12", ""), ("table13", "-transfer")):
        for backbone in ("bert-base", "roberta-base"):
            name = {"bert-base": "diffcse"}.get(backbone, f"diffcse-{backbone}")
            recipe = merge_recipe(papers, "diffcse", name + task, "test")
            chosen = {
                "learning-rate": recipe.optimisation.learning_rate,
                "masking-ratio": rtd_of(recipe).ratio,
                "lambda": rtd_of(recipe).weight,
            }
            for column, value in chosen.items():
                assert float(printed[item, f"diffcse-{backbone}", column]) == value


def test_the_main_run_is_that_of_the_script():
    script = {
        column: row["value"] for (item, _, column), row in printed_of("diffcse").items() if item == "script"
    }
    plan = shipped_plan(scale="paper", papers={"diffcse": "all"}, adjudicate="all")
    cells = plan.described("diffcse/table1")
    (encoder,) = next(cell.encoders for cell in cells if cell.row.id == "diffcse-bert-base")
    run = plan.runs[plan.encoders[encoder].source.run]
    assert run.init.hub == script["model"] and script["generator"] in rtd_of(run).generator.folder
    found = {
        "epochs": run.optimisation.epochs,
        "batch-size": run.optimisation.batch_size,
        "max-length": run.optimisation.max_length,
        "evaluation-interval": run.selection.every,
        "temperature": run.objective[0].temperature,
    }
    assert found == {name: type(value)(script[name]) for name, value in found.items()}
