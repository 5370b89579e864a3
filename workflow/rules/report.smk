rule study:
    output:
        record=PATHS.study,
    localrule: True
    params:
        record=study_record,
    shell:
        "printf '%s\\n' {params.record:q} > {output.record}"


rule report:
    input:
        study=rules.study.output.record,
        data=rules.data.output.record,
        manifests=list_manifests,
        tables=list_tables,
        figures=list_figures,
    output:
        html=PATHS.report("html"),
        markdown=PATHS.report("md"),
        tex=PATHS.report("tex"),
    log:
        f"logs/{SCALE}/report.log",
    shell:
        "replicse report --study {input.study} --data {input.data} --out {output.html} > {log} 2>&1"
