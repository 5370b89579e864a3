# What downloads runs where the study is planned: compute nodes often have no network.
rule data:
    input:
        files=inputs("data"),
    output:
        **outputs_of(PATHS, "data"),
    log:
        log_of(PATHS, "data"),
    # Downloads: compute nodes may have no network.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        **given("data", "code", "files", "payload", "made"),
    shell:
        "python -m replicse job data {params.payload:q} --made {params.made:q} --out {output.record} > {log} 2>&1"


rule tokenizer:
    input:
        data=PATHS.data,
        files=inputs("tokenizer"),
    output:
        **outputs_of(PATHS, "tokenizer", "{name}"),
    log:
        log_of(PATHS, "tokenizer", "{name}"),
    conda:
        ENVIRONMENT
    params:
        **given("tokenizer", "code", "files", "payload", "made"),
    shell:
        "python -m replicse job tokenizer {params.payload:q} --made {params.made:q} --data {input.data} --out {output.file} > {log} 2>&1"


rule backbone:
    input:
        data=PATHS.data,
        files=inputs("backbone"),
    output:
        **outputs_of(PATHS, "backbone", "{name}"),
    log:
        log_of(PATHS, "backbone", "{name}"),
    retries: 2
    localrule: True
    conda:
        ENVIRONMENT
    params:
        **given("backbone", "payload", "made", "out"),
    shell:
        "python -m replicse job backbone {params.payload:q} --made {params.made:q} --data {input.data} --out {params.out} > {log} 2>&1"


rule store:
    input:
        data=PATHS.data,
        files=inputs("store"),
    output:
        **outputs_of(PATHS, "store", "{store}"),
    log:
        log_of(PATHS, "store", "{store}"),
    conda:
        ENVIRONMENT
    params:
        **given("store", "code", "files", "payload", "made", "out"),
    shell:
        "python -m replicse job store {params.payload:q} --made {params.made:q} --data {input.data} --out {params.out} > {log} 2>&1"
