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
    shell:
        "python -m replicse figures --item {input.result} --out {output.svg} > {log} 2>&1"
