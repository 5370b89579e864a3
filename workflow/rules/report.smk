# From evaluations to tables, judgements, figures and pages.
use rule tokenizer as tabulate with:
    input:
        specification="results/{scale}/jobs/tabulate/{item}.json",
        files=INPUTS.of("tabulate"),
    output:
        result="results/{scale}/items/{item}.json",
        table=report("results/{scale}/tables/{item}.csv", category="Tables"),
        job="results/{scale}/items/{item}.json.job",
    log:
        "logs/{scale}/tabulate/{item}.log",


# The config and the record of the study. They come first, because verbs need them while the study runs.
use rule tabulate as study with:
    input:
        specification="results/{scale}/jobs/study.json",
    output:
        record="results/{scale}/record.json",
        config="results/{scale}/config.json",
        job="results/{scale}/record.json.job",
    log:
        "logs/{scale}/study.log",
    priority: 1
    localrule: True


# The judgements from all items: claims, adjudication, audit, and each value of each cell.
use rule tabulate as judge with:
    input:
        specification="results/{scale}/jobs/judge.json",
        files=INPUTS.of("judge"),
    output:
        judgements="results/{scale}/judgements.json",
        tables=report(
            expand("results/{{scale}}/{name}.csv", name=(*JUDGED, "cells")),
            category="Judgements",
        ),
        job="results/{scale}/judgements.json.job",
    log:
        "logs/{scale}/judge.log",


use rule tabulate as figures with:
    input:
        specification="results/{scale}/jobs/figures/{item}.json",
        files=INPUTS.of("figures"),
    output:
        report("figures/{scale}/{item}.svg", category="Figures"),
        expand("figures/{{scale}}/{{item}}.{kind}", kind=["png", "pdf", "csv"]),
        job="figures/{scale}/{item}.svg.job",
    log:
        "logs/{scale}/figures/{item}.log",


# The page of one item, for its target.
use rule tabulate as page with:
    input:
        specification="results/{scale}/jobs/page/{item}.json",
        files=INPUTS.of("page"),
    output:
        html=report("reports/{scale}/{item}.html", category="Items"),
        tex="reports/{scale}/{item}.tex",
        job="reports/{scale}/{item}.html.job",
    log:
        "logs/{scale}/page/{item}.log",


use rule tabulate as report with:
    input:
        specification=f"results/{SCALE}/jobs/report.json",
        files=JOBS["report", ""].inputs,
    output:
        report(f"reports/{SCALE}/report.html", category="Pages"),
        JOBS["report", ""].outputs[1:],
        job=f"reports/{SCALE}/report.html.job",
    log:
        f"logs/{SCALE}/report.log",
