meta:
  id: windows_etl_packets
  title: Events of Windows that carry packets
  application: netsh trace and pktmon of Windows
  xref:
    mslearn: https://learn.microsoft.com/windows-server/networking/technologies/pktmon/pktmon
  license: GPL-2.0-or-later
  ks-version: "0.11"
  endian: le
doc: |
  The data of the events that carry packets, and of those that name what saw them. Fields follow each other without
  padding. Names are UTF-16 up to a NUL.
doc-ref: manifests of the providers as Windows 10 has them; microsoft/etl2pcapng names the fields and keywords
types:
  ndis_fragment:
    -orig-id: Microsoft-Windows-NDIS-PacketCapture 1001
    doc: A packet, or a part of one. What newer systems append is not read.
    doc-ref: manifest of Microsoft-Windows-NDIS-PacketCapture {2ED6006E-4729-4609-B423-3EE7BCD678EF}, event 1001
    seq:
      - id: miniport_if_index
        -orig-id: MiniportIfIndex
        type: u4
      - id: lower_if_index
        -orig-id: LowerIfIndex
        type: u4
      - id: fragment_size
        -orig-id: FragmentSize
        type: u4
      - id: fragment
        -orig-id: Fragment
        size: fragment_size
  ndis_metadata:
    -orig-id: Microsoft-Windows-NDIS-PacketCapture 1002
    doc: What the adapter says of the next packet. For a wireless one that is DOT11_EXTSTA_RECV_CONTEXT.
    doc-ref: manifest of Microsoft-Windows-NDIS-PacketCapture, event 1002
    seq:
      - id: miniport_if_index
        -orig-id: MiniportIfIndex
        type: u4
      - id: lower_if_index
        -orig-id: LowerIfIndex
        type: u4
      - id: metadata_size
        -orig-id: MetadataSize
        type: u4
      - id: metadata
        -orig-id: Metadata
        size: metadata_size
  switch_source:
    -orig-id: Microsoft-Windows-NDIS-PacketCapture 1003
    doc: A packet in a virtual switch, up to the names of its source.
    doc-ref: manifest of Microsoft-Windows-NDIS-PacketCapture, event 1003
    seq:
      - id: miniport_if_index
        -orig-id: MiniportIfIndex
        type: u4
      - id: lower_if_index
        -orig-id: LowerIfIndex
        type: u4
      - id: source_port_id
        -orig-id: SourcePortId
        type: u4
  switch_destination:
    -orig-id: Microsoft-Windows-NDIS-PacketCapture 1003
    doc: |
      One of the destinations, whose number (DestinationCount, 4 bytes) follows the names of the source: SourcePortName,
      SourceNicName and SourceNicType. DestinationPortName, DestinationNicName and DestinationNicType follow it.
    doc-ref: manifest of Microsoft-Windows-NDIS-PacketCapture, event 1003
    seq:
      - id: destination_port_id
        -orig-id: DestinationPortId
        type: u4
  switch_fragment:
    -orig-id: Microsoft-Windows-NDIS-PacketCapture 1003
    doc: What follows the destinations. NET_BUFFER_LIST_INFO of the packet stands behind it.
    doc-ref: manifest of Microsoft-Windows-NDIS-PacketCapture, event 1003
    seq:
      - id: fragment_size
        -orig-id: FragmentSize
        type: u4
      - id: fragment
        -orig-id: Fragment
        size: fragment_size
      - id: oob_data_size
        -orig-id: OOBDataSize
        type: u4
      - id: oob_data
        -orig-id: OOBData
        size: oob_data_size
        doc: Pointers, of which number 4 is NDIS_NET_BUFFER_LIST_8021Q_INFO.
  pktmon_packet:
    -orig-id: Microsoft-Windows-PktMon 160 and 170
    doc: A packet at one component; 170 is one that was dropped there.
    doc-ref: |
      manifest of Microsoft-Windows-PktMon {4D4F80D9-C8BD-4D73-BB5B-19C90402C5AC}, events 160 and 170; Windows Driver Kit
      pktmonnpik.h PKTMON_EVT_STREAM_METADATA
    seq:
      - id: pkt_group_id
        -orig-id: PktGroupId
        type: u8
        doc: One number for all appearances of the packets that travel together.
      - id: pkt_number
        -orig-id: PktNumber
        type: u2
        doc: Which of these packets it is.
      - id: appearance_count
        -orig-id: AppearanceCount
        type: u2
      - id: dir_tag
        -orig-id: DirTag
        type: u2
        enum: direction_tags
      - id: packet_type
        -orig-id: PacketType
        type: u2
        enum: packet_types
      - id: component_id
        -orig-id: ComponentId
        type: u2
      - id: edge_id
        -orig-id: EdgeId
        type: u2
      - id: filter_id
        -orig-id: FilterId
        type: u2
      - id: drop_reason
        -orig-id: DropReason
        type: u4
      - id: drop_location
        -orig-id: DropLocation
        type: u4
      - id: original_payload_size
        -orig-id: OriginalPayloadSize
        type: u2
      - id: logged_payload_size
        -orig-id: LoggedPayloadSize
        type: u2
      - id: payload
        -orig-id: Payload
        size: logged_payload_size
  pktmon_component:
    -orig-id: Microsoft-Windows-PktMon 20
    doc: A component, up to its name and description.
    doc-ref: manifest of Microsoft-Windows-PktMon, event 20
    seq:
      - id: id
        -orig-id: Id
        type: u2
      - id: type
        -orig-id: Type
        type: u2
  ras_packet:
    -orig-id: Microsoft-Windows-Ras-NdisWanPacketCapture 5001 and 5002
    doc: A packet of a VPN connection, behind the text of RoutingDomainID and RRASUserName.
    doc-ref: manifest of Microsoft-Windows-Ras-NdisWanPacketCapture {D84521F7-2235-4237-A7C0-14E3A9676286}, events 5001 and 5002
    seq:
      - id: fragment_size
        -orig-id: FragmentSize
        type: u4
      - id: fragment
        -orig-id: Fragment
        size: fragment_size
enums:
  direction_tags:
    0: {id: unspecified, -orig-id: PktMonDirTag_Unspecified}
    1: {id: in, -orig-id: PktMonDirTag_In}
    2: {id: out, -orig-id: PktMonDirTag_Out}
    3: {id: rx, -orig-id: PktMonDirTag_Rx}
    4: {id: tx, -orig-id: PktMonDirTag_Tx}
    5: {id: ingress, -orig-id: PktMonDirTag_Ingress}
    6: {id: egress, -orig-id: PktMonDirTag_Egress}
  packet_types:
    0: {id: unknown, -orig-id: PktMonPayload_Unknown}
    1: {id: ethernet, -orig-id: PktMonPayload_Ethernet}
    2: {id: wifi, -orig-id: PktMonPayload_WiFi}
    3: {id: ip, -orig-id: PktMonPayload_IP}
  keywords:
    0x200: {id: wireless_wan, -orig-id: WirelessWAN}
    0x10000: {id: native_80211, -orig-id: Native802.11}
    0x1000000: {id: switch, -orig-id: VMSwitch}
    0x2000000: {id: truncated, -orig-id: PacketTruncated}
    0x40000000: {id: start, -orig-id: PacketStart}
    0x80000000: {id: end, -orig-id: PacketEnd}
    0x100000000: {id: send, -orig-id: "ut:SendPath"}
    0x200000000: {id: receive, -orig-id: "ut:ReceivePath"}
