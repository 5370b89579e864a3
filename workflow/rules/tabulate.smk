# The config as the study was started: the jobs that plan it again read it, and run again when it changes.
rule config:
    input:
        files=inputs("config"),
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
        **given("config", "text"),
    shell:
        "printf '%s\\n' {params.text:q} > {output.config} 2> {log}"


rule tabulate:
    input:
        files=inputs("tabulate"),
    output:
        **outputs_of(PATHS, "tabulate", "{item}"),
    log:
        log_of(PATHS, "tabulate", "{item}"),
    conda:
        ENVIRONMENT
    params:
        **given("tabulate", "code", "texts", "payload", "made"),
    shell:
        "python -m replicse job tabulate {params.payload:q} --made {params.made:q} --out {output.result} > {log} 2>&1"
