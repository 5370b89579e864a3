# RepliCSE: the tables and figures of the papers as one DAG.
#   snakemake --cores all                    everything that config.yaml names, to reports/<scale>/report.html
#   snakemake --cores 2 simcse/table3        one item, with only the runs it needs
#   snakemake --cores all --config scale=compact
from snakemake.utils import min_version

min_version("9.0")


configfile: "config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/records.smk"
include: "workflow/rules/private.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/geometry.smk"
include: "workflow/rules/tabulate.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/judge.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/finish.smk"


localrules:
    all,
    released,


# As a module of another workflow it leaves that one its target.
rule all:
    default_target: len(workflow.modifier_stack) == 1
    input:
        STUDY.jobs["report", ""].outputs,
        # Named here, since Snakemake misses no file that only a finished report has read.
        STUDY.jobs["report", ""].inputs,
        all_evaluations(),


# Checkpoints that others released, without any training: `snakemake --cores all released`, then `replicse show ITEM`.
rule released:
    input:
        released_evaluations(),


for item in STUDY.items.values():
    for target in (item.id, item.target):

        rule:
            name:
                target
            input:
                item_files(item),


# A paper is all of its items, unless a rule of the workflow has its name.
for paper in [key for key in STUDY.studied if not workflow.is_rule(key)]:

    rule:
        name:
            paper
        input:
            [item_files(item) for item in STUDY.items.values() if item.paper == paper],


# Only here: Snakemake tells a workflow what it was asked for when that has failed.
if len(workflow.modifier_stack) == 1:
    refuse_until(sys.argv[1:])
    refuse_mistyped(sys.argv[1:])


onstart:
    refuse_folder()
    refuse_without_extras()
    note_holder(Path.cwd())
    restore_world()
    wake_for_jobs_only()
    tell_refusals()
    serve_jobs()


onsuccess:
    drop_stale(workflow.dag_settings.targets)


# The rules stay strict; what there is of a study that failed is reported in a folder of its own.
onerror:
    report_what_there_is(workflow.dag_settings.targets)
