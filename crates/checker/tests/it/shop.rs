//! A simulated shop that sells each thing once, and the history its customers would tell: every operation takes
//! effect at one moment between its start and its end, so the history is valid by construction.

use holdfast_checker::{
    Call, Claim, History, Operation, Outcome,
    history::{Answer, Micros, Reason, UnitInfo},
};

/// Reproducible numbers (splitmix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }
}

pub(crate) struct Setting {
    pub(crate) operations: usize,
    pub(crate) processes: usize,
    /// Capacities of the units.
    pub(crate) units: Vec<u32>,
    pub(crate) ttl_us: Micros,
    pub(crate) with_versions: bool,
    /// One answer in so many is lost.
    pub(crate) lost_one_in: u64,
    pub(crate) seed: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Held { until: Micros },
    Booked,
    Released,
    Cancelled,
}

struct Hold {
    holder: u32,
    claims: Vec<Claim>,
    state: State,
}

struct Shop {
    capacities: Vec<u32>,
    holds: Vec<Hold>,
    /// Holds that may claim each unit.
    on_unit: Vec<Vec<u32>>,
    ttl: Micros,
    version: u64,
    /// Holds that their holders know of.
    known: Vec<u32>,
}

impl Shop {
    fn free(&mut self, unit: u32, now: Micros) -> u32 {
        let holds = &self.holds;
        let claims = |hold: &u32| match holds[*hold as usize].state {
            State::Held { until } => now < until,
            State::Booked => true,
            State::Released | State::Cancelled => false,
        };
        self.on_unit[unit as usize].retain(claims);
        let taken = self.on_unit[unit as usize].iter().map(|hold| {
            let claims = &holds[*hold as usize].claims;
            claims.iter().find(|claim| claim.unit == unit).map_or(0, |claim| claim.qty)
        });
        self.capacities[unit as usize] - taken.sum::<u32>()
    }

    fn answer(&mut self, call: &Call, now: Micros) -> Outcome {
        match call {
            Call::Hold { holder, claims, .. } => self.hold(*holder, claims, now),
            Call::Extend { hold } => self.change(*hold, now, |state, ttl| {
                *state = State::Held { until: now + ttl };
                Answer::Extended { expires_at: now + ttl }
            }),
            Call::Confirm { hold, .. } => {
                let holder = self.holds[*hold as usize].holder;
                self.change(*hold, now, |state, _| {
                    *state = State::Booked;
                    Answer::Confirmed { booking: *hold, holder }
                })
            }
            Call::Release { hold } => match self.holds[*hold as usize].state {
                State::Booked | State::Cancelled => Outcome::Fail(Reason::AlreadyBooked),
                State::Held { until } if now < until => {
                    self.holds[*hold as usize].state = State::Released;
                    Outcome::Ok(Answer::Released)
                }
                _ => Outcome::Ok(Answer::Released),
            },
            Call::Cancel { hold } => match self.holds[*hold as usize].state {
                State::Booked | State::Cancelled => {
                    self.holds[*hold as usize].state = State::Cancelled;
                    Outcome::Ok(Answer::Cancelled)
                }
                _ => Outcome::Fail(Reason::Other("unknown_booking".to_owned())),
            },
            Call::Read { unit } => {
                self.free(*unit, now);
                let count = |booked: bool| -> u32 {
                    let those = self.on_unit[*unit as usize].iter().map(|hold| &self.holds[*hold as usize]);
                    let those = those.filter(|hold| (hold.state == State::Booked) == booked);
                    those
                        .flat_map(|hold| &hold.claims)
                        .filter(|claim| claim.unit == *unit)
                        .map(|claim| claim.qty)
                        .sum()
                };
                Outcome::Ok(Answer::Seen { held: count(false), booked: count(true) })
            }
        }
    }

    fn hold(&mut self, holder: u32, claims: &[Claim], now: Micros) -> Outcome {
        let full: Vec<u32> = claims
            .iter()
            .filter(|claim| self.free(claim.unit, now) < claim.qty)
            .map(|claim| claim.unit)
            .collect();
        if !full.is_empty() {
            return Outcome::Fail(Reason::Taken(full));
        }
        let hold = self.holds.len() as u32;
        claims.iter().for_each(|claim| self.on_unit[claim.unit as usize].push(hold));
        let expires_at = now + self.ttl;
        self.holds.push(Hold { holder, claims: claims.to_vec(), state: State::Held { until: expires_at } });
        Outcome::Ok(Answer::Held { hold, holder, claims: claims.to_vec(), expires_at, again: false })
    }

