/* SPDX-License-Identifier: MIT */
/* Tests the link types of captures, and the headers between them and IP. */
#include <carry/packet.h>

#include "harness/frame.h"
#include "harness/rng.h"
#include "harness/tap.h"

#define LINK_ATM      100
#define LINK_FRELAY   107
#define LINK_NETLINK  253
#define LINK_PPP      9
#define LINK_PPP_HDLC 50
#define LINK_CHDLC    104
#define LINK_WLAN     105
#define LINK_PRISM    119
#define LINK_RADIOTAP 127
#define LINK_AVS      163
#define LINK_PPI      192
#define LINK_NFLOG    239
#define LINK_PKTAP    258

#define SNAP      "aaaa03 000000"
#define ZEROS6    "000000000000"
#define ZEROS8    "0000000000000000"
#define ZEROS14   "0000000000000000000000000000"
#define ZEROS16   "00000000000000000000000000000000"
#define ZEROS32   ZEROS16 ZEROS16
#define ZEROS128  ZEROS32 ZEROS32 ZEROS32 ZEROS32
#define ADDRESSES "020000000001 020000000002 020000000003"

/* Messages of netlink, which begin with their size. */
#define LOG           "43000000 0004 0000 00000001 00000000"
#define LOG_OF_BRIDGE "4b000000 0004 0000 00000001 00000000"
#define LOG_BIG       "0000005b 0400 0000 00000001 00000000"
#define QUEUE         "ff000000 0003 0000 00000001 00000000"
#define QUEUE_BIG     "000000ff 0300 0000 00000001 00000000"

#define WLAN(control) control "2c00" ADDRESSES "1000"

