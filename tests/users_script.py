"""What a user of the API writes. Type checkers read it and nothing runs it: mypy in `make lint`, pyright in a test."""

from datetime import timedelta

import analyzer as pcq

cap: pcq.Capture = pcq.analyze("x.pcapng", secrets={"users": []}, progress=True, redact="a key")
part = cap.filter("opnum == 6").between("13:50", timedelta(seconds=5)).handle("q1").series("*")
rows: int = part.counters(interval=timedelta(seconds=5)).height + part.calls.height + cap.triage.height
number: int = part.call(1)["number"]
path = cap.save("x.pcq")
again: pcq.Capture = pcq.open(path)
methods: list[str] = [call["method"] for call in pcq.iter_calls("x.pcapng")]
baseline = pcq.write_baseline(cap, "host.json", force=True)
found: list[str] = [
    one.differences["name"][0] for one in (pcq.diff(cap, at=("5s", 6)), pcq.diff(cap, baseline=baseline))
]
