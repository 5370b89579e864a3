rule manifest:
    output:
        manifest=PATHS.manifest("{paper}/{item}"),
    log:
        f"logs/{SCALE}/manifest/{{paper}}_{{item}}.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        manifest=item_manifest,
    shell:
        "printf '%s\\n' {params.manifest:q} > {output.manifest} 2> {log}"


rule tabulate:
    input:
        manifest=rules.manifest.output.manifest,
        scores=item_evaluations,
    output:
        table=PATHS.table("{paper}/{item}"),
    log:
        f"logs/{SCALE}/tabulate/{{paper}}_{{item}}.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m replicse tabulate --item {input.manifest} --out {output.table} > {log} 2>&1"
