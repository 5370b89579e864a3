# What is drawn from all items together, planned once: claims, adjudication, audit, and every value of every cell.
rule judge:
    input:
        files=inputs("judge"),
    output:
        **outputs_of(PATHS, "judge"),
    log:
        log_of(PATHS, "judge"),
    conda:
        ENVIRONMENT
    params:
        **given("judge", "code", "texts", "payload", "made", "out"),
    shell:
        "python -m replicse job judge {params.payload:q} --made {params.made:q} --out {params.out} > {log} 2>&1"
