# Alignment and uniformity of each checkpoint that a run kept along its training.
rule align_uniformity_checkpoints:
    input:
        data=PATHS.data,
        files=inputs("geometry"),
    output:
        **outputs_of(PATHS, "geometry", "{encoder}"),
    log:
        log_of(PATHS, "geometry", "{encoder}"),
    group:
        encoder_allocation
    conda:
        ENVIRONMENT
    threads: JOB_THREADS
    resources:
        mem_mb=4000,
        runtime="1h",
        gpu=GPUS,
    params:
        **given("geometry", "code", "payload", "made", "slots"),
    shell:
        "python -m replicse job geometry {params.payload:q} --made {params.made:q} --data {input.data}"
        " --threads {threads} --slots {params.slots} --out {output.scores} > {log} 2>&1"
