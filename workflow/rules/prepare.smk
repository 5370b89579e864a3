# What downloads runs where the study is planned: compute nodes often have no network.
rule data:
    output:
        record=PATHS.data,
    log:
        f"logs/{SCALE}/data.log",
    # Downloads: compute nodes may have no network.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=data_code(),
        files=local_files,
        options=data_options,
    shell:
        "python -m replicse data {params.options:q} --out {output.record} > {log} 2>&1"


rule tokenizer:
    input:
        data=rules.data.output.record,
    output:
        file=PATHS.tokenizer("{name}"),
    log:
        f"logs/{SCALE}/tokenizer/{{name}}.log",
    conda:
        ENVIRONMENT
    params:
        code=tokenizer_code,
        files=tokenizer_files,
        recipe=tokenizer_recipe,
    shell:
        "python -m replicse tokenizer --recipe {params.recipe:q} --data {input.data} --out {output.file} > {log} 2>&1"


rule backbone:
    input:
        data=rules.data.output.record,
    output:
        weights=PATHS.backbone("{name}", "model.safetensors"),
        config=PATHS.backbone("{name}", "config.json"),
        tokenizer=PATHS.backbone("{name}", "tokenizer.json"),
    log:
        f"logs/{SCALE}/backbone/{{name}}.log",
    retries: 2
    localrule: True
    conda:
        ENVIRONMENT
    params:
        source=backbone_source,
        folder=record_folder,
    shell:
        "python -m replicse backbone --source {params.source:q} --data {input.data} --out {params.folder} > {log} 2>&1"


rule store:
    input:
        data=rules.data.output.record,
        tokenizer=store_tokenizer,
        encoder=store_encoder,
    output:
        record=PATHS.store("{store}", "store.json"),
        tokens=PATHS.store("{store}", "tokens.npy"),
        offsets=PATHS.store("{store}", "offsets.npy"),
    log:
        f"logs/{SCALE}/store/{{store}}.log",
    conda:
        ENVIRONMENT
    params:
        code=store_code,
        files=store_files,
        spec=store_spec,
        folder=record_folder,
    shell:
        "python -m replicse prepare --store {params.spec:q} --data {input.data} --out {params.folder} > {log} 2>&1"
