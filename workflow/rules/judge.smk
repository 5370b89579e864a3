# What is drawn from all items together, planned once: claims, adjudication, audit, and every value of every cell.
rule judge:
    input:
        config=rules.config.output.config,
        results=list_items,
        stale=unless_recorded("judge"),
    output:
        **outputs_of(PATHS, "judge"),
    log:
        log_of(PATHS, "judge"),
    conda:
        ENVIRONMENT
    params:
        code=PRESENT.code(JUDGES),
        texts=lambda wildcards: PRESENT.texts(),
        made=made("judge"),
        payload=lambda wildcards, input: compact_json({"study": input.config}),
        folder=record_folder,
    shell:
        "python -m replicse job judge {params.payload:q} --made {params.made:q} --out {params.folder} > {log} 2>&1"
