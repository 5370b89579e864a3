rule spec:
    output:
        spec=PATHS.run("{run}", "spec.json"),
    log:
        f"logs/{SCALE}/spec/{{run}}.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        job=train_job,
    shell:
        "printf '%s\\n' {params.job:q} > {output.spec} 2> {log}"


rule train:
    input:
        spec=rules.spec.output.spec,
        data=rules.data.output.record,
        files=train_inputs,
    output:
        best=PATHS.run("{run}", "best/model.safetensors"),
        last=PATHS.run("{run}", "last/model.safetensors"),
        metrics=PATHS.run("{run}", "metrics.json"),
        provenance=PATHS.run("{run}", "provenance.json"),
        trajectory=PATHS.run("{run}", "trajectory.json"),
    log:
        f"logs/{SCALE}/train/{{run}}.log",
    benchmark:
        PATHS.run("{run}", "train.benchmark.jsonl")
    retries: 1
    conda:
        ENVIRONMENT
    threads: JOB_THREADS
    resources:
        mem_mb=train_memory,
        runtime="8h",
        gpu=GPUS,
    params:
        code=code("training", "encoder", "objective", "data"),
        folder=run_folder,
        state=PATHS.state("{run}"),
    shell:
        "python -m replicse train --spec {input.spec} --data {input.data} --state {params.state} --out {params.folder}"
        " --threads {threads} > {log} 2>&1"
