"""The layers of one reading, from segments to calls; `run.py` and the processes of a shared capture chain them.

They are loaded when a capture is read: a case needs none.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from analyzer.auth.keyring import Keyring
from analyzer.core.limits import Limits
from analyzer.pipeline.layer_chain import Layer

if TYPE_CHECKING:
    from analyzer.auth.kdc_replies import Tickets
    from analyzer.interfaces.pcq.perflib_layer import PerflibLayer
    from analyzer.interfaces.winperf.winreg_layer import KeyFollower
    from analyzer.transport.rpc.exchange import Selection
    from analyzer.transport.rpc.rpc_layer import RpcLayer
    from analyzer.transport.smb.smb_connection_state import KeyLog, MessageLog


def stream_layers(limits: Limits) -> list[Layer]:
    """Returns the layers from TCP segments to streams and to issued Kerberos tickets."""
    from analyzer.auth.kdc_replies import KdcLayer
    from analyzer.transport.tcp.reassembler import Reassembler

    return [Reassembler(limits), KdcLayer()]


def call_layers(
    keyring: Keyring,
    limits: Limits,
    tickets: Tickets,
    *,
    pdus: bool,
    message_log: MessageLog | None = None,
    selected: Selection | None = None,
) -> tuple[list[Layer], RpcLayer]:
    """Returns the layers of a reading from streams to channels, and the RPC layer from there to exchanges. `selected` chooses the
    calls that it reads in SMB sessions. Both sides know the `tickets`; the first layer notes issued ones."""
    from analyzer.auth import token_handshake
    from analyzer.transport.rpc.rpc_layer import RpcLayer

    begin = partial(token_handshake.begin, tickets=tickets)
    rpc = RpcLayer(keyring, limits=limits, begin=begin, pdus=pdus, selected=selected)
    return channel_layers(keyring, limits, tickets=tickets, message_log=message_log), rpc


def channel_layers(
    keyring: Keyring,
    limits: Limits,
    *,
    tickets: Tickets | None = None,
    key_log: KeyLog | None = None,
    message_log: MessageLog | None = None,
) -> list[Layer]:
    """The layers from streams to channels."""
    from analyzer.transport.channel.channels import Channels, TcpChannels
    from analyzer.transport.smb.smb_layer import SmbLayer

    channels = Channels()
    smb = SmbLayer(keyring, channels, tickets=tickets, key_log=key_log, message_log=message_log, limits=limits)
    return [smb, TcpChannels(channels)]


def decoding_layers(pcq: PerflibLayer, follower: KeyFollower) -> list[Layer]:
    """The layers from exchanges to calls."""
    from analyzer.interfaces.svcctl.service_layer import ServiceLayer
    from analyzer.interfaces.winperf.winreg_layer import WinregLayer

    return [pcq, WinregLayer(follower), ServiceLayer()]