/* Headers, each before a complete packet that must be found. */
static const struct {
    uint32_t linktype;
    const char *header;
    bool version6;
} links[] = {
    {1, ETHERNET "8100 0064 0800", false},
    {1, ETHERNET "88a8 0064 8100 0065 86dd", true},
    {1, ETHERNET "9100 0064 0800", false},
    {1, ETHERNET "0033" SNAP "0800", false},
    {1, ETHERNET "8100 0064 0047 aaaa03 0000f8 86dd", true},
    {113, "0000 0001 0006 0200000000010000 0800", false},
    {113, "0000 0001 0006 0200000000010000 86dd", true},
    {113, "0000 0001 0006 0200000000010000 0004" SNAP "0800", false},
    {276, "0800 0000 00000003 0001 00 06 0200000000010000", false},
    {276, "86dd 0000 00000003 0001 00 06 0200000000010000", true},
    {12, "", false},
    {14, "", true},
    {101, "", false},
    {101, "", true},
    {228, "", false},
    {229, "", true},
    {0, "02000000", false},
    {0, "00000002", false},
    {0, "0a000000", true},
    {0, "18000000", true},
    {0, "1c000000", true},
    {0, "0000001e", true},
    {0, "0000000a", true},
    {0, "00000018", true},
    {0, "0000001c", true},
    {0, "1e000000", true},
    {108, "02000000", false},
    {108, "1c000000", true},
    {108, "00000002", false},
    {108, "00000018", true},
    {109, "02000000 12345678 00000800", false},
    {109, "00000018 12345678 00000c00", true},

    {LINK_PPP, "0021", false},
    {LINK_PPP, "21", false},
    {LINK_PPP, "ff03 0021", false},
    {LINK_PPP, "ff03 57", true},
    {LINK_PPP, "0281 000641ff", false},
    {LINK_PPP, "0283 000641ff", true},
    {LINK_PPP_HDLC, "ff03 0057", true},
    {LINK_PPP_HDLC, "0f00 0800", false},
    {LINK_PPP_HDLC, "8f00 86dd", true},
    {51, "11 00 0001 0041 0057", true},
    {1, ETHERNET "8864 11 00 0001 002d 0021", false},
    {LINK_CHDLC, "0f00 0800", false},
    {LINK_CHDLC, "8f00 86dd", true},
    {LINK_CHDLC, "0f00 8847 000641ff", false},

    {LINK_WLAN, WLAN("0801") SNAP "0800", false},
    {LINK_WLAN, WLAN("0802") SNAP "86dd", true},
    {LINK_WLAN, WLAN("0803") "020000000004" SNAP "0800", false},
    {LINK_WLAN, WLAN("8801") "0000" SNAP "0800", false},
    {LINK_WLAN, WLAN("8881") "0000 00000000" SNAP "86dd", true},
    {LINK_WLAN, WLAN("8883") "020000000004 0000 00000000" SNAP "0800", false},
    {LINK_WLAN, WLAN("0881") SNAP "0800", false},
    {LINK_WLAN, WLAN("8803") "020000000004 8000" ETHERNET "0033" SNAP "0800", false},
    {LINK_RADIOTAP, "0000 0800 00000000" WLAN("0801") SNAP "0800", false},
    {LINK_RADIOTAP, "0000 0900 02000000 00" WLAN("8801") "0000" SNAP "0800", false},
    {LINK_RADIOTAP, "0000 0900 02000000 20" WLAN("0801") SNAP "0800", false},
    {LINK_RADIOTAP, "0000 0900 02000000 20" WLAN("8801") "0000 0000" SNAP "0800", false},
    {LINK_RADIOTAP, "0000 0900 02000000 df" WLAN("8801") "0000" SNAP "0800", false},
    {LINK_RADIOTAP, "0000 0900 04000000 20" WLAN("8801") "0000" SNAP "0800", false},
    {LINK_RADIOTAP, "0000 1100 03000000 2020202020202020 20" WLAN("8801") "0000 0000" SNAP "86dd",
     true},
    {LINK_RADIOTAP,
     "0000 2100 030000a0 00000080 000000a0 02000000 00000000 00000000 00000000 20" WLAN(
         "8801") "0000 0000" SNAP "0800",
     false},
    {LINK_PRISM, "44000000 90000000" ZEROS128 "0000000000000000" WLAN("0801") SNAP "0800", false},
    {LINK_PRISM, "80211001 00000040" ZEROS32 ZEROS16 "0000000000000000" WLAN("0801") SNAP "86dd",
     true},
    {LINK_AVS, "80211001 00000040" ZEROS32 ZEROS16 "0000000000000000" WLAN("0801") SNAP "0800",
     false},
    {LINK_PPI, "0000 0800 69000000" WLAN("0801") SNAP "0800", false},
    {LINK_PPI, "0000 0c00 01000000 30750000" ETHERNET6, true},

    {10, "50 020000000001 020000000002" SNAP "0800", false},
    {10, "57 020000000001 020000000002" SNAP "86dd", true},
    {6, "10 40 020000000001 020000000002" SNAP "0800", false},
    {6, "10 40 020000000001 820000000002 c6b0 0011 0020" SNAP "86dd", true},
    {6, "10 40 ffffffffffff 7fffffffffff" SNAP "0800", false},
    {LINK_NFLOG, "02 00 0014 0800 0100 08000127 0500 0a00 00000000 2f00 0900", false},
    {LINK_NFLOG, "0a 00 0014 0006 000f 0001 0000 0043 0009", true},
    {LINK_NFLOG, "07 00 0014 0800 0100 0800 03 00 2f00 0900", false},
    {LINK_NFLOG, "07 00 0014 0008 0001 86dd 03 00 0043 0009", true},
    {LINK_NFLOG, "01 00 0014 0800 0100 0800 03 00 0500 0a00 00000000 2f00 0900", false},
    {242, ZEROS32 "0000000000000000 0800 0000", false},
    {242, ZEROS32 "0000000000000000 86dd 0000", true},
    {LINK_PKTAP, "6c000000 01000000 01000000" ZEROS32 ZEROS32 ZEROS32 ETHERNET4, false},
    {LINK_PKTAP, "6c000000 01000000 0c000000" ZEROS32 ZEROS32 ZEROS32, true},
    {281, ETHERNET "00000002 0800", false},
    {281, ETHERNET "20000002 8100 0064 86dd", true},
    {282, "00000002" ETHERNET4, false},
    {282, "00000002" ETHERNET "8100 0064 86dd", true},
    {284, ETHERNET "c0100539 0800", false},
    {284, ETHERNET "c0100539 86dd", true},
    {285, ETHERNET "dada 0000 c0100539 0800", false},
    {1, ETHERNET "dada 0000 c0100539 8100 0064 86dd", true},

    {LINK_FRELAY, "1841 03 cc", false},
    {LINK_FRELAY, "1841 03 00 cc", false},
    {LINK_FRELAY, "1841 03 8e", true},
    {LINK_FRELAY, "184041 03 00 80 000000 0800", false},
    {LINK_FRELAY, "18404001 03 00 80 000000 86dd", true},
    {LINK_FRELAY, "1841 03 00 80 0080c2 0007" ETHERNET4, false},
    {LINK_FRELAY, "1841 03 80 0080c2 0001" ETHERNET6, true},
    {LINK_FRELAY, "1841 03 cf 0021", false},
    {LINK_FRELAY, "1841 0800", false},
    {LINK_FRELAY, "1841 86dd", true},
    {206, "00 1841 03 cc", false},
    {206, "01 1841 86dd", true},
    {205, "00 0f00 0800", false},
    {205, "01 8f00 86dd", true},
    {112, "0f00 0800", false},
    {204, "00 ff03 0021", false},
    {204, "01 0057", true},
    {166, "00 03 0021", false},
    {166, "01 03 57", true},
    {8, "00 45" ZEROS14, false},
    {8, "01 70" ZEROS14, false},
    {8, "01 80" ZEROS14, true},

    {LINK_ATM, SNAP "0800", false},
    {LINK_ATM, SNAP "86dd", true},
    {LINK_ATM, "aaaa03 0080c2 0007 0000" ETHERNET4, false},
    {LINK_ATM, "aaaa03 0080c2 0001 0000" ETHERNET6, true},
    {LINK_ATM, "fefe03 cc", false},
    {LINK_ATM, "fefe03 8e", true},
    {LINK_ATM, "fefe03 cf 0021", false},
    {LINK_ATM, "fefe03 80 0080c2 0007 0000" ETHERNET4, false},
    {LINK_ATM, "", false},
    {LINK_ATM, "", true},
    {11, SNAP "0800", false},
    {18, "", false},
    {18, SNAP "0800", false},
    {19, "", true},
    {106, SNAP "86dd", true},
    {106, SNAP "0800", false},
    {106, "", false},
    {123, "01 00 0020 0005" ETHERNET4, false},
    {123, "82 00 0020" SNAP "86dd", true},
    {123, "02 01 0020" SNAP "0800", false},

    {7, "01 02 d4 00 0001", false},
    {7, "01 02 d4 ff ffff d4 00 0001", false},
    {7, "01 02 c4 00 0001", true},
    {7, "01 02 f0", false},
    {129, "01 02 0000 d4 00 0001", false},
    {129, "01 02 0000 c4 00 0001", true},
    {117, "3d 02 0100" ZEROS32 ZEROS16 ZEROS8 "01000000", false},
    {117, "3d 18 0100" ZEROS32 ZEROS16 ZEROS8 "01000000", true},
    {117, "2d 1c 0100" ZEROS32 ZEROS8 "01000000", true},
    {117, "64 1e 0100" ZEROS32 ZEROS32 ZEROS32, true},
    {138, ZEROS16 "0800", false},
    {138, ZEROS16 "86dd", true},
    {122, ZEROS16 SNAP "0800", false},
    {226, "01 02 0001 0000002b 00000002 00000000 00000000 00000001", false},
    {226, "01 1a 0001 00000043 00000002 00000000 00000000 00000001", true},

    {LINK_NETLINK, "0004 0338 0000 0000000000000000 000c" LOG "02 00 0014 2f00 0900", false},
    {LINK_NETLINK, "0004 0338 0000 0000000000000000 000c" LOG_BIG "0a 00 0014 0043 0009", true},
    {LINK_NETLINK,
     "0004 0338 0000 0000000000000000 000c" LOG_OF_BRIDGE
     "07 00 0014 0800 0100 0800 03 00 2f00 0900",
     false},
    {LINK_NETLINK,
     "0004 0338 0000 0000000000000000 000c" QUEUE
     "07 00 0000 0b00 0100 00000001 86dd 01 00 4300 0a00",
     true},
    {LINK_NETLINK,
     "0004 0338 0000 0000000000000000 000c" QUEUE "02 00 0000 0800 0900 00000000 2f00 0a00", false},
    {LINK_NETLINK,
     "0004 0338 0000 0000000000000000 000c" QUEUE_BIG "0a 00 0000 0008 0009 00000000 0043 000a",
     true},
    {113, "0004 0338 0000 0000000000000000 000c" LOG "02 00 0014 2f00 0900", false},
    {113, "0004 0338 0000 0000000000000000 0800", false},
    {276, "000c 0000 00000003 0338 04 00 0000000000000000" LOG "02 00 0014 2f00 0900", false},

    {143, "00 00 0039 9c50" ETHERNET4, false},
    {143, "01 03 0050 3201 00 00e0" ETHERNET6, true},
    {143, "01 06 003f 3501 00 02 12 00 74ef" ETHERNET4, false},
    {143, "01 00 0039 274c" ETHERNET4, false},
    {197, "0102030405060708 02 00 0000 0000 0045 0000" ETHERNET4, false},
    {197, "0102030405060708 82 00 0000 0000 0051 8100000000000000 0100000000000000 0000" ETHERNET6,
     true},
    {197, "0102030405060708 0b 00 0000 0000 0045 0000" ETHERNET4, false},
    {197, "0102030405060708 0f 00 0000 0000 002f ff03 0021", false},
    {197, "0102030405060708 13 00 0000 0000 0043 ff03 0057", true},
    {197, "0102030405060708 10 00 0000 0000 0059 0000" ETHERNET6, true},
    {197, "0102030405060708 14 00 0000 0000 0045 0000" ETHERNET4, false},
    {197, "0102030405060708 01 00 0000 0000 002f ff03 0021", false},
    {197, "0102030405060708 0a 00 0000 0000 0043 0f00 86dd", true},
    {197, "0102030405060708 05 00 0000 0000 0033 00000001 ff03 0021", false},
    {197, "0102030405060708 11 00 0000 0000 0047 00000001 ff03 0057", true},
    {197, "0102030405060708 04 00 0000 0000 0038 00001000" SNAP "0800", false},
    {197, "0102030405060708 09 00 0000 0000 0050 00000001 00001000" SNAP "86dd", true},
    {197, "0102030405060708 16 00 0000 0000 002f", false},
    {197, "0102030405060708 17 00 0000 0000 003f", true},
    {178, "4d4743 01" ETHERNET4, false},
    {178, "4d4743 80 0006 010203040506" ETHERNET6, true},
    {178, "4d4743 02 02000000", false},
    {178, "4d4743 82 0003 010203 06000000", true},
    {167, "4d4743 00" ETHERNET "8864 11 00 0001 002d 0021", false},
    {179, "4d4743 01 ff03 0021", false},
    {180, "4d4743 01 1841 03 8e", true},
    {181, "4d4743 01 0f00 0800", false},
    {137, "4d4743 01 00000001" SNAP "0800", false},
    {135, "4d4743 01 0000000100000002" SNAP "86dd", true},
    {135, "4d4743 01 0000000100000002", false},
    {274, "55555555555555 d5" ETHERNET6, true},
    {219, "000641ff", false},
    {149, "6c000000 01000000 01000000" ZEROS32 ZEROS32 ZEROS32 ETHERNET4, false},

    {1, ETHERNET "8847 000641ff", false},
    {1, ETHERNET "8848 000640ff 000650fe 000041fd", true},
    {1, ETHERNET "8847 000641ff 00000000 000c29000001 000c29000002 0800", false},
    {1, ETHERNET "8847 000641ff 00000007 000c29000001 000c29000002 86dd", true},
    {1, ETHERNET "8847 000641ff 000c29000001 000c29000002 0800", false},
    {1, ETHERNET "8847 000641ff 84a9c4000001 000c29000002 0800", false},
    {1, ETHERNET "8847 000641ff 40f2e9000001 000c29000002 0800", false},
    {1, ETHERNET "8847 000641ff 60f2e9000001 000c29000002 8100 0064 0800", false},
    {1, ETHERNET "8847 000641ff 10f2e9000001 000c29000002 86dd", true},
    {1, ETHERNET "8847 000641ff 00000c000001 000c29000002 0800", false},
    {1, ETHERNET "8847 000641ff 10000021", false},
    {1, ETHERNET "8847 000641ff 10000057", true},
    {1, ETHERNET "88e7 00000123" ETHERNET4, false},
    {1, ETHERNET "88a8 0064 88e7 00000123" ETHERNET6, true},
    {1, ETHERNET "894f 0fc6 01 01 004500ff" ZEROS16, false},
    {1, ETHERNET "894f 0fc2 02 02 004500ff", true},
    {1, ETHERNET "894f 0fc2 02 03 004500ff" ETHERNET4, false},
    {1, ETHERNET "894f 0fc2 02 04 004500ff 0fc2 02 02 004500ff", true},
    {1, ETHERNET "894f 0fc2 02 05 004500ff 000641ff", false},
    {1, ETHERNET "8903 0140" ETHERNET4, false},
    {1, ETHERNET "8903 0140" ETHERNET "8100 0064 86dd", true},
    {1, ETHERNET "8926 00010002 0800", false},
    {1, ETHERNET "8926 00010002 8100 0064 86dd", true},
    {1, ETHERNET "893f 000000640000 0800", false},
    {1, ETHERNET "893f 000000640000 8100 0064 86dd", true},
    {1, ETHERNET "d28b 0001 0010 0000000100000002 0800", false},
    {1, ETHERNET "d28b 0001 0120 000100000002 86dd", true},
    {1, ETHERNET "2452" WLAN("0801") SNAP "0800", false},
    {128, "01 00 0001 01" ETHERNET4, false},
    {128, "01 00 0012 00 0a 01 ce 28 01 00 01" WLAN("8801") "0000" SNAP "86dd", true},
    {128, "01 00 0077 01 00000044 00000090" ZEROS128 ZEROS8 WLAN("0801") SNAP "0800", false},
    {128, "01 01 007f 01 80211001 00000040" ZEROS32 ZEROS16 ZEROS8 WLAN("0801") SNAP "0800", false},
    {1, ETHERNET "88e5 00 00 00000042 0800", false},
    {1, ETHERNET "88e5 20 00 00000042 0200000000020001 86dd", true},
    {1, ETHERNET "88e5 20 2d 00000042 0200000000020001 0800", false},
    {1, ETHERNET "8909 01 01 0001 0064 0800", false},
};

