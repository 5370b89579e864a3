rule evaluate:
    input:
        weights=encoder_weights,
        data=rules.data.output.record,
    output:
        scores=PATHS.encoder("{encoder}", "evaluation"),
    log:
        f"logs/{SCALE}/evaluate/{{encoder}}.log",
    threads: JOB_THREADS
    resources:
        mem_mb=4000,
        runtime="1h",
        gpu=GPUS,
    params:
        folder=encoder_folder,
        options=encoder_options,
    shell:
        "replicse evaluate --encoder {params.folder} {params.options:q} --data {input.data}"
        " --threads {threads} --out {output.scores} > {log} 2>&1"
