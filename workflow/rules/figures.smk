rule figures:
    input:
        result=rules.tabulate.output.result,
    output:
        svg=PATHS.figure("{paper}/{item}", "svg"),
        png=PATHS.figure("{paper}/{item}", "png"),
        pdf=PATHS.figure("{paper}/{item}", "pdf"),
        data=PATHS.figure("{paper}/{item}", "csv"),
    log:
        f"logs/{SCALE}/figures/{{paper}}_{{item}}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("replicse.report", "replicse.registry.suites"),
    shell:
        "python -m replicse figures --item {input.result} --out {output.svg} > {log} 2>&1"