static struct frame *start_link(uint32_t linktype, const char *header) {
    struct frame *frame = start(header);
    frame->linktype = linktype;
    return frame;
}

static void test_headers_before_ip(void) {
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        struct frame *frame = start_link(links[i].linktype, links[i].header);
        put_inner(frame, links[i].version6);
        expect(frame, links[i].version6 ? "tcp good" : "ip good, tcp good", "link type %u: %s",
               links[i].linktype, links[i].header);
        tap_ok(carry_packet_knows_link(links[i].linktype), "link type %u is known",
               links[i].linktype);
        frame->bytes[frame->size - 1] ^= 1;
        expect(frame, links[i].version6 ? "tcp bad" : "ip good, tcp bad", "its damage is found");
    }
}

/* Tests headers that hide or contradict their content: nothing may be found after them. */
static void test_headers_that_end_the_walk(void) {
    static const struct {
        uint32_t linktype;
        const char *header;
        const char *name;
    } ends[] = {
        {1, ETHERNET "0033 424203 0000", "802.2 frames that are not SNAP"},
        {1, ETHERNET "0033 aaab03 000000 0800", "802.2 frames that are nearly SNAP"},
        {1, ETHERNET "0033 aaaa13 000000 0800", "SNAP in numbered frames"},
        {1, ETHERNET "0033 aaaa03 00000c 0800", "SNAP of another organisation"},
        {1, ETHERNET "0033 aaaa03 000001 0800", "SNAP of another by its last bit"},
        {1, ETHERNET "0033 aaaa03 800000 0800", "SNAP of another by its first bit"},
        {147, ETHERNET4, "an unknown link type"},
        {0x10001, ETHERNET4, "a link type of more than 16 bits"},
        {109, "03000000 12345678 00000800", "an unknown address family"},
        {LINK_PPP, "c021", "PPP's link control"},
        {LINK_PPP, "002d", "PPP with compressed headers"},
        {LINK_PPP, "ff03 ff03 0021", "PPP framed twice"},
        {51, "11 a7 0001 0030 0021", "the end of a PPPoE session"},
        {51, "12 00 0001 0030 0021", "another version of PPPoE"},
        {1, ETHERNET "8863 11 00 0001 0030 0021", "PPPoE discovery"},
        {LINK_CHDLC, "0f00 8035", "SLARP"},
        {LINK_WLAN, WLAN("0901") SNAP "0800", "802.11 of version 1"},
        {LINK_WLAN, WLAN("0001") SNAP "0800", "802.11 management"},
        {LINK_WLAN, WLAN("0401") SNAP "0800", "802.11 control"},
        {LINK_WLAN, WLAN("4801") SNAP "0800", "802.11 data without data"},
        {LINK_WLAN, WLAN("c801") "0000" SNAP "0800", "802.11 QoS data without data"},
        {LINK_WLAN, WLAN("0841") SNAP "0800", "802.11, encrypted"},
        {LINK_WLAN, "0801 2c00" ADDRESSES "1100" SNAP "0800", "802.11's second fragment"},
        {LINK_RADIOTAP, "0100 0800 00000000" WLAN("0801") SNAP "0800", "radiotap of version 1"},
        {LINK_RADIOTAP, "0000 0700 000000" WLAN("0801") SNAP "0800", "radiotap of 7 bytes"},
        {LINK_RADIOTAP, "0000 ff00 00000000" WLAN("0801") SNAP "0800",
         "radiotap that extends beyond the frame"},
        {LINK_AVS, "80211001 00000007" WLAN("0801") SNAP "0800", "AVS of 7 bytes"},
        {LINK_AVS, "80211001 ffffffff" WLAN("0801") SNAP "0800",
         "AVS that extends beyond the frame"},
        {LINK_PPI, "0100 0800 01000000" ETHERNET4, "PPI of version 1"},
        {LINK_PPI, "0000 0400 01000000 0200000000020000 0800", "PPI of 4 bytes"},
        {LINK_PPI, "0000 ff00 01000000" ETHERNET4, "PPI that extends beyond the frame"},
        {LINK_PPI, "0000 0800 01000100" ETHERNET4, "PPI with a link type above 16 bits"},
        {10, "41 020000000001 020000000002" SNAP "0800", "FDDI station management"},
        {6, "10 00 020000000001 020000000002" SNAP "0800", "Token Ring management"},
        {6, "10 40 020000000001 020000000002 06b0 0011 0020" SNAP "0800",
         "Token Ring with unannounced routing"},
        {LINK_NFLOG, "02 01 0014 3000 0900", "netfilter log of version 1"},
        {LINK_NFLOG, "07 00 0014 3000 0900", "netfilter log of a bridge without an ethertype"},
        {LINK_NFLOG, "07 00 0014 0500 0100 08000000 3000 0900", "half an ethertype"},
        {LINK_NFLOG, "07 00 0014 0800 0100 0806 0300 3000 0900", "netfilter log of ARP"},
        {LINK_NFLOG, "02 00 0014 0300 0100 3000 0900", "a field below its own header"},
        {LINK_NFLOG, "02 00 0014 ff0f 0100 3000 0900", "a field that extends beyond the frame"},
        {LINK_NFLOG, "02 00 0014 0000 0900", "a packet's field of size 0"},
        {LINK_PKTAP, "08000000 01000000 01000000 0200000000020000 0800", "PKTAP of 8 bytes"},
        {LINK_PKTAP, "ffffffff 01000000 01000000" ETHERNET4, "PKTAP that extends beyond the frame"},
        {LINK_PKTAP, "0c000000 00000000 01000000" ETHERNET4, "PKTAP without a packet"},
        {LINK_PKTAP, "0c000000 01000000 01000100" ETHERNET4, "PKTAP with a large link type"},
        {LINK_FRELAY, "1940 03 cc", "a frame relay address of a byte"},
        {LINK_FRELAY, "1840404041 03 cc", "a frame relay address of 5 bytes"},
        {LINK_FRELAY, "0001 03 08 0075", "frame relay's link management"},
        {LINK_FRELAY, "1841 03 80 00000c 0800", "frame relay with SNAP of another organisation"},
        {LINK_FRELAY, "1841 03 80 0080c2 0003" ETHERNET4, "a bridged token ring"},
        {8, "02 45" ZEROS14, "a direction that SLIP lacks"},
        {166, "02 03 0021", "a direction that pppd lacks"},
        {166, "00 13 0021", "pppd's numbered frames"},
        {LINK_ATM, "424203 0000", "ATM with another LLC"},
        {LINK_ATM, "00", "ATM with a byte before IP"},
        {18, "0501 0002", "the state of a packet filter"},
        {123, "01 00 0020 ff00" ETHERNET4, "control of LAN emulation"},
        {123, "05 00 0020" SNAP "0800", "management of ATM"},
        {7, "01 02 d5 00 0001", "ARP on ARCNET"},
        {7, "01 02 d4 02 0001", "a later fragment on ARCNET"},
        {7, "01 02 d4 ff ffff d4 02 0001", "a later fragment on ARCNET, with an exception"},
        {117, "2c 02 0100" ZEROS32 ZEROS8, "a pflog header of 44 bytes"},
        {117, "ff 02 0100" ZEROS32 ZEROS8, "a pflog header that extends beyond the frame"},
        {117, "2d 03 0100" ZEROS32 ZEROS8 "01000000", "pflog of another family"},
        {226, "02 02 0001 0000002b 00000002 00000000 00000000 00000001", "ipnet of version 2"},
        {226, "01 03 0001 0000002b 00000002 00000000 00000000 00000001", "another family's ipnet"},
        {LINK_NETLINK, "0004 0338 0000 0000000000000000 0000" LOG "02 00 0014 2f00 0900",
         "netlink of another family"},
        {LINK_NETLINK,
         "0004 0338 0000 0000000000000000 000c 43000000 0104" ZEROS8 "0000 02 00 0014"
         "2f00 0900",
         "another message of netfilter's log"},
        {LINK_NETLINK,
         "0004 0338 0000 0000000000000000 000c 0f000000 0004" ZEROS8 "0000 02 00 0014"
         "2f00 0900",
         "a netlink message below its own header"},
        {113, "0004 0338 0000 0000000000000000 0004" SNAP "0800", "LLC on a device of netlink"},
        {143, "c0 00 0043 1234" ETHERNET4, "management of a cable modem"},
        {143, "02 00 0043 1234" ETHERNET4, "a packet of DOCSIS with a parameter"},
        {143, "01 ff 0043 1234" ETHERNET4,
         "an extended header of DOCSIS that extends beyond the frame"},
        {143, "01 06 0049 3501 80 02 12 00 1234" ETHERNET4, "DOCSIS, encrypted upstream"},
        {143, "01 08 0049 10 00 4501 80 02 12 00 1234" ETHERNET4, "DOCSIS, encrypted downstream"},
        {197, "0102030405060708 03 00 0000 0000 002f 0000" ETHERNET4, "ERF of another type"},
        {197, "0102030405060708 82 00 0000 0000 002f 80ffffff", "ERF extensions without an end"},
        {178, "4d4744 01" ETHERNET4, "another magic number than Juniper's"},
        {178, "4d4743 80 ffff" ETHERNET4, "Juniper's extensions that extend beyond the frame"},
        {178, "4d4743 02 0000", "Juniper's frames without a link and a packet"},
        {274, "55555555555555 e6" ETHERNET4, "the beginning of an interrupted frame"},
        {1, ETHERNET "8847 000641ff 10000007", "another associated channel in MPLS"},
        {1, ETHERNET "894f 4fc2 02 01 004500ff", "NSH of version 1"},
        {1, ETHERNET "894f 0fc1 02 01 004500ff", "NSH of 4 bytes"},
        {1, ETHERNET "894f 0fff 02 01 004500ff", "NSH that extends beyond the frame"},
        {1, ETHERNET "894f 0fc2 02 06 004500ff", "NSH before an unassigned protocol"},
        {1, ETHERNET "d28b 0002 0010 0000000100000002 0800", "another kind of Arista's"},
        {1, ETHERNET "d28b 0001 0030 0000000100000002 0800", "an unknown time stamp of Arista's"},
        {128, "02 00 0001 01" ETHERNET4, "TZSP of version 2"},
        {128, "01 04 0001 01" ETHERNET4, "a keepalive of TZSP"},
        {128, "01 00 0002 01" ETHERNET4, "TZSP with another encapsulation"},
        {128, "01 00 0001 0a ff" ETHERNET4, "a tag of TZSP that extends beyond the frame"},
        {1, ETHERNET "88e5 0c 00 00000042 0800", "MACsec, encrypted"},
        {1, ETHERNET "88e5 08 00 00000042 0800", "MACsec, encrypted but not changed"},
        {1, ETHERNET "88e5 04 00 00000042 0800", "MACsec, changed"},
        {1, ETHERNET "88e5 80 00 00000042 0800", "MACsec of version 1"},
    };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        struct frame *frame = start_link(ends[i].linktype, ends[i].header);
        put_inner(frame, false);
        expect(frame, "", "nothing is found after %s", ends[i].name);
    }
    tap_ok(TAP_TRUE(!carry_packet_knows_link(147)) && TAP_TRUE(!carry_packet_knows_link(0x0800)) &&
               TAP_TRUE(!carry_packet_knows_link(0x10001)),
           "unknown link types are reported as unknown");
}

