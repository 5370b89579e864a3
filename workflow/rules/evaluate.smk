# One file per group of suites: a suite more runs only its own group again; within it each sentence is encoded once.
rule evaluate:
    input:
        weights=encoder_weights,
        data=rules.data.output.record,
    output:
        scores=PATHS.evaluation("{encoder}", "{group}"),
    log:
        f"logs/{SCALE}/evaluate/{{encoder}}.{{group}}.log",
    group:
        encoder_allocation
    conda:
        ENVIRONMENT
    threads: JOB_THREADS
    resources:
        mem_mb=evaluation_memory,
        runtime=evaluation_time,
        gpu=GPUS,
    params:
        code=evaluation_code,
        options=encoder_options,
    shell:
        "python -m replicse evaluate {params.options:q} --data {input.data}"
        " --threads {threads} --out {output.scores} > {log} 2>&1"


# Numbers that are counted from the data stand beside the encoders' as those of an encoder named data.
rule count:
    input:
        data=rules.data.output.record,
    output:
        scores=PATHS.evaluation("data", "counts"),
    log:
        f"logs/{SCALE}/count.log",
    conda:
        ENVIRONMENT
    params:
        code=count_code,
        options=count_options,
    shell:
        "python -m replicse count {params.options:q} --data {input.data} --out {output.scores} > {log} 2>&1"
