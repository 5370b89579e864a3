rule figures:
    input:
        manifest=rules.manifest.output.manifest,
        table=rules.tabulate.output.table,
    output:
        svg=PATHS.figure("{paper}/{item}", "svg"),
        png=PATHS.figure("{paper}/{item}", "png"),
        pdf=PATHS.figure("{paper}/{item}", "pdf"),
        data=PATHS.figure("{paper}/{item}", "csv"),
    log:
        f"logs/{SCALE}/figures/{{paper}}_{{item}}.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m replicse figures --item {input.manifest} --table {input.table} --out {output.svg} > {log} 2>&1"