/* Tests IP that ends a byte beyond the length in the header around it. */
static void test_lengths_around_ip(void) {
    static const struct {
        uint32_t linktype;
        const char *header;
        const char *name;
    } shorter[] = {
        {1, ETHERNET "0032" SNAP "0800", "802.3"},
        {51, "11 00 0001 002c 0021", "PPPoE"},
        {LINK_NFLOG, "02 00 0014 2e00 0900", "netfilter log"},
        {1, ETHERNET "88e5 00 2c 00000042 0800", "MACsec"},
        {LINK_WLAN, WLAN("8801") "8000" ETHERNET "0032" SNAP "0800", "an A-MSDU"},
        {LINK_NETLINK, "0004 0338 0000 0000000000000000 000c" LOG "02 00 0014 2e00 0900",
         "a message of netlink"},
    };
    for (size_t i = 0; i < sizeof shorter / sizeof *shorter; i++) {
        struct frame *frame = start_link(shorter[i].linktype, shorter[i].header);
        put_inner(frame, false);
        expect(frame, "ip good, tcp unverifiable/length", "IP longer than the length in %s",
               shorter[i].name);
    }
}

static void test_mpls_stacks(void) {
    struct frame *frame = start(ETHERNET "8847");
    for (int i = 0; i < 10000; i++)
        put(frame, "000640ff");
    put_inner(frame, false);
    expect(frame, "", "a stack of labels without a bottom");

    frame = start(ETHERNET4);
    put_ip(frame, 137, 4 + 20 + 23);
    put(frame, "000641ff");
    put_inner(frame, false);
    expect(frame, "ip good, ip good, tcp good", "MPLS in IP");
}

