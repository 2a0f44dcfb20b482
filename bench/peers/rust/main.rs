// SPDX-License-Identifier: MIT
//! Runs the peers in Rust: answers questions as ../../CONTRACT.md describes.

use std::alloc::{alloc_zeroed, Layout};
use std::arch::asm;
use std::collections::HashMap;
use std::env;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process;
use std::time::Instant;

mod peer;
mod table; // made by build: NOTES, and peers() with their names and functions

use peer::Peer;

const MIX_CALLS: usize = 1 << 17;
const HUGE_PAGE_BYTES: usize = 1 << 21;
const ADVISE_HUGE: i32 = 14; // MADV_HUGEPAGE
const CANARY_TURNS: usize = 2000;
const LOOP_CALLS: usize = 1000; // to verify a loop
const BESIDE_TURNS: usize = 1000;

extern "C" {
    fn madvise(address: *mut u8, size: usize, advice: i32) -> i32;
}

#[derive(Clone, Copy)]
struct Call {
    offset: usize,
    size: usize,
}

struct Question<'a> {
    mode: &'a str,
    one: Call,
    first: usize,
    count: usize,
}

struct Process {
    work: PathBuf,
    source: &'static [u8],
    mixes: HashMap<String, Vec<Call>>,
    peers: Vec<(&'static str, Peer)>,
}

type Answer = Result<String, String>;

/// Does nothing; the result depends on the address, as the latency mode needs.
fn floor(packet: &[u8]) -> u16 {
    packet.as_ptr() as usize as u16
}

/// Runs an empty loop that the compiler cannot remove.
fn floor_branches(calls: usize) -> usize {
    let mut done = 0;
    while calls - done >= 16 {
        // SAFETY: the text contains no instruction. It hides the number from the compiler.
        unsafe { asm!("/* {0} */", inout(reg) done) };
        done += 16;
    }
    calls
}

// --- Files of the driver ---

fn get_memory(size: usize) -> &'static mut [u8] {
    let whole = size.next_multiple_of(HUGE_PAGE_BYTES);
    let layout = Layout::from_size_align(whole, HUGE_PAGE_BYTES).expect("a size");
    // SAFETY: the memory remains valid until the process ends; the advice changes no bytes.
    unsafe {
        let memory = alloc_zeroed(layout);
        assert!(!memory.is_null(), "no memory for {whole} bytes");
        madvise(memory, whole, ADVISE_HUGE);
        std::slice::from_raw_parts_mut(memory, size)
    }
}

fn read_mix(bytes: &[u8]) -> Vec<Call> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word")) as usize;
    bytes
        .chunks_exact(12)
        .map(|row| Call {
            offset: word(&row[..4]),
            size: word(&row[8..]),
        })
        .collect()
}

// --- Calls ---

/// Returns the mode of the calls, without `beside-`.
fn mix_of(mode: &str) -> &str {
    mode.strip_prefix("beside-").unwrap_or(mode)
}

fn run_hot(sum: fn(&[u8]) -> u16, packet: &[u8], count: usize) -> u16 {
    let mut total = 0u16;
    for _ in 0..count {
        total = total.wrapping_add(sum(black_box(packet)));
    }
    total
}

/// Makes each call wait for the previous one: the mask is 0, but the compiler must not assume that.
fn run_latency(sum: fn(&[u8]) -> u16, data: &[u8], size: usize, count: usize) -> u16 {
    let mask = black_box(0);
    let mut last = 0u16;
    for _ in 0..count {
        let start = last as usize & mask;
        last = sum(&data[start..start + size]);
    }
    last
}

fn run_mix(sum: fn(&[u8]) -> u16, data: &[u8], calls: &[Call], first: usize, count: usize) -> u16 {
    let mut total = 0u16;
    for i in first..first + count {
        let call = calls[i % MIX_CALLS];
        total = total.wrapping_add(sum(&data[call.offset..call.offset + call.size]));
    }
    total
}

/// Does the work between two calls: each multiplication waits for the previous one.
fn work_beside(mut x: u64) -> u64 {
    for _ in 0..BESIDE_TURNS {
        x = x.wrapping_mul(0x5851f42d4c957f2d).wrapping_add(1);
        // SAFETY: the text contains no instruction. It hides the number from the compiler.
        unsafe { asm!("/* {0} */", inout(reg) x) };
    }
    x
}

fn run_beside(
    sum: fn(&[u8]) -> u16,
    mut packet: impl FnMut() -> &'static [u8],
    count: usize,
) -> u16 {
    let (mut total, mut work) = (0u16, 1);
    for _ in 0..count {
        total = total.wrapping_add(sum(packet()));
        work = work_beside(work);
    }
    total.wrapping_add(work as u16)
}

fn canary() -> u128 {
    let (mut a, mut b, mut c, mut d) = (1u64, 2u64, 3u64, 4u64);
    let start = Instant::now();
    for _ in 0..CANARY_TURNS {
        a = black_box(a.wrapping_mul(0x9e3779b97f4a7c15).wrapping_add(1));
        b = black_box(b.wrapping_mul(0xbf58476d1ce4e5b9).wrapping_add(3));
        c = black_box(c.wrapping_mul(0x94d049bb133111eb).wrapping_add(5));
        d = black_box(d.wrapping_mul(0xd6e8feb86659fd93).wrapping_add(7));
    }
    start.elapsed().as_nanos()
}

impl Process {
    fn new(work: PathBuf) -> io::Result<Self> {
        let data = fs::read(work.join("data"))?;
        let source = get_memory(data.len());
        source.copy_from_slice(&data);
        let mut peers = vec![
            ("floor", Peer::Sum(floor, |sum| sum)),
            ("floor-branch", Peer::Branches(floor_branches)),
        ];
        peers.extend(table::peers());
        Ok(Process {
            work,
            source,
            mixes: HashMap::new(),
            peers,
        })
    }

