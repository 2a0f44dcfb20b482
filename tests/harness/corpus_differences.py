# SPDX-License-Identifier: MIT
"""Differences between the verdicts of carry and tshark on the shared captures, with the reasons
(test_corpus.py)."""

Row = tuple[str, str, str, str, int]  # file, protocol, carry's verdicts, tshark's verdicts, frames

REASONS: dict[str, list[Row]] = {
    "BIG TCP: tshark stops at UDP length 0": [
        ("tcpdump_bigtcp-ipv4-vxlan-ipv6.pcap", "tcp", "partial", "-", 1),
        ("tcpdump_bigtcp-ipv4-vxlan-ipv6.pcap", "udp", "partial", "-", 1),
    ],
    "ERSPAN announced by an ethertype: tshark knows it only after GRE": [
        ("arkime_arkime_synthetic.pcap", "icmp", "good", "-", 1),
        ("arkime_arkime_synthetic.pcap", "ip", "good", "-", 1),
        ("derived_bitflip5pct.pcap", "icmp", "good", "-", 1),
        ("derived_bitflip5pct.pcap", "ip", "good", "-", 1),
        ("derived_cut_midrecord.pcap", "icmp", "good", "-", 1),
        ("derived_cut_midrecord.pcap", "ip", "good", "-", 1),
        ("derived_wordswap.pcap", "icmp", "good", "-", 1),
        ("derived_wordswap.pcap", "ip", "good", "-", 1),
    ],
    "ICMP inside ICMP errors: tshark does not verify it": [
        ("zeek_gtp_control_prime.pcap", "icmp", "good,good", "good,unverifiable", 1),
    ],
    "IP length leaves no room for the TCP header: tshark gives no status": [
        ("ndpi_fuzz-2006-09-29-28586.pcap", "tcp", "unverifiable/malformed", "-", 1),
    ],
    "IP version or header length makes no sense: tshark gives no status": [
        ("ndpi_fuzz-2006-09-29-28586.pcap", "ip", "unverifiable/malformed", "-", 2),
        ("tcpdump_ipv4_invalid_hdr_length.pcap", "ip", "unverifiable/malformed", "-", 1),
        ("zeek_mpls-6in6-broken.pcap", "ip", "unverifiable/malformed", "-", 26),
    ],
    "SCTP 0, agreed upon or left to offload: tshark 4.0 calls it bad": [
        ("arkime_arkime_synthetic.pcap", "sctp", "absent", "bad", 2),
        ("derived_bitflip5pct.pcap", "sctp", "absent", "bad", 2),
        ("derived_cut_midrecord.pcap", "sctp", "absent", "bad", 1),
        ("derived_wordswap.pcap", "sctp", "absent", "bad", 2),
    ],
    "UDP length 0 in a short IPv4 packet: tshark gives no status": [
        ("arkime_arkime_synthetic.pcap", "udp", "unverifiable/malformed", "-", 1),
    ],
    "cut off: tshark stops before the field, which was not captured": [
        ("derived_garbage_tail.pcap", "udp", "unverifiable/snaplen", "-", 1),
        ("derived_snap60.pcap", "udp", "unverifiable/snaplen", "-", 1),
    ],
    "damaged at its second record: tshark guesses another record format and misreads the first": [
        ("suriverify_fuzz.pcap", "ip", "bad", "-", 1),
        ("suriverify_fuzz.pcap", "tcp", "bad", "-", 1),
    ],
    "length beyond the wire: tshark stops before the field, which was not captured": [
        ("derived_bitflip5pct.pcap", "tcp", "unverifiable/length", "-", 1),
        ("derived_cut_midrecord.pcap", "tcp", "unverifiable/length", "-", 1),
        ("derived_garbage_tail.pcap", "tcp", "unverifiable/length", "-", 8),
        ("derived_snap60.pcap", "tcp", "unverifiable/length", "-", 8),
    ],
    "length beyond the wire: tshark sums the bytes that there are": [
        ("derived_be_ns.pcap", "tcp", "unverifiable/length", "bad", 394),
        ("derived_bitflip5pct.pcap", "tcp", "unverifiable/length", "bad", 1),
        ("derived_trunc_block.pcapng", "tcp", "unverifiable/length", "bad", 30),
        ("ndpi_fuzz-2006-09-29-28586.pcap", "tcp", "unverifiable/length", "bad", 1),
        ("snabb_sanitized4k_truncated128.pcap", "icmp", "unverifiable/length", "bad", 1),
        ("snabb_sanitized4k_truncated128.pcap", "icmp", "unverifiable/length", "good", 8),
        ("snabb_sanitized4k_truncated128.pcap", "tcp", "unverifiable/length", "bad", 2165),
        ("zeek_gtp9_unknown_or_too_short_payload.pcap", "tcp", "unverifiable/length", "bad", 1),
    ],
    "inside the first fragment of a tunnel's datagram: tshark sums the bytes that there are": [
        ("zeek_gtp9_unknown_or_too_short_payload.pcap", "tcp", "unverifiable/fragment", "bad", 7),
        ("zeek_gtp_ext_header.pcap", "tcp", "unverifiable/fragment", "bad", 1),
    ],
    "length below that of the header inside: tshark stops before its field": [
        ("zeek_mpls-6in6-6in6-4in6-trunc.pcap", "ip", "unverifiable/length", "-", 1),
    ],
    "link type unknown to tshark: DSA and EDSA tags": [
        ("tcpdump_dsa-high-vid.pcap", "icmp", "good", "-", 4),
        ("tcpdump_dsa-high-vid.pcap", "ip", "good", "-", 4),
        ("tcpdump_edsa-high-vid.pcap", "icmp", "good", "-", 4),
        ("tcpdump_edsa-high-vid.pcap", "ip", "good", "-", 4),
    ],
    "offload: an IPv4 header's sum of 0 beside a partial sum, which tshark calls bad": [
        ("mercury_emix.pcap", "ip", "partial", "bad", 147),
        ("suriverify_bug-5162.pcap", "ip", "partial", "bad", 1521),
    ],
    "offload: the list of offload sums names only the innermost sum of a frame": [
        ("own_vxlan_inner_tcp4.pcap", "udp", "partial", "bad", 17),
    ],
}

