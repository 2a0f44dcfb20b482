// SPDX-License-Identifier: MIT
//! Measures the Internet checksum by libcarry and by other crates: `cargo bench`.
//!
//! `make bench` measures more kinds of work, and other languages.

use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
use std::hint::black_box;

type Function = fn(&[u8]) -> [u8; 2];

/// The compared functions. Each returns the value to store in a header.
const PEERS: [(&str, Function); 4] = [
    ("libcarry", |bytes| libcarry::Sum::of(bytes).finish()),
    ("internet-checksum", internet_checksum::checksum),
    ("smoltcp", |bytes| (!smoltcp::wire::checksum::data(bytes)).to_be_bytes()),
    ("etherparse", |bytes| {
        let sum = etherparse::checksum::Sum16BitWords::new().add_slice(bytes);
        sum.ones_complement().to_ne_bytes()
    }),
];

fn sums(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sum");
    for size in [20, 64, 256, 1500, 9000, 65_535] {
        let bytes: Vec<u8> = (0..size).map(|number| (number * 31) as u8).collect();
        group.throughput(Throughput::Bytes(size));
        for (name, sum) in PEERS {
            assert_eq!(sum(&bytes), PEERS[0].1(&bytes), "{name} of {size} bytes");
            let id = BenchmarkId::new(name, size);
            group.bench_with_input(id, &bytes, |bencher, bytes| {
                bencher.iter(|| sum(black_box(bytes)));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, sums);
criterion_main!(benches);
