FROM python:3.11-slim AS build

# pip reads these by itself when they are given. Without a source of CPU wheels the default index answers with torch's
# CUDA build on Linux x86-64: it works, and is several gigabytes larger. See docs/operating.md.
ARG PIP_EXTRA_INDEX_URL
ARG PIP_INDEX_URL
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# Compiles the kernel of a diagnosis (autoprog/diagnosis/kernel.c); the image that runs has no compiler.
RUN apt-get update \
    && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*

RUN python -m venv /opt/autoprog
ENV PATH=/opt/autoprog/bin:$PATH
WORKDIR /src

# The dependencies make a layer of their own, which a change of the code leaves alone.
COPY pyproject.toml requirements.lock ./
RUN python -c "import tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; extras = project['optional-dependencies']; needed = project['dependencies'] + [line for name, lines in extras.items() if name in ('search', 'server', 'distributed', 'files', 'plots', 'report') for line in lines]; print(*(line for line in needed if not line.startswith('autoprog')), sep='\n')" \
    > dependencies.txt \
    && pip install -r dependencies.txt -c requirements.lock

# There is no Git to ask: without it the image is called by the newest release.
ARG VERSION=
COPY . .
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" pip install --no-deps .


FROM python:3.11-slim

# LightGBM links the system's OpenMP runtime.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libgomp1 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --create-home autoprog \
    && install -d -o autoprog -g autoprog /data /certificates

COPY --from=build /opt/autoprog /opt/autoprog
ENV PATH=/opt/autoprog/bin:$PATH PYTHONUNBUFFERED=1 AUTOPROG_DATA_DIR=/data

USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000

HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8000, timeout=4); c.request('GET', '/livez'); raise SystemExit(c.getresponse().status != 200)"]

CMD ["autoprog", "serve", "--host", "0.0.0.0", "--data-dir", "/data"]
