// SPDX-License-Identifier: MIT
//! A device for smoltcp that computes and verifies all checksums with libcarry, as a network card
//! with offload does.

use libcarry::{Frame, Verdict, LINK_ETHERNET, LINK_RAW};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// Fills in the checksums of packets before another device sends them, and drops packets with a
/// wrong checksum that the device receives.
#[derive(Debug)]
pub struct Offload<D> {
    device: D,
}

impl<D> Offload<D> {
    /// Makes the offload for all packets of `device`.
    pub fn new(device: D) -> Self {
        Self { device }
    }

    /// Returns the device below.
    pub fn device(&mut self) -> &mut D {
        &mut self.device
    }
}

fn linktype(medium: Medium) -> u32 {
    match medium {
        Medium::Ip => LINK_RAW,
        Medium::Ethernet => LINK_ETHERNET,
    }
}

/// Checks that no checksum of the packet is wrong.
fn is_right(packet: &[u8], linktype: u32) -> bool {
    let sums = Frame::new(packet, linktype).check();
    !sums.iter().any(|sum| matches!(sum.verdict(), Verdict::Bad | Verdict::Illegal))
}

impl<D: Device> Device for Offload<D> {
    type RxToken<'a>
        = Received
    where
        D: 'a;
    type TxToken<'a>
        = Filled<D::TxToken<'a>>
    where
        D: 'a;

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = self.device.capabilities();
        capabilities.checksum = ChecksumCapabilities::ignored();
        capabilities
    }

    fn receive(&mut self, now: Instant) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let linktype = linktype(self.device.capabilities().medium);
        let packet = loop {
            let (received, _) = self.device.receive(now)?;
            let packet = received.consume(<[u8]>::to_vec);
            if is_right(&packet, linktype) {
                break packet;
            }
        };
        let token = self.device.transmit(now)?;
        Some((Received(packet), Filled { token, linktype }))
    }

    fn transmit(&mut self, now: Instant) -> Option<Self::TxToken<'_>> {
        let linktype = linktype(self.device.capabilities().medium);
        Some(Filled { token: self.device.transmit(now)?, linktype })
    }
}

/// A received packet whose checksums are right.
#[derive(Debug)]
pub struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// A buffer for a packet whose checksums will be filled in.
#[derive(Debug)]
pub struct Filled<T> {
    token: T,
    linktype: u32,
}

impl<T: TxToken> TxToken for Filled<T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, size: usize, write: F) -> R {
        self.token.consume(size, |packet| {
            let result = write(packet);
            let _changes = Frame::new(packet, self.linktype).fill();
            result
        })
    }
}
