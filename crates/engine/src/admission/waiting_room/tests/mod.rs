mod crowd;
mod lottery;
mod rules;
mod service;

use holdfast_domain::Moment;

use super::{Method, Plan};

/// Two o'clock in some morning.
fn at(s: i64) -> Moment {
    Moment::from_s(1_794_765_600 + s)
}

fn plan(method: Method, max_active: u32) -> Plan {
    Plan { method, max_active, admit_per_minute: None, session_s: 300, opens_at_ms: None, message: None }
}

/// Dice with a memory: the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.roll() % (to - from)
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.roll() % 100 < chance
    }
}
