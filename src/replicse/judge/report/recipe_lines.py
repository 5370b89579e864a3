"""The recipe of a cell as sentences.

They describe the training, and the settings that the scale changes.
"""

from collections.abc import Iterator

from replicse.compile.cell import Cell
from replicse.compile.remarks import describe_scale_changes, list_varied_settings
from replicse.compile.study import Study
from replicse.printable import several
from replicse.registry.encoders import PostprocessingParameters
from replicse.registry.runs import Run
from replicse.spec.cell_id import AS_DESCRIBED


def recipe_lines(study: Study, cell: Cell) -> Iterator[str]:
    """Yield sentences about the recipe of a cell's first encoder.

    The first sentence lists the settings that differ from the paper, the last describes a post-processing of the
    vectors. Nothing is yielded if the encoder is not trained and its vectors are not changed.

    Args:
        study: the study.
        cell: a cell of the study.
    """
    if not cell.encoders:
        return
    encoder = study.encoders[cell.encoders[0]]
    run = encoder.source.run
    if run is not None:
        if cell.protocol == AS_DESCRIBED:
            changes = describe_scale_changes(study, cell)
            if changes:
                yield f"not the paper's: {changes}"
        training = describe_training(study.runs[run])
        if varied := list_varied_settings(cell):
            training = f"first job of a search over {', '.join(varied)}: {training}"
        yield training
    if encoder.postprocess:
        yield describe_postprocessing(encoder.postprocess)


def describe_postprocessing(postprocess: PostprocessingParameters) -> str:
    """Describe a post-processing with its corpus and parameters."""
    if postprocess.fit == "target":
        fit = "the sentences of each task"
    else:
        corpus = postprocess.fit
        fit = f"the corpus {corpus['name'] if isinstance(corpus, dict) else corpus}"
    parameters = [f"{name} {value}" for name, value in postprocess.parameters.items()]
    return ", ".join([f"vectors: {postprocess.name}, fitted on {fit}", *parameters])


def describe_training(run: Run) -> str:
    """Describe objective, corpus and main hyper-parameters of a run."""
    optimisation, rates = run.optimisation, run.dropout
    losses = " and ".join(term.term for term in run.objective)
    epochs, steps = optimisation.epochs, optimisation.steps
    length = f"{steps:,} steps" if steps is not None else several(epochs or 0, "epoch")
    if steps is not None and epochs is not None:
        length += f" in at most {several(epochs, 'epoch')}"
    settings = [
        f"batch size {optimisation.batch_size}",
        f"learning rate {optimisation.learning_rate:g}",
        f"dropout {rates.hidden:g}",
        f"at most {optimisation.max_length} tokens",
    ]
    corpus = f" on {run.corpus['name']}" if run.corpus else ""
    return f"{losses}{corpus}, {length}, {', '.join(settings)}"
