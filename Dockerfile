# docker build -t forgetting-probe . && mkdir -p runs
# docker run --user "$(id -u)" -v "$PWD/runs:/work/runs" forgetting-probe run digits
FROM python:3.11-slim
WORKDIR /opt/forgetting-probe
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY probe probe
COPY scenarios scenarios
COPY figures figures
RUN pip install --no-cache-dir --constraint constraints.txt .
ENV HOME=/tmp
WORKDIR /work
USER 1000
ENTRYPOINT ["probe"]
CMD ["--help"]
