# docker build -t pcq-analyzer . && docker run --rm -v "$PWD:/captures" pcq-analyzer timeline capture.pcap
FROM python:3.11-slim-bookworm
COPY . /source
RUN pip install --no-cache-dir --constraint /source/constraints.txt /source && rm -r /source
RUN useradd --create-home analyst
USER analyst
WORKDIR /captures
ENTRYPOINT ["pcq-analyzer"]
