# From data to evaluations. A rule has the name of its stage, and each job has a specification.
rule tokenizer:
    input:
        specification="results/{scale}/jobs/tokenizer/{name}.json",
        files=INPUTS.of("tokenizer"),
    output:
        file="results/{scale}/tokenizers/{name}/tokenizer.json",
        job="results/{scale}/tokenizers/{name}/tokenizer.json.job",
    log:
        "logs/{scale}/tokenizer/{name}.log",
    conda:
        ENVIRONMENT
    # Without exec, a termination signal would end the shell before a training has saved its state.
    shell:
        "exec python -m replicse job {input.specification} --threads {threads} > {log} 2>&1"


# Downloads run on the machine that started the study: compute nodes may have no network.
use rule tokenizer as data with:
    input:
        specification="results/{scale}/jobs/data.json",
    output:
        record="results/{scale}/data.json",
        generated=targets.list_generated_files(STUDY),
        job="results/{scale}/data.json.job",
    log:
        "logs/{scale}/data.log",
    localrule: True


use rule data as backbone with:
    input:
        specification="results/{scale}/jobs/backbone/{name}.json",
        files=INPUTS.of("backbone"),
    output:
        weights="results/{scale}/backbones/{name}/model.safetensors",
        config="results/{scale}/backbones/{name}/config.json",
        tokenizer="results/{scale}/backbones/{name}/tokenizer.json",
        job="results/{scale}/backbones/{name}/job.json",
    log:
        "logs/{scale}/backbone/{name}.log",
    retries: 2


use rule tokenizer as store with:
    input:
        specification="results/{scale}/jobs/store/{name}.json",
        files=INPUTS.of("store"),
    output:
        store="results/{scale}/stores/{name}/store.json",
        tokens="results/{scale}/stores/{name}/tokens.npy",
        offsets="results/{scale}/stores/{name}/offsets.npy",
        job="results/{scale}/stores/{name}/job.json",
    log:
        "logs/{scale}/store/{name}.log",
    resources:
        mem_mb=RESOURCES.store_memory,
        runtime=RESOURCES.store_time,


# Processes and chunks split batches without changing gradients, so they are resources, not part of the id of a run.
rule train:
    input:
        specification="results/{scale}/jobs/train/{run}.json",
        files=INPUTS.of("train"),
    output:
        best="results/{scale}/runs/{run}/best/model.safetensors",
        last="results/{scale}/runs/{run}/last/model.safetensors",
        metrics="results/{scale}/runs/{run}/metrics.json",
        provenance="results/{scale}/runs/{run}/provenance.json",
        job="results/{scale}/runs/{run}/job.json",
    log:
        "logs/{scale}/train/{run}.log",
    retries: 2
    group:
        RESOURCES.name_allocation
    conda:
        ENVIRONMENT
    threads: RESOURCES.threads
    resources:
        mem_mb=RESOURCES.train_memory,
        runtime=RESOURCES.train_time,
        gpu=RESOURCES.gpus,
        chunk=0,
    shell:
        "exec python -m replicse job {input.specification} --threads {threads}"
        " --processes {resources.gpu} --chunk {resources.chunk} > {log} 2>&1"


# One file per group of suites: a new suite evaluates only its group again. A group encodes each sentence once.
use rule tokenizer as evaluate with:
    input:
        specification="results/{scale}/jobs/evaluate/{encoder}.{group}.json",
        files=INPUTS.of("evaluate"),
    output:
        scores="results/{scale}/encoders/{encoder}/{group}.json",
        job="results/{scale}/encoders/{encoder}/{group}.json.job",
    log:
        "logs/{scale}/evaluate/{encoder}.{group}.log",
    group:
        RESOURCES.name_allocation
    threads: RESOURCES.threads
    resources:
        mem_mb=RESOURCES.evaluation_memory,
        runtime=RESOURCES.evaluation_time,
        gpu=RESOURCES.gpus,


# Alignment and uniformity of each checkpoint that a run keeps.
use rule evaluate as geometry with:
    input:
        specification="results/{scale}/jobs/geometry/{encoder}.json",
        files=INPUTS.of("geometry"),
    output:
        scores="results/{scale}/encoders/{encoder}/trajectory.json",
        job="results/{scale}/encoders/{encoder}/trajectory.json.job",
    log:
        "logs/{scale}/geometry/{encoder}.log",


# Counts of the data are evaluations of an encoder with the name `data`.
use rule tokenizer as count with:
    input:
        specification="results/{scale}/jobs/count.json",
        files=INPUTS.of("count"),
    output:
        scores="results/{scale}/encoders/data/counts.json",
        job="results/{scale}/encoders/data/counts.json.job",
    log:
        "logs/{scale}/count.log",


# The weights of runs that only a search asks for. No specification: a removal is no result. Deleted outputs of a run that
# has been evaluated are no reason for Snakemake to train it again.
rule discard:
    input:
        lambda wildcards: discarded.list_discarded(STUDY)[wildcards.run],
    output:
        "results/{scale}/runs/{run}/discarded.sha256",
    log:
        "logs/{scale}/discard/{run}.log",
    localrule: True
    conda:
        ENVIRONMENT
    shell:
        "(cd results/{wildcards.scale}/runs/{wildcards.run} && sha256sum */model.safetensors > discarded.new"
        " && mv discarded.new discarded.sha256 && rm */model.safetensors) > {log} 2>&1"