# The differences with fragments reassembled. For the files listed here, these are all rows; for
# other files, the rows above apply.
REASSEMBLED: dict[str, list[Row]] = {
    "longer than 65,535 bytes with its options: no receiver accepts it, tshark does": [
        ("zeek_ipv6-reassembly-state-leak.pcap", "udp", "-", "bad", 1),
        ("zeek_ipv6-reassembly-state-leak.pcap", "udp", "-", "illegal", 1),
        ("zeek_ipv6-reassembly-state-leak.pcap", "udp", "illegal", "-", 1),
        ("zeek_ipv6-reassembly-state-leak.pcap", "udp", "unverifiable/fragment", "-", 1),
    ],
    "reported with the first fragment: tshark waits for the last": [
        ("zeek_gtp9_unknown_or_too_short_payload.pcap", "ip", "good", "good,good", 7),
        ("zeek_gtp9_unknown_or_too_short_payload.pcap", "ip", "good,good", "good", 7),
        ("zeek_gtp_ext_header.pcap", "ip", "good", "good,good", 1),
        ("zeek_gtp_ext_header.pcap", "ip", "good,good", "good", 1),
        ("zeek_gtp_ext_header.pcap", "udp", "-", "absent", 1),
        ("zeek_gtp_ext_header.pcap", "udp", "absent", "-", 1),
    ],
    "length beyond the wire: tshark sums the bytes that there are": [
        ("zeek_gtp9_unknown_or_too_short_payload.pcap", "tcp", "unverifiable/length", "bad", 1),
    ],
}