/* --- Links with fragments or several packets --- */

static void test_arcnet_fragments(void) {
    struct frame *frame = start_link(7, "01 02 d4 03 0001");
    put_inner(frame, false);
    frame->size -= 5;
    expect(frame, "ip good, tcp unverifiable/fragment", "ARCNET's first fragment");
}

static void test_netlink_messages(void) {
    struct frame *frame = start_link(LINK_NETLINK, "0004 0338 0000 0000000000000000 000c");
    for (int i = 0; i < 3; i++) {
        put(frame, LOG "02 00 0014 2f00 0900");
        put_inner(frame, false);
        put(frame, "00");
    }
    expect(frame, "ip good, tcp good, ip good, tcp good, ip good, tcp good",
           "netlink: the packets of all messages are found");

    frame = start_link(LINK_NETLINK, "0004 0338 0000 0000000000000000 000c");
    for (int i = 0; i < 1000; i++)
        put(frame, "10000000 0200 0000 00000001 00000000");
    put(frame, LOG "02 00 0014 2f00 0900");
    put_inner(frame, false);
    expect(frame, "ip good, tcp good", "a packet after 1,000 other messages");
}

static void test_sctp_without_ip(void) {
    struct frame *frame = start_link(248, "c350 0050 00000001 00000000 0e00 0004");
    expect(frame, "sctp absent", "SCTP without IP");
    frame->bytes[11] = 1;
    expect(frame, "sctp bad", "the CRC32c of SCTP without IP is checked");
}

