#
# Wireshark tests
# By Gerald Combs <gerald@wireshark.org>
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
"""Dissection tests of the Performance Counter Query Protocol"""

import subprocess

from subprocesstest import count_output


class TestDissectPcq:
    def test_pcq_methods(self, cmd_tshark, capture_file, test_env):
        """Every method of PerflibV2, in the clear"""
        stdout = subprocess.check_output(
            (
                cmd_tshark,
                "-r",
                capture_file("dcerpc_pcq.pcap"),
                "-Y",
                "pcq",
                "-T",
                "fields",
                "-e",
                "pcq.opnum",
            ),
            encoding="utf-8",
            env=test_env,
        )
        assert set(stdout.split()) >= {"0", "1", "2", "3", "4", "5", "6", "7"}

    def test_pcq_performance_data(self, cmd_tshark, capture_file, test_env):
        """PerflibV2QueryCounterData: a block with all instances of one counter"""
        stdout = subprocess.check_output(
            (
                cmd_tshark,
                "-r",
                capture_file("dcerpc_pcq.pcap"),
                "-Y",
                "pcq.query_counter_data.block.type == 4",
                "-O",
                "pcq",
            ),
            encoding="utf-8",
            env=test_env,
        )
        assert count_output(stdout, r"dwType: PERF_MULTI_INSTANCES \(4\)") > 0
        assert count_output(stdout, r"InstanceName: \S") > 0

    def test_pcq_damaged(self, cmd_tshark, capture_file, test_env):
        """The identifier that a response ends within is marked, and nothing else"""
        stdout = subprocess.check_output(
            (
                cmd_tshark,
                "-r",
                capture_file("dcerpc_pcq.pcap"),
                "-Y",
                "pcq.damaged",
                "-T",
                "fields",
                "-e",
                "_ws.expert.message",
            ),
            encoding="utf-8",
            env=test_env,
        )
        assert stdout == "Size: 4 bytes wanted, 0 left\n"

    def test_winperf_objects(self, cmd_tshark, capture_file, test_env):
        """Performance data that winreg carries"""
        stdout = subprocess.check_output(
            (
                cmd_tshark,
                "-r",
                capture_file("dcerpc_winperf.pcap"),
                "-Y",
                'winperf.signature == "PERF"',
                "-T",
                "fields",
                "-e",
                "winperf.object.name_title_index",
                "-e",
                "winperf.num_object_types",
            ),
            encoding="utf-8",
            env=test_env,
        )
        for line in stdout.splitlines():
            titles, count = line.split("\t")
            assert len(titles.split(",")) == int(count)
        assert stdout != ""

    def test_winperf_names(self, cmd_tshark, capture_file, test_env):
        '''The names of counters in the value "Counter 009"'''
        stdout = subprocess.check_output(
            (
                cmd_tshark,
                "-r",
                capture_file("dcerpc_winperf.pcap"),
                "-Y",
                "winperf.name_table.entry.index",
                "-T",
                "fields",
                "-e",
                "winperf.name_table.entry.text",
            ),
            encoding="utf-8",
            env=test_env,
        )
        assert "Memory" in stdout.split(",")
