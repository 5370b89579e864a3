# How batches are split (a process a GPU, chunks of rows) changes no gradient: a site's resources, no part of a run's name.
rule train:
    input:
        data=PATHS.data,
        files=inputs("train"),
    output:
        **outputs_of(PATHS, "train", "{run}"),
    log:
        log_of(PATHS, "train", "{run}"),
    retries: 2
    group:
        train_allocation
    conda:
        ENVIRONMENT
    threads: JOB_THREADS
    resources:
        mem_mb=train_memory,
        runtime=train_time,
        gpu=GPUS,
        chunk=0,
    params:
        **given("train", "code", "files", "payload", "made", "out", "slots"),
        state=PATHS.state("{run}"),
    # Termination signals also reach the shell, which would end before the training has saved its state.
    shell:
        "exec python -m replicse job train {params.payload:q} --made {params.made:q} --data {input.data} --state {params.state} --out {params.out}"
        " --code {params.code} --threads {threads} --slots {params.slots} --processes {resources.gpu} --chunk {resources.chunk} > {log} 2>&1"
