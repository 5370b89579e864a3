# One file per group of suites: a suite more runs only its own group again; within it each sentence is encoded once.
rule evaluate:
    input:
        data=PATHS.data,
        files=inputs("evaluate"),
    output:
        **outputs_of(PATHS, "evaluate", "{encoder}", "{group}"),
    log:
        log_of(PATHS, "evaluate", "{encoder}", "{group}"),
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
        **given("evaluate", "code", "files", "payload", "made", "slots"),
    shell:
        "python -m replicse job evaluate {params.payload:q} --made {params.made:q} --data {input.data}"
        " --threads {threads} --slots {params.slots} --out {output.scores} > {log} 2>&1"


# Numbers that are counted from the data stand beside the encoders' as those of an encoder named data.
rule count:
    input:
        data=PATHS.data,
        files=inputs("count"),
    output:
        **outputs_of(PATHS, "count"),
    log:
        log_of(PATHS, "count"),
    conda:
        ENVIRONMENT
    params:
        **given("count", "code", "payload", "made"),
    shell:
        "python -m replicse job count {params.payload:q} --made {params.made:q} --data {input.data} --out {output.scores} > {log} 2>&1"
