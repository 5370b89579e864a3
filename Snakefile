# RepliCSE: the tables and figures of the papers as one DAG.
#   snakemake --cores all                    all items of config.yaml, to reports/<scale>/report.html
#   snakemake --cores 2 simcse/table3        one item with the runs that it needs
#   snakemake --cores all --config scale=compact
import subprocess

from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "workflow/rules/common.smk"


# The first rule is the default target, unless another workflow uses this one as a module.
rule all:
    input:
        JOBS["data", ""].outputs,
        JOBS["report", ""].outputs,
        # Otherwise Snakemake would not create deleted inputs of a finished report again.
        JOBS["report", ""].inputs,
        targets.list_evaluations(STUDY, STUDY.items.values()),
        targets.list_discarded_weights(STUDY),


# Evaluate the authors' checkpoints without training: `snakemake --cores all released`, then `replicse show ITEM`.
rule released:
    input:
        targets.list_released_evaluations(STUDY),


include: "workflow/rules/measure.smk"
include: "workflow/rules/report.smk"


# Each item is a target with two names, and each paper is a target.
for name, items in targets.list_targets(STUDY, workflow.is_rule).items():

    rule:
        name:
            name
        input:
            targets.list_item_files(STUDY, items),


onstart:
    interrupts.interrupt_once()
    locks.note_holder(Path.cwd())
    # A private attribute: with a limit of 100 job starts per second, Snakemake wakes its scheduler for each finished
    # job, which had used a fifth of all CPU time after 270 of 839 jobs. Measured with Snakemake 9.27.
    limit = getattr(workflow.scheduler, "job_rate_limiter", None)
    if limit is not None and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
    if workflow.local_exec and STUDY.source == "embedded" and not RESOURCES.gpus:
        start(RESOURCES.threads)


# The report of an unfinished study is not an output of a rule, so Snakemake never considers it finished.
onerror:
    # Not through a shell: a second Ctrl-C would end the shell with an error of the workflow.
    subprocess.run(["python", "-m", "replicse", "report", "--scale", SCALE])