/* --- IEEE 802.11 --- */

static void test_wlan_fragments(void) {
    struct frame *frame = start_link(LINK_WLAN, WLAN("0805") SNAP "0800");
    put_inner(frame, false);
    frame->size -= 5;
    expect(frame, "ip good, tcp unverifiable/fragment", "802.11's first fragment");
}

#define MESH4(flags, control) flags "2c00" ADDRESSES "1000 020000000004" control
#define MESH_GROUP(control)   "8802 2c00 01005e000001 020000000002 020000000003 1000" control

/* A bit of QoS control announces Mesh Control in meshes only; elsewhere, it has other meanings. */
static void test_wlan_meshes(void) {
    static const struct {
        const char *header;
        bool found;
        const char *name;
    } frames[] = {
        {MESH4("8803", "0001 00 1f 00000001") SNAP "0800", true, "no address"},
        {MESH4("8803", "0001 01 1f 00000001" ZEROS6) SNAP "0800", true, "an address"},
        {MESH4("8803", "0001 02 1f 00000001" ZEROS6 ZEROS6) SNAP "0800", true, "two addresses"},
        {MESH4("8883", "0001 00000000 00 1f 00000001") SNAP "0800", true, "HT Control"},
        {MESH_GROUP("0001 00 1f 00000001") SNAP "0800", true, "to a group"},
        {MESH4("8803", "0001") SNAP "0800", true, "no mesh: LLC follows, four addresses"},
        {MESH_GROUP("0001") SNAP "0800", true, "no mesh: LLC follows, to a group"},
        {WLAN("8801") "0001" SNAP "0800", true, "no mesh: to an access point"},
        {MESH4("8803", "0001 03 1f 00000001" ZEROS6 ZEROS6 ZEROS6) SNAP "0800", false,
         "no mesh: reserved flags"},
        {MESH4("8803", "0000 00 1f 00000001") SNAP "0800", false, "no mesh: not announced"},
        {WLAN("8801") "0001 00 1f 00000001" SNAP "0800", false, "no mesh: to an access point"},
        {WLAN("8802") "0001 00 1f 00000001" SNAP "0800", false, "no mesh: to a station"},
        {MESH4("0803", "00 1f 00000001") SNAP "0800", false, "no mesh: no QoS"},
        {MESH4("8803", "0001 00 1f 000001") SNAP "0800", false, "a shorter field"},
    };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        struct frame *frame = start_link(LINK_WLAN, frames[i].header);
        put_inner(frame, false);
        expect(frame, frames[i].found ? "ip good, tcp good" : "", "802.11 mesh: %s",
               frames[i].name);
    }
}

