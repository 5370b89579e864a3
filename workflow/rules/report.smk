rule study:
    input:
        stale=unless_written(PATHS.record, study_record),
    output:
        **outputs_of(PATHS, "study"),
    log:
        log_of(PATHS, "study"),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        record=study_record,
    shell:
        "printf '%s\\n' {params.record:q} > {output.record} 2> {log}"


rule report:
    input:
        study=rules.study.output.record,
        data=rules.data.output.record,
        results=list_items,
        tables=list_tables,
        figures=list_figures,
        judgements=rules.judge.output.judgements,
        stale=unless_recorded("report"),
    output:
        **outputs_of(PATHS, "report", PLAN.studied, PLAN.items),
    log:
        log_of(PATHS, "report"),
    conda:
        ENVIRONMENT
    params:
        code=PRESENT.code(SHOWS),
        made=made("report"),
        payload=lambda wildcards, input: compact_json({"study": input.study}),
    shell:
        "python -m replicse job report {params.payload:q} --made {params.made:q} --data {input.data} --out {output.html} > {log} 2>&1"


# One item alone: what asking for it makes, beside its table.
rule page:
    input:
        study=rules.study.output.record,
        result=rules.tabulate.output.result,
        figure=item_figure,
        stale=unless_recorded("page"),
    output:
        **outputs_of(PATHS, "page", "{paper}/{item}"),
    log:
        log_of(PATHS, "page", "{paper}_{item}"),
    conda:
        ENVIRONMENT
    params:
        code=PRESENT.code(SHOWS),
        made=made("page"),
        payload=lambda wildcards, input: compact_json(
            {
                "study": input.study,
                "item": input.result,
                "figure": str(input.figure),
            }
        ),
    shell:
        "python -m replicse job page {params.payload:q} --made {params.made:q} --out {output.html} > {log} 2>&1"
