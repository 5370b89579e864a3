rule figures:
    input:
        result=rules.tabulate.output.result,
        stale=unless_recorded("figures"),
    output:
        **outputs_of(PATHS, "figures", "{paper}/{item}"),
    log:
        log_of(PATHS, "figures", "{paper}_{item}"),
    conda:
        ENVIRONMENT
    params:
        code=PRESENT.code(SHOWS),
        made=made("figures"),
        payload=lambda wildcards, input: compact_json({"item": input.result}),
    shell:
        "python -m replicse job figures {params.payload:q} --made {params.made:q} --out {output.svg} > {log} 2>&1"
