# docker build -t replicse . && docker run --rm -v "$PWD/results:/study/results" -v "$PWD/reports:/study/reports" replicse
# The same pins as environment.yml; torch is a CPU build unless TORCH_INDEX names another index.
FROM python:3.11.13-slim-bookworm

ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
ENV OMP_NUM_THREADS=1 PYTHONUNBUFFERED=1

WORKDIR /opt/replicse
COPY requirements/run.txt requirements/mteb.txt requirements/
RUN pip install --no-cache-dir --extra-index-url "$TORCH_INDEX" --requirement requirements/mteb.txt
COPY pyproject.toml README.md LICENSE Snakefile config.yaml environment.yml ./
COPY src src
COPY workflow workflow
COPY reports/studies reports/studies
RUN SETUPTOOLS_SCM_PRETEND_VERSION=0.1.0 pip install --no-cache-dir --no-deps .

RUN useradd --uid 1000 --create-home study && mkdir /study && chown study /study
USER 1000
WORKDIR /study
COPY config.yaml .
ENTRYPOINT ["replicse"]
CMD ["run", "--cores", "all"]
