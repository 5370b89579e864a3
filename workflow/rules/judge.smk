# What is drawn from all tables together. The jobs plan the same study again, from the config that this one writes down.
rule config:
    output:
        config=PATHS.config,
    log:
        f"logs/{SCALE}/config.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        config=study_config,
    shell:
        "printf '%s\\n' {params.config:q} > {output.config} 2> {log}"


rule claims:
    input:
        config=rules.config.output.config,
        tables=list_tables,
        papers=list_papers("claims.yaml", "reported.csv"),
    output:
        claims=PATHS.judged("claims"),
    log:
        f"logs/{SCALE}/claims.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m replicse claims --config {input.config} --out {output.claims} > {log} 2>&1"


rule adjudicate:
    input:
        config=rules.config.output.config,
        tables=list_tables,
        papers=list_papers("protocols.yaml", "reported.csv"),
    output:
        adjudication=PATHS.judged("adjudication"),
    log:
        f"logs/{SCALE}/adjudicate.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m replicse adjudicate --config {input.config} --out {output.adjudication} > {log} 2>&1"


rule audit:
    input:
        papers=list_papers("claims.yaml", "reported.csv"),
    output:
        audit=PATHS.judged("audit"),
    log:
        f"logs/{SCALE}/audit.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m replicse audit --out {output.audit} > {log} 2>&1"