    fn change(
        &mut self,
        hold: u32,
        now: Micros,
        change: impl FnOnce(&mut State, Micros) -> Answer,
    ) -> Outcome {
        let state = &mut self.holds[hold as usize].state;
        match state {
            State::Held { until } if now < *until => Outcome::Ok(change(state, self.ttl)),
            State::Held { .. } => Outcome::Fail(Reason::Expired),
            State::Released => Outcome::Fail(Reason::Released),
            State::Booked | State::Cancelled => Outcome::Fail(Reason::AlreadyBooked),
        }
    }
}

/// Each process asks one thing after the other; the shop answers all of them in the order of their moments.
pub(crate) fn history(setting: &Setting) -> History {
    let mut dice = Dice(setting.seed);
    let mut shop = Shop {
        capacities: setting.units.clone(),
        holds: Vec::new(),
        on_unit: vec![Vec::new(); setting.units.len()],
        ttl: setting.ttl_us,
        version: 0,
        known: Vec::new(),
    };
    // The moments of the next operation of each process, soonest first.
    let mut agenda: std::collections::BinaryHeap<std::cmp::Reverse<(Micros, Micros, usize)>> = (0..setting
        .processes)
        .map(|process| {
            let start = dice.below(100) as Micros;
            std::cmp::Reverse((start + dice.below(100) as Micros, start, process))
        })
        .collect();
    let mut operations = Vec::with_capacity(setting.operations);
    while operations.len() < setting.operations {
        let std::cmp::Reverse((moment, start, process)) = agenda.pop().expect("a process asks forever");
        let end = moment + dice.below(100) as Micros;
        let call = next_call(setting, &shop, process as u32, &mut dice);
        let mut outcome = shop.answer(&call, moment);
        let changed = matches!(outcome, Outcome::Ok(_)) && !matches!(call, Call::Read { .. });
        shop.version += u64::from(changed);
        if setting.lost_one_in > 0 && dice.below(setting.lost_one_in) == 0 {
            outcome = Outcome::Unknown;
        }
        if let Outcome::Ok(Answer::Held { hold, .. }) = outcome {
            shop.known.push(hold);
        }
        let version =
            (changed && setting.with_versions && outcome != Outcome::Unknown).then_some(shop.version);
        operations.push(Operation { process: process as u32, start, end, call, outcome, version });
        let start = end + 1 + dice.below(20) as Micros;
        agenda.push(std::cmp::Reverse((start + dice.below(100) as Micros, start, process)));
    }
    let unit = |(at, capacity): (usize, &u32)| UnitInfo { name: format!("u{at}"), capacity: *capacity };
    History {
        tolerance_us: 0,
        units: setting.units.iter().enumerate().map(unit).collect(),
        operations,
        ending: None,
    }
}

fn next_call(setting: &Setting, shop: &Shop, process: u32, dice: &mut Dice) -> Call {
    let unit = dice.below(setting.units.len() as u64) as u32;
    // Something recent, so that most of it is still alive.
    let recent = shop.known.len().min(2 * setting.processes);
    let some_hold = |dice: &mut Dice| shop.known[shop.known.len() - 1 - dice.below(recent as u64) as usize];
    match dice.below(10) {
        _ if shop.known.is_empty() => {}
        0 => return Call::Release { hold: some_hold(dice) },
        1 | 2 => return Call::Confirm { hold: some_hold(dice), key: None },
        3 => return Call::Cancel { hold: some_hold(dice) },
        4 => return Call::Extend { hold: some_hold(dice) },
        5 => return Call::Read { unit },
        _ => {}
    }
    let mut claims =
        vec![Claim { unit, qty: 1 + dice.below(u64::from(setting.units[unit as usize].min(3))) as u32 }];
    if dice.below(4) == 0 && setting.units.len() > 1 {
        let other = (unit + 1) % setting.units.len() as u32;
        claims.push(Claim { unit: other, qty: 1 });
    }
    Call::Hold { holder: process, claims, key: None, hold: None }
}
