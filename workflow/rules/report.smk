rule study:
    input:
        files=inputs("study"),
    output:
        **outputs_of(PATHS, "study"),
    log:
        log_of(PATHS, "study"),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        **given("study", "text"),
    shell:
        "printf '%s\\n' {params.text:q} > {output.record} 2> {log}"


rule report:
    input:
        data=PATHS.data,
        files=inputs("report"),
    output:
        **STUDY.jobs["report", ""].named,
    log:
        log_of(PATHS, "report"),
    conda:
        ENVIRONMENT
    params:
        **given("report", "code", "texts", "payload", "made"),
    shell:
        "python -m replicse job report {params.payload:q} --made {params.made:q} --data {input.data} --out {output.html} > {log} 2>&1"


# One item alone: what asking for it makes, beside its table.
rule page:
    input:
        files=inputs("page"),
    output:
        **outputs_of(PATHS, "page", "{item}"),
    log:
        log_of(PATHS, "page", "{item}"),
    conda:
        ENVIRONMENT
    params:
        **given("page", "code", "payload", "made"),
    shell:
        "python -m replicse job page {params.payload:q} --made {params.made:q} --out {output.html} > {log} 2>&1"
