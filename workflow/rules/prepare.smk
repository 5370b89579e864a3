# What downloads runs where the study is planned: compute nodes often have no network.
rule data:
    input:
        stale=unless_recorded("data"),
    output:
        **outputs_of(PATHS, "data"),
    log:
        log_of(PATHS, "data"),
    # Downloads: compute nodes may have no network.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code_for("data"),
        files=local_files,
        payload=payload("data"),
        made=made("data"),
    shell:
        "python -m replicse job data {params.payload:q} --made {params.made:q} --out {output.record} > {log} 2>&1"


rule tokenizer:
    input:
        data=rules.data.output.record,
        stale=unless_recorded("tokenizer"),
    output:
        **outputs_of(PATHS, "tokenizer", "{name}"),
    log:
        log_of(PATHS, "tokenizer", "{name}"),
    conda:
        ENVIRONMENT
    params:
        code=code_for("tokenizer"),
        files=files_for("tokenizer"),
        payload=payload("tokenizer"),
        made=made("tokenizer"),
    shell:
        "python -m replicse job tokenizer {params.payload:q} --made {params.made:q} --data {input.data} --out {output.file} > {log} 2>&1"


rule backbone:
    input:
        data=rules.data.output.record,
        stale=unless_recorded("backbone"),
    output:
        **outputs_of(PATHS, "backbone", "{name}"),
    log:
        log_of(PATHS, "backbone", "{name}"),
    retries: 2
    localrule: True
    conda:
        ENVIRONMENT
    params:
        payload=payload("backbone"),
        made=made("backbone"),
        folder=record_folder,
    shell:
        "python -m replicse job backbone {params.payload:q} --made {params.made:q} --data {input.data} --out {params.folder} > {log} 2>&1"


rule store:
    input:
        data=rules.data.output.record,
        files=needs("store"),
        stale=unless_recorded("store"),
    output:
        **outputs_of(PATHS, "store", "{store}"),
    log:
        log_of(PATHS, "store", "{store}"),
    conda:
        ENVIRONMENT
    params:
        code=code_for("store"),
        files=files_for("store"),
        payload=payload("store"),
        made=made("store"),
        folder=record_folder,
    shell:
        "python -m replicse job store {params.payload:q} --made {params.made:q} --data {input.data} --out {params.folder} > {log} 2>&1"
