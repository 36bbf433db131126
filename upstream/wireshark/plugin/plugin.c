/* plugin.c
 * Makes a plugin of packet-dcerpc-pcq.c, for a Wireshark that is installed. In Wireshark's own tree, CMake does this.
 *
 * Copyright (C) 2026 the authors of pcq-analyzer
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "config.h"

#include <epan/packet.h>
#include <ws_symbol_export.h>
#include <ws_version.h>

void proto_register_pcq(void);
void proto_reg_handoff_pcq(void);

WS_DLL_PUBLIC_DEF const char plugin_version[] = "1.0.0";
WS_DLL_PUBLIC_DEF const int plugin_want_major = WIRESHARK_VERSION_MAJOR;
WS_DLL_PUBLIC_DEF const int plugin_want_minor = WIRESHARK_VERSION_MINOR;
WS_DLL_PUBLIC void plugin_register(void);

void
plugin_register(void)
{
    static proto_plugin plugin;

    plugin.register_protoinfo = proto_register_pcq;
    plugin.register_handoff = proto_reg_handoff_pcq;
    proto_register_plugin(&plugin);
}
