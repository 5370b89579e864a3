# Alignment and uniformity of each checkpoint that a run kept along its training.
rule align_uniformity_checkpoints:
    input:
        metrics=run_metrics,
        data=rules.data.output.record,
    output:
        scores=PATHS.evaluation("{encoder}", "trajectory"),
    log:
        f"logs/{SCALE}/geometry/{{encoder}}.log",
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
        code=suites_code(["geometry"], "replicse.encoder.sentence"),
        run=encoder_run,
        pooling=encoder_pooling,
        engine=encoder_engine,
    shell:
        "python -m replicse geometry --trajectory --encoder {params.run} --pooling {params.pooling} --engine {params.engine} --data {input.data}"
        " --threads {threads} --out {output.scores} > {log} 2>&1"
