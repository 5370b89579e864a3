"""Unsupervised BERT-large as described in the paper, and as released."""

from planned import shipped_plan


def test_the_released_bert_large_is_trained_in_the_steps_of_its_log():
    study = shipped_plan(
        scale="paper", papers={"simcse": ["readme"]}, adjudicate=["simcse/readme"], seeds=[0]
    )
    steps = {}
    for cell in study.cells["simcse/readme"]:
        for encoder in cell.encoders:
            run = study.run_of(encoder)
            if cell.id.row == "unsup-simcse-bert-large" and run:
                steps[cell.protocol] = run.optimisation.last_step(1_000_000, 1)
    assert steps == {"as-described": 15_625, "as-released": 1_954}
