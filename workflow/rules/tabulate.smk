# The config as the study was started: the jobs that plan it again read it, and run again when it changes.
rule config:
    input:
        stale=unless_written(PATHS.config, study_config),
    output:
        **outputs_of(PATHS, "config"),
    log:
        log_of(PATHS, "config"),
    # First of all, so that what is asked of a study while it runs is answered by its own config.
    priority: 1
    localrule: True
    conda:
        ENVIRONMENT
    params:
        config=study_config,
    shell:
        "printf '%s\\n' {params.config:q} > {output.config} 2> {log}"


rule tabulate:
    input:
        config=rules.config.output.config,
        scores=item_evaluations,
        stale=unless_recorded("tabulate"),
    output:
        **outputs_of(PATHS, "tabulate", "{paper}/{item}"),
    log:
        log_of(PATHS, "tabulate", "{paper}_{item}"),
    conda:
        ENVIRONMENT
    params:
        code=PRESENT.code(JUDGES),
        texts=item_texts,
        made=made("tabulate"),
        payload=lambda wildcards, input, output: compact_json(
            {
                "study": input.config,
                "item": f"{wildcards.paper}/{wildcards.item}",
                "table": output.table,
            }
        ),
    shell:
        "python -m replicse job tabulate {params.payload:q} --made {params.made:q} --out {output.result} > {log} 2>&1"