    fn find(&self, name: &str) -> Result<Peer, String> {
        let found = self.peers.iter().find(|(own, _)| *own == name);
        found
            .map(|(_, peer)| *peer)
            .ok_or(format!("no function {name}"))
    }

    fn list(&self) -> String {
        let mut lines = Vec::new();
        for (name, peer) in &self.peers {
            let work = if let Peer::Sum(..) = peer {
                "sum"
            } else {
                "branch"
            };
            let flag = match (name.starts_with("floor"), peer) {
                (true, _) => " floor",
                (false, Peer::Sum(..)) => " seedless",
                (false, Peer::Branches(..)) => "",
            };
            lines.push(format!("function {name} {work}{flag}"));
        }
        lines.extend(
            table::NOTES
                .iter()
                .map(|(key, text)| format!("note {key} {text}")),
        );
        lines.push(format!("note beside {BESIDE_TURNS} multiplications"));
        lines.push("end".into());
        lines.join("\n")
    }

    fn verify_vectors(&self, sum: fn(&[u8]) -> u16, to_sum: fn(u16) -> u16) -> io::Result<String> {
        for line in BufReader::new(File::open(self.work.join("vectors"))?).lines() {
            let line = line?;
            let numbers: Vec<usize> = line
                .split(' ')
                .filter_map(|word| word.parse().ok())
                .collect();
            let [offset, _, size, seed, should] = numbers[..] else {
                return Err(io::Error::other("vectors: not five numbers"));
            };
            let is = to_sum(sum(&self.source[offset..offset + size])) as usize;
            if seed == 0 && is % 0xffff != should % 0xffff {
                return Ok(format!("wrong {size} wrong sum at offset {offset}"));
            }
        }
        Ok("right".into())
    }

    fn verify(&self, peer: Peer) -> Answer {
        match peer {
            Peer::Sum(sum, to_sum) => self
                .verify_vectors(sum, to_sum)
                .map_err(|error| error.to_string()),
            Peer::Branches(pass) if pass(LOOP_CALLS) == LOOP_CALLS => Ok("right".into()),
            Peer::Branches(_) => Ok("wrong 0 calls got lost".into()),
        }
    }

    fn load_mix(&mut self, name: &str) -> Result<(), String> {
        if !self.mixes.contains_key(name) {
            let bytes = fs::read(self.work.join(format!("mix-{name}")));
            let calls = read_mix(&bytes.map_err(|_| format!("no mode {name}"))?);
            if calls.len() != MIX_CALLS {
                return Err(format!("mix-{name} has {} calls", calls.len()));
            }
            self.mixes.insert(name.into(), calls);
        }
        Ok(())
    }

    fn run(&self, peer: Peer, question: &Question, first: usize, count: usize) -> usize {
        let Call { offset, size } = question.one;
        let sum = match peer {
            Peer::Branches(pass) => return pass(count),
            Peer::Sum(sum, _) => sum,
        };
        let total = match question.mode {
            "hot" => run_hot(sum, &self.source[offset..offset + size], count),
            "latency" => run_latency(sum, &self.source[offset..], size, count),
            "beside" => {
                let packet = &self.source[offset..offset + size];
                run_beside(sum, || black_box(packet), count)
            }
            mode if mode.starts_with("beside-") => {
                let (calls, mut next) = (&self.mixes[mix_of(mode)], first);
                let packet = || {
                    let call = calls[next % MIX_CALLS];
                    next += 1;
                    &self.source[call.offset..call.offset + call.size]
                };
                run_beside(sum, packet, count)
            }
            mix => run_mix(sum, self.source, &self.mixes[mix], first, count),
        };
        total.into()
    }

    fn time(&mut self, peer: Peer, question: Question) -> Answer {
        if question.one.offset + question.one.size > self.source.len() {
            return Err("outside the data".into());
        }
        if !matches!(question.mode, "hot" | "latency" | "beside") {
            self.load_mix(mix_of(question.mode))?;
        }
        let warm_up = question.count / 4;
        let first = question.first % MIX_CALLS + warm_up.next_multiple_of(MIX_CALLS);
        black_box(self.run(peer, &question, first - warm_up, warm_up));
        let before = canary();
        let start = Instant::now();
        black_box(self.run(peer, &question, first, question.count));
        let took = start.elapsed().as_nanos();
        Ok(format!("{took} {before} {}", canary()))
    }

    fn answer(&mut self, line: &str) -> Answer {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["list"] => Ok(self.list()),
            ["verify", name] => self.verify(self.find(name)?),
            ["time", name, mode, offset, _, size, first, count] => {
                let peer = self.find(name)?;
                let number = |word: &str| word.parse::<usize>().map_err(|error| error.to_string());
                let one = Call {
                    offset: number(offset)?,
                    size: number(size)?,
                };
                let (first, count) = (number(first)?, number(count)?);
                self.time(
                    peer,
                    Question {
                        mode,
                        one,
                        first,
                        count,
                    },
                )
            }
            _ => Err("what?".into()),
        }
    }
}

fn converse(work: PathBuf) -> io::Result<()> {
    let mut process = Process::new(work)?;
    for line in io::stdin().lines() {
        let answer = process
            .answer(&line?)
            .unwrap_or_else(|error| format!("error {error}"));
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

fn main() {
    let Some(work) = env::args_os().nth(1) else {
        eprintln!("usage: run WORK");
        process::exit(1);
    };
    if let Err(error) = converse(work.into()) {
        eprintln!("{error}");
        process::exit(1);
    }
}