/* Appends the start of a subframe of an A-MSDU; end_subframe() must end it. */
static uint32_t start_subframe(struct frame *frame, const char *type) {
    uint32_t subframe = put(frame, ETHERNET "0000" SNAP);
    put(frame, type);
    return subframe;
}

static void end_subframe(struct frame *frame, uint32_t subframe, bool pad) {
    uint32_t size = frame->size - subframe;
    set16(frame, subframe + 12, size - 14);
    put_many(frame, pad ? -size & 3 : 0, 0xee, 0);
}

static void test_wlan_aggregates(void) {
    struct frame *frame = start_link(LINK_WLAN, WLAN("8801") "8000");
    uint32_t subframe = start_subframe(frame, "0800");
    put_inner(frame, false);
    end_subframe(frame, subframe, true);
    subframe = start_subframe(frame, "86dd");
    uint32_t second = put_inner(frame, true);
    end_subframe(frame, subframe, true);
    subframe = start_subframe(frame, "0806");
    put(frame, "0001 0800 06 04 0001 020000000002" SRC4 "000000000000" DST4);
    end_subframe(frame, subframe, true);
    subframe = start_subframe(frame, "0800");
    put_inner(frame, false);
    end_subframe(frame, subframe, false);
    expect(frame, "ip good, tcp good, tcp good, ip good, tcp good",
           "A-MSDU: the packets of all subframes are found");
    struct result result = check(frame);
    tap_ok(TAP_EQ(result.sums[2].network_offset, second) && TAP_EQ(result.sums[2].version, 6),
           "A-MSDU: each sum belongs to its own packet");
    frame->wire = frame->size;
    frame->size -= 5;
    expect(frame, "ip good, tcp good, tcp good, ip good, tcp unverifiable/snaplen",
           "A-MSDU: the end of the last subframe was not captured");
    frame->size = frame->wire;
    set16(frame, second + 4, 24);
    expect(frame, "ip good, tcp good, tcp unverifiable/length, ip good, tcp good",
           "A-MSDU: no packet extends into the next subframe");

    frame = start_link(LINK_WLAN, WLAN("8801") "8000");
    subframe = start_subframe(frame, "0800");
    put_ip(frame, TCP, 20 + 1480);
    put_tcp(frame, &flow4, 1480);
    end_subframe(frame, subframe, false);
    expect(frame, "ip good, tcp good", "A-MSDU: lengths above 1,500 are not ethertypes");
    set16(frame, subframe + 12, 0xffff);
    expect(frame, "ip good, tcp good",
           "A-MSDU: a subframe that extends beyond the frame is the last");

    frame = start_link(LINK_WLAN, WLAN("8801") "8000");
    for (int i = 0; i < 1000; i++)
        end_subframe(frame, start_subframe(frame, "0806"), true);
    put_inner(frame, false);
    expect(frame, "", "A-MSDU of 1,000 subframes");
}

