rule figures:
    input:
        result=rules.tabulate.output.result,
    output:
        **outputs_of(PATHS, "figures", "{paper}/{item}"),
    log:
        log_of(PATHS, "figures", "{paper}_{item}"),
    conda:
        ENVIRONMENT
    params:
        code=code("replicse.report", "replicse.registry.suites"),
        payload=lambda wildcards, input: compact_json({"item": input.result}),
    shell:
        "python -m replicse job figures {params.payload:q} --out {output.svg} > {log} 2>&1"
