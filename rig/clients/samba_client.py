"""Samba's libdcerpc by its Python bindings, which Debian has for its own Python."""

import os

from samba import NTSTATUSError, credentials, param
from samba.dcerpc import base, winreg

from rig.clients.lines import Fault, options, serve

# What Samba makes of the statuses of faults.
FAULTS = {0xC0030005: 0x1C00001A, 0xC002002E: 0x1C010002, 0xC003000C: 0x6F7}


def main():
    asked = options()
    if asked.get("kerberos"):
        os.environ["KRB5_CONFIG"] = asked["krb5_config"]
    settings = param.LoadParm()
    for name, value in asked.get("settings", {}).items():
        settings.set(name, value)
    who = credentials.Credentials()
    who.guess(settings)
    who.set_username(asked["user"])
    who.set_password(asked["password"])
    if asked.get("kerberos"):
        who.set_realm(asked["realm"])
        who.set_kerberos_state(credentials.MUST_USE_KERBEROS)
    else:
        who.set_domain(asked["domain"])
        who.set_kerberos_state(credentials.DONT_USE_KERBEROS)
    words = [word for word in asked["binding"] if word]
    if asked["carrier"] == "tcp":
        binding = f"ncacn_ip_tcp:{asked['host']}[{asked['port']},{','.join(words)}]"
    elif asked.get("kerberos"):
        words = [*words, f"target_hostname={asked['name']}"]
        binding = f"ncacn_np:{asked['host']}[\\pipe\\winreg,{','.join(words)}]"
    else:
        binding = f"ncacn_np:{asked['host']}[\\pipe\\winreg,{','.join(words)}]"
    # The bindings end in a crash where an interface that they do not know is bound first.
    first = winreg.winreg(binding, settings, who)
    bound = {"338cd001-2244-31f1-aaaa-900038001003": first}

    def call(interface, opnum, stub):
        if interface not in bound:
            bound[interface] = base.ClientConnection(binding, (interface, 1), settings, who, basis_connection=first)
        try:
            return bound[interface].request(opnum, stub)
        except NTSTATUSError as error:
            code = error.args[0] & 0xFFFFFFFF
            raise Fault(FAULTS.get(code, code)) from None

    serve(call)


main()
