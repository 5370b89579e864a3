# Alignment and uniformity of each checkpoint that a run kept along its training.
rule align_uniformity_checkpoints:
    input:
        data=rules.data.output.record,
        files=needs("geometry"),
        stale=unless_recorded("geometry"),
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
        code=code_for("geometry"),
        payload=payload("geometry"),
        made=made("geometry"),
    shell:
        "python -m replicse job geometry {params.payload:q} --made {params.made:q} --data {input.data}"
        " --threads {threads} --out {output.scores} > {log} 2>&1"
