rule study:
    output:
        record=PATHS.study,
    log:
        f"logs/{SCALE}/study.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        record=study_record,
    shell:
        "printf '%s\\n' {params.record:q} > {output.record} 2> {log}"


rule report:
    input:
        study=rules.study.output.record,
        data=rules.data.output.record,
        manifests=list_manifests,
        tables=list_tables,
        figures=list_figures,
        claims=rules.claims.output.claims,
        adjudication=rules.adjudicate.output.adjudication,
        audit=rules.audit.output.audit,
    output:
        html=PATHS.report("html"),
        markdown=PATHS.report("md"),
        tex=PATHS.report("tex"),
    log:
        f"logs/{SCALE}/report.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m replicse report --study {input.study} --data {input.data} --out {output.html} > {log} 2>&1"