/* --- Damage --- */

/* Tests headers with some changed bytes: reads remain inside the frame, and repairs make sums
   good. */
static void test_damaged_headers(void) {
    rng_restart();
    bool ok = true;
    for (int round = 0; round < 40000 && ok; round++) {
        size_t i = rng_below(sizeof links / sizeof *links);
        struct frame *frame = start_link(links[i].linktype, links[i].header);
        uint32_t header_size = put_inner(frame, links[i].version6);
        for (size_t changes = 1 + rng_below(4); changes; changes--)
            frame->bytes[rng_below(header_size + 4)] = (uint8_t)rng_next();
        struct result result = check_cut(frame, frame->size - (uint32_t)rng_below(frame->size));
        ok = ok && TAP_TRUE(repairs(frame, &result));
        if (!ok)
            tap_note("damaged: link type %u: %s", links[i].linktype, links[i].header);
    }
    tap_ok(ok, "after damaged headers, storing the expected value makes bad sums good");
}

int main(void) {
    test_headers_before_ip();
    test_headers_that_end_the_walk();
    test_lengths_around_ip();
    test_mpls_stacks();
    test_arcnet_fragments();
    test_netlink_messages();
    test_sctp_without_ip();
    test_wlan_fragments();
    test_wlan_meshes();
    test_wlan_aggregates();
    test_damaged_headers();
    return tap_done();
}
