rule figures:
    input:
        files=inputs("figures"),
    output:
        **outputs_of(PATHS, "figures", "{item}"),
    log:
        log_of(PATHS, "figures", "{item}"),
    conda:
        ENVIRONMENT
    params:
        **given("figures", "code", "texts", "payload", "made"),
    shell:
        "python -m replicse job figures {params.payload:q} --made {params.made:q} --out {output.svg} > {log} 2>&1"
