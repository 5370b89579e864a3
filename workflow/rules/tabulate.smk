rule manifest:
    output:
        manifest=PATHS.manifest("{paper}/{item}"),
    localrule: True
    params:
        manifest=item_manifest,
    shell:
        "printf '%s\\n' {params.manifest:q} > {output.manifest}"


rule tabulate:
    input:
        manifest=rules.manifest.output.manifest,
        scores=item_evaluations,
    output:
        table=PATHS.table("{paper}/{item}"),
    log:
        f"logs/{SCALE}/tabulate/{{paper}}_{{item}}.log",
    shell:
        "replicse tabulate --item {input.manifest} --out {output.table} > {log} 2>&1"
