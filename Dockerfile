# `make digests` renews the digests, by which images are found; their tags are for people.
FROM python:3.11-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff AS build

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

# The dependencies make a layer of their own, which a change of the code leaves alone. Only files with a digest of the
# locks are installed: torch's CPU build if it is found, else the default build with what that needs.
COPY locks locks
RUN pip install --no-deps --require-hashes -r locks/image.txt \
    && { pip install --no-deps --require-hashes -r locks/torch-cpu.txt \
         || pip install --no-deps --require-hashes -r locks/torch.txt; } \
    && pip check
RUN python -m venv /opt/build && /opt/build/bin/pip install --no-deps --require-hashes -r locks/build.txt

# There is no Git to ask: without it the image is called by the newest release.
ARG VERSION=
COPY . .
RUN SETUPTOOLS_SCM_PRETEND_VERSION="$VERSION" \
        /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheel . \
    && pip install --no-deps --no-index /wheel/*.whl


FROM python:3.11-slim@sha256:90744cff8f32887f075c47d747a173ff333e9e98801667af93c357fa9f5e28ff

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
