"""Converts link-type numbers of capture files to LINKTYPE_ numbers of the pcap registry (tcpdump.org/linktypes.html)."""

from __future__ import annotations

from analyzer.core.wire_numbers import WireNumbers


class LinkType(metaclass=WireNumbers):
    """Link types (LINKTYPE_ numbers) that the `packet` layer reads, and some that it can only name."""

    NULL = 0
    ETHERNET = 1
    IEEE802_5 = 6
    PPP = 9
    FDDI = 10
    PPP_HDLC = 50
    PPP_ETHER = 51
    RAW = 101
    C_HDLC = 104
    IEEE802_11 = 105
    FRELAY = 107
    LOOP = 108
    ENC = 109
    LINUX_SLL = 113
    PFLOG = 117
    IEEE802_11_PRISM = 119
    IEEE802_11_RADIOTAP = 127
    ARCNET_LINUX = 129
    USER0 = 147
    IEEE802_11_AVS = 163
    PPP_PPPD = 166
    USB_LINUX = 189
    PPI = 192
    BLUETOOTH_HCI_H4_WITH_PHDR = 201
    PPP_WITH_DIR = 204
    USB_LINUX_MMAPPED = 220
    IPV4 = 228
    IPV6 = 229
    IEEE802_15_4_NOFCS = 230
    NFLOG = 239
    NETANALYZER = 240
    USBPCAP = 249
    UPPER_PDU = 252
    NETLINK = 253
    PKTAP = 258
    LINUX_SLL2 = 276


# Numbers an operating system uses for itself (DLT_), which old files hold where LINKTYPE_ belongs: DLT_RAW is 12 on most
# systems and 14 on OpenBSD; DLT_PPP_SERIAL is 50 everywhere; DLT_LOOP is 12 on OpenBSD (ambiguous, so RAW wins, and the
# packet layer recognises the loopback header); BSD/OS used 15 and 16 for what others call SLIP_BSDOS and PPP_BSDOS.
_DLT_TO_LINKTYPE = {12: LinkType.RAW, 14: LinkType.RAW}

# Bits 0 to 15 are the link type, 26 says whether bits 28 to 31 hold the length of the frame check sequence
# (draft-ietf-opsawg-pcap section 4). What follows the network layer's own length is never read, so the length is no help.
_LINK_TYPE_MASK = 0x0000FFFF


def link_type_of(network: int) -> int:
    """Returns the LINKTYPE_ number of the network field in a capture file's header."""
    number = network & _LINK_TYPE_MASK
    return int(_DLT_TO_LINKTYPE.get(number, number))
