# This is a generated file! Please edit source .ksy file and use kaitai-struct-compiler to rebuild
# type: ignore

import kaitaistruct
from kaitaistruct import KaitaiStruct, KaitaiStream, BytesIO
from enum import IntEnum


if getattr(kaitaistruct, 'API_VERSION', (0, 9)) < (0, 11):
    raise Exception("Incompatible Kaitai Struct Python API: 0.11 or later is required, but you have %s" % (kaitaistruct.__version__))

class EtlPackets(KaitaiStruct):
    """The data of the events that carry packets, and of those that name what saw them. Fields follow each other without
    padding. Names are UTF-16 up to a NUL.
    
    .. seealso::
       manifests of the providers as Windows 10 has them; microsoft/etl2pcapng names the fields and keywords
    """

    class DirectionTags(IntEnum):
        unspecified = 0
        in = 1
        out = 2
        rx = 3
        tx = 4
        ingress = 5
        egress = 6

    class Keywords(IntEnum):
        wireless_wan = 512
        native_80211 = 65536
        switch = 16777216
        truncated = 33554432
        start = 1073741824
        end = 2147483648
        send = 4294967296
        receive = 8589934592

    class PacketTypes(IntEnum):
        unknown = 0
        ethernet = 1
        wifi = 2
        ip = 3
    def __init__(self, _io, _parent=None, _root=None):
        super(EtlPackets, self).__init__(_io)
        self._parent = _parent
        self._root = _root or self
        self._read()

    def _read(self):
        pass


    def _fetch_instances(self):
        pass

    class NdisFragment(KaitaiStruct):
        """A packet, or a part of one. What newer systems append is not read.
        
        .. seealso::
           manifest of Microsoft-Windows-NDIS-PacketCapture {2ED6006E-4729-4609-B423-3EE7BCD678EF}, event 1001
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.NdisFragment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.miniport_if_index = self._io.read_u4le()
            self.lower_if_index = self._io.read_u4le()
            self.fragment_size = self._io.read_u4le()
            self.fragment = self._io.read_bytes(self.fragment_size)


        def _fetch_instances(self):
            pass


    class NdisMetadata(KaitaiStruct):
        """What the adapter says of the next packet. For a wireless one that is DOT11_EXTSTA_RECV_CONTEXT.
        
        .. seealso::
           manifest of Microsoft-Windows-NDIS-PacketCapture, event 1002
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.NdisMetadata, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.miniport_if_index = self._io.read_u4le()
            self.lower_if_index = self._io.read_u4le()
            self.metadata_size = self._io.read_u4le()
            self.metadata = self._io.read_bytes(self.metadata_size)


        def _fetch_instances(self):
            pass


    class PktmonComponent(KaitaiStruct):
        """A component, up to its name and description.
        
        .. seealso::
           manifest of Microsoft-Windows-PktMon, event 20
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.PktmonComponent, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.id = self._io.read_u2le()
            self.type = self._io.read_u2le()


        def _fetch_instances(self):
            pass


    class PktmonPacket(KaitaiStruct):
        """A packet at one component; 170 is one that was dropped there.
        
        .. seealso::
           manifest of Microsoft-Windows-PktMon {4D4F80D9-C8BD-4D73-BB5B-19C90402C5AC}, events 160 and 170; Windows Driver Kit
           pktmonnpik.h PKTMON_EVT_STREAM_METADATA
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.PktmonPacket, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.pkt_group_id = self._io.read_u8le()
            self.pkt_number = self._io.read_u2le()
            self.appearance_count = self._io.read_u2le()
            self.dir_tag = KaitaiStream.resolve_enum(EtlPackets.DirectionTags, self._io.read_u2le())
            self.packet_type = KaitaiStream.resolve_enum(EtlPackets.PacketTypes, self._io.read_u2le())
            self.component_id = self._io.read_u2le()
            self.edge_id = self._io.read_u2le()
            self.filter_id = self._io.read_u2le()
            self.drop_reason = self._io.read_u4le()
            self.drop_location = self._io.read_u4le()
            self.original_payload_size = self._io.read_u2le()
            self.logged_payload_size = self._io.read_u2le()
            self.payload = self._io.read_bytes(self.logged_payload_size)


        def _fetch_instances(self):
            pass


    class RasPacket(KaitaiStruct):
        """A packet of a VPN connection, behind the text of RoutingDomainID and RRASUserName.
        
        .. seealso::
           manifest of Microsoft-Windows-Ras-NdisWanPacketCapture {D84521F7-2235-4237-A7C0-14E3A9676286}, events 5001 and 5002
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.RasPacket, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.fragment_size = self._io.read_u4le()
            self.fragment = self._io.read_bytes(self.fragment_size)


        def _fetch_instances(self):
            pass


    class SwitchDestination(KaitaiStruct):
        """One of the destinations, whose number (DestinationCount, 4 bytes) follows the names of the source: SourcePortName,
        SourceNicName and SourceNicType. DestinationPortName, DestinationNicName and DestinationNicType follow it.
        
        .. seealso::
           manifest of Microsoft-Windows-NDIS-PacketCapture, event 1003
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.SwitchDestination, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.destination_port_id = self._io.read_u4le()


        def _fetch_instances(self):
            pass


    class SwitchFragment(KaitaiStruct):
        """What follows the destinations. NET_BUFFER_LIST_INFO of the packet stands behind it.
        
        .. seealso::
           manifest of Microsoft-Windows-NDIS-PacketCapture, event 1003
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.SwitchFragment, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.fragment_size = self._io.read_u4le()
            self.fragment = self._io.read_bytes(self.fragment_size)
            self.oob_data_size = self._io.read_u4le()
            self.oob_data = self._io.read_bytes(self.oob_data_size)


        def _fetch_instances(self):
            pass


    class SwitchSource(KaitaiStruct):
        """A packet in a virtual switch, up to the names of its source.
        
        .. seealso::
           manifest of Microsoft-Windows-NDIS-PacketCapture, event 1003
        """
        def __init__(self, _io, _parent=None, _root=None):
            super(EtlPackets.SwitchSource, self).__init__(_io)
            self._parent = _parent
            self._root = _root
            self._read()

        def _read(self):
            self.miniport_if_index = self._io.read_u4le()
            self.lower_if_index = self._io.read_u4le()
            self.source_port_id = self._io.read_u4le()


        def _fetch_instances(self):
            pass



