rule data:
    output:
        record=PATHS.data,
    log:
        f"logs/{SCALE}/data.log",
    params:
        options=data_options,
    shell:
        "replicse data {params.options:q} --out {output.record} > {log} 2>&1"


rule tokenizer:
    input:
        data=rules.data.output.record,
    output:
        file=PATHS.tokenizer("{name}"),
    log:
        f"logs/{SCALE}/tokenizer/{{name}}.log",
    params:
        recipe=tokenizer_recipe,
    shell:
        "replicse tokenizer --recipe {params.recipe:q} --data {input.data} --out {output.file} > {log} 2>&1"


rule backbone:
    input:
        data=rules.data.output.record,
    output:
        weights=PATHS.backbone("{name}") + "/model.safetensors",
        config=PATHS.backbone("{name}") + "/config.json",
        tokenizer=PATHS.backbone("{name}") + "/tokenizer.json",
    log:
        f"logs/{SCALE}/backbone/{{name}}.log",
    retries: 2
    params:
        source=backbone_source,
        folder=PATHS.backbone("{name}"),
    shell:
        "replicse backbone --source {params.source:q} --data {input.data} --out {params.folder} > {log} 2>&1"


rule store:
    input:
        data=rules.data.output.record,
        tokenizer=store_tokenizer,
    output:
        record=PATHS.store("{store}") + "/store.json",
        tokens=PATHS.store("{store}") + "/tokens.npy",
        offsets=PATHS.store("{store}") + "/offsets.npy",
    log:
        f"logs/{SCALE}/store/{{store}}.log",
    params:
        spec=store_spec,
        folder=PATHS.store("{store}"),
    shell:
        "replicse prepare --store {params.spec:q} --data {input.data} --out {params.folder} > {log} 2>&1"
