//! Deterministic mutations of seeds: far from a fuzzer, near enough to keep the targets honest on stable.

/// Bytes that parsers treat specially somewhere.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff \n\t\"'{}[]:,.-+/\\0919azAZTZ";
/// Pieces of text that have broken parsers before.
const TOKENS: &[&str] = &[
    "null",
    "true",
    "1e999",
    "-1",
    "18446744073709551616",
    "4294967296",
    "00",
    "24:00",
    "\u{202e}",
    "\u{301}",
    "é",
    "２",
    "\\u0000",
    "9999-12-31",
    "2026-02-29",
    "T",
    "Z",
    "+14:00",
    "\r\n",
    ",,",
    "\"\"",
    "[[",
    "{}",
];

/// An endless supply of inputs near the seeds, the same ones every time for the same `seed`.
#[derive(Debug)]
pub struct Mutations<'a> {
    seeds: &'a [Vec<u8>],
    dice: u64,
}

impl<'a> Mutations<'a> {
    pub fn new(seeds: &'a [Vec<u8>], seed: u64) -> Self {
        Self { seeds, dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    /// Below `end`; 0 when that is 0. Xorshift: good enough to wander about.
    fn roll(&mut self, end: usize) -> usize {
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        (self.dice % end.max(1) as u64) as usize
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.roll(input.len() + 1);
        let len = self.roll(8).min(input.len() - at);
        match self.roll(8) {
            0 if at < input.len() => input[at] ^= 1 << self.roll(8),
            1 if at < input.len() => input[at] = TELLING[self.roll(TELLING.len())],
            2 => input.insert(at, TELLING[self.roll(TELLING.len())]),
            3 => drop(input.drain(at..at + len)),
            4 => input.truncate(at),
            5 => {
                let piece = input[at..at + len].repeat(1 + self.roll(4));
                input.splice(at..at, piece);
            }
            6 => {
                let token = TOKENS[self.roll(TOKENS.len())];
                input.splice(at..at + len, token.bytes());
            }
            _ => {
                let other = &self.seeds[self.roll(self.seeds.len())];
                let from = self.roll(other.len());
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
        }
    }
}

impl Iterator for Mutations<'_> {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut input = self.seeds.get(self.roll(self.seeds.len()))?.clone();
        for _ in 0..1 + self.roll(5) {
            self.change(&mut input);
        }
        Some(input)
    }
}
