# What is drawn from all items together, planned once: claims, adjudication, audit, and every value of every cell.
rule judge:
    input:
        config=rules.config.output.config,
        results=list_items,
    output:
        claims=PATHS.judged("claims"),
        adjudication=PATHS.judged("adjudication"),
        audit=PATHS.judged("audit"),
        cells=PATHS.cells,
    log:
        f"logs/{SCALE}/judge.log",
    conda:
        ENVIRONMENT
    params:
        code=code("replicse.study", "replicse.registry.suites"),
        texts=all_texts,
        folder=record_folder,
    shell:
        "python -m replicse judge --study {input.config} --out {params.folder} > {log} 2>&1"
