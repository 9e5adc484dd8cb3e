# A planning service in a container: see "Container" in docs/service.md.
#   docker build -t copa .
#   docker run --read-only -p 8000:8000 -v "$PWD/loans.copa:/data/bundle.copa:ro" -v "$PWD/token:/data/token:ro" copa

# The wheel, with its kernels compiled: this image has a compiler, the one below needs none.
FROM python:3.12 AS build
WORKDIR /source
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]" && rm -r /wheels
RUN useradd --create-home --uid 10001 copa
USER copa
ENV OPENBLAS_NUM_THREADS=1 \
    OMP_NUM_THREADS=1 \
    PYTHONUNBUFFERED=1
RUN copa --version
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://localhost:8000/healthz', timeout=4)"]
ENTRYPOINT ["copa"]
CMD ["serve", "/data/bundle.copa", "--host", "0.0.0.0", "--port", "8000", "--token-file", "/data/token", "--allowed-host", "localhost"]
