"""The line protocol of the clients. Needs nothing but Python, as not every stack is in our virtual environment.

The first argument has the options as JSON. A request is `{"interface", "opnum", "stub"}`, a reply `{"stub"}` or
`{"fault"}`; stubs are hexadecimal. A client that cannot go on says why on standard error and ends.
"""

import json
import re
import sys


class Fault(Exception):  # noqa: N818  # a fault is what the server answers with
    """The server answered a call with a fault of this status."""

    def __init__(self, status):
        self.status = status


def options():
    return json.loads(sys.argv[1])


def serve(call):
    """Makes the calls that are asked for; `call(interface, opnum, stub)` gives the response or raises `Fault`."""
    say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            stub = call(asked["interface"], asked["opnum"], bytes.fromhex(asked["stub"]))
            reply = {"stub": bytes(stub).hex()}
        except Fault as fault:
            reply = {"fault": fault.status}
        say(reply)


def say(reply):
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()


def status_of(error, names):
    """The status of a fault, which impacket and what came of it have as a number or in words, by their table of names."""
    code = error.get_error_code()
    if code is not None:
        return code
    text = str(error)
    found = re.search(r"[0-9a-f]{8}", text)
    if found:
        return int(found[0], 16)
    return next(number for number, name in names.items() if name in text)
