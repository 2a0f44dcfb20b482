// SPDX-License-Identifier: MIT
//! Sends a datagram through smoltcp. libcarry computes and verifies its checksums.

use libcarry::{Frame, Verdict, LINK_RAW};
use libcarry_peers::Offload;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, Loopback, Medium, RxToken, TxToken};
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

const NOW: Instant = Instant::ZERO;
const PORT: u16 = 7;

fn buffer() -> PacketBuffer<'static> {
    PacketBuffer::new(vec![PacketMetadata::EMPTY; 4], vec![0; 2048])
}

/// Changes the packet on the loopback with `change`; returns the changed packet.
fn on_the_wire(wire: &mut Loopback, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (received, _) = wire.receive(NOW).expect("a packet was sent");
    let mut packet = received.consume(<[u8]>::to_vec);
    change(&mut packet);
    let token = wire.transmit(NOW).expect("the loopback has room");
    token.consume(packet.len(), |bytes| bytes.copy_from_slice(&packet));
    packet
}

fn main() {
    let mut device = Offload::new(Loopback::new(Medium::Ip));
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut device, NOW);
    let localhost = IpAddress::v4(127, 0, 0, 1);
    interface.update_ip_addrs(|addresses| addresses.push(IpCidr::new(localhost, 8)).unwrap());
    let mut sockets = SocketSet::new(Vec::new());
    let handle = sockets.add(Socket::new(buffer(), buffer()));
    sockets.get_mut::<Socket>(handle).bind(PORT).unwrap();

    for is_damaged in [false, true] {
        let socket = sockets.get_mut::<Socket>(handle);
        socket.send_slice(b"hello", (localhost, PORT)).unwrap();
        interface.poll_egress(NOW, &mut device, &mut sockets);
        let packet = on_the_wire(device.device(), |packet| {
            if is_damaged {
                *packet.last_mut().unwrap() ^= 1;
            }
        });
        for sum in Frame::new(&packet, LINK_RAW).check() {
            println!("{sum}");
            assert_eq!(sum.verdict() == Verdict::Bad, is_damaged && sum.field().start > 20);
        }
        interface.poll(NOW, &mut device, &mut sockets);
        let socket = sockets.get_mut::<Socket>(handle);
        let received = socket.recv().map(|(bytes, _)| bytes.to_vec());
        println!("received: {}", received.is_ok());
        assert_eq!(received.is_ok(), !is_damaged);
    }
}
