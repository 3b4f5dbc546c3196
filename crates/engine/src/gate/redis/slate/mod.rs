//! The slate: what every node has committed, chalked up in Redis, one slate an offer.
//!
//! Shared by the judges that count (`lua`, `decr`, `bitmap`): each brings its own question, the facts are the same.
//! `slate.lua` states what is kept and the rule that makes it safe: only committed claims refuse, and facts may arrive
//! twice, late or in any order. A slate is built beside the one that is believed.

use std::{sync::LazyLock, time::Duration};

use holdfast_domain::{HoldId, Moment, OfferId, UnitNo};
use redis::{Script, ScriptInvocation};

use super::server::{Aside, Server};
use crate::gate::Claim;

/// A script that looks at the slate: how it is read, then its own text.
macro_rules! reading_script {
    ($($file:literal),+) => {
        concat!(include_str!("slate.lua"), $("\n", include_str!($file)),+)
    };
}
/// The same for one that changes it.
macro_rules! slate_script {
    ($($file:literal),+) => { reading_script!("write.lua", $($file),+) };
}
pub(super) const LUA: &str = slate_script!("../lua.lua", "ask.lua");
pub(super) const DECR: &str = slate_script!("../decr.lua", "ask.lua");
pub(super) const BITMAP: &str = slate_script!("../bitmap.lua", "ask.lua");

static GLANCE: LazyLock<Script> = LazyLock::new(|| Script::new(reading_script!("glance.lua")));
static KEEP: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("keep.lua")));
static END: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("end.lua")));
static GIVE_BACK: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("give_back.lua")));
static BEGIN: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("begin.lua")));
static DESCRIBE: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("describe.lua")));
static FORGET: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("forget.lua")));
static FINISH: LazyLock<Script> = LazyLock::new(|| Script::new(slate_script!("finish.lua")));

/// Further off than any moment, and still a whole number to Lua.
const EVER_MS: i64 = 1 << 53;

/// The slate of one offer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slate<'a> {
    pub(super) server: &'a Server,
    pub(super) offer: &'a OfferId,
    pub(super) with_bits: bool,
}

/// When a slate is looked at: in which life of the books, and at what time of theirs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) mark: &'a str,
    pub(super) now: Moment,
}

/// What a glance says of one wish: what everybody is told, in numbers, but not these holders, who have some of it.
pub(super) type Glance = (Vec<i64>, Vec<String>);

/// One rebuild, by its own name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Build<'a> {
    pub(super) name: &'a str,
    pub(super) mark: &'a str,
}

/// What a whole slate says of its offer.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    pub(super) limit: u32,
    pub(super) opens_at: Option<Moment>,
    pub(super) closes_at: Option<Moment>,
    pub(super) capacity: u32,
}

impl Slate<'_> {
    fn key(&self, of: &str) -> String {
        format!("hf:{{{}}}:{of}", self.offer)
    }

    fn call<'s>(&self, script: &'s Script) -> ScriptInvocation<'s> {
        let mut call = script.prepare_invoke();
        ["slate", "due", "gone", "passing"].iter().for_each(|of| {
            call.key(self.key(of));
        });
        call.arg(u8::from(self.with_bits));
        call
    }

    /// What the judge says of the claims, in numbers (see `slate.lua`), and of how many in a row it says that.
    /// Those who want the same cost one look.
    pub(super) async fn ask(
        &self,
        judge: &Script,
        at: Look<'_>,
        pass_live: Duration,
        wishes: &[&[&Claim]],
    ) -> Result<Vec<(usize, Vec<i64>)>, Aside> {
        let mut call = self.call(judge);
        call.arg(at.mark).arg(at.now.ms()).arg(pass_live.as_millis() as u64);
        for alike in wishes {
            let (stake, units) = alike[0].wants();
            call.arg(stake).arg(units.len());
            arg_units(&mut call, units);
            call.arg(alike.len());
            for claim in *alike {
                call.arg(claim.hold.to_string()).arg(claim.holder.as_str());
            }
        }
        let (alike, said): (Vec<usize>, Vec<Vec<i64>>) = self.server.invoke(&call).await?;
        Ok(alike.into_iter().zip(said).collect())
    }

    /// What can be said of each wish without knowing who has it. Empty numbers: nothing.
    pub(super) async fn glance(&self, at: Look<'_>, wishes: &[&[&Claim]]) -> Result<Vec<Glance>, Aside> {
        let mut call = self.call(&GLANCE);
        call.arg(at.mark).arg(at.now.ms());
        for alike in wishes {
            let (_, units) = alike[0].wants();
            call.arg(units.len());
            arg_units(&mut call, units);
        }
        let (told, whose): (Vec<Vec<i64>>, Vec<Vec<String>>) = self.server.invoke(&call).await?;
        Ok(told.into_iter().zip(whose).collect())
    }

    /// Chalks up a committed claim.
    pub(super) async fn keep(&self, claim: &Claim) -> Result<(), Aside> {
        self.write(&KEEP, "", std::slice::from_ref(claim)).await.map(drop)
    }

    /// The same for what a rebuild read. False when another build has begun meanwhile.
    pub(super) async fn load(&self, build: Build<'_>, claims: &[Claim]) -> Result<bool, Aside> {
        self.write(&KEEP, build.name, claims).await
    }

    async fn write(&self, script: &Script, build: &str, claims: &[Claim]) -> Result<bool, Aside> {
        let mut call = self.call(script);
        call.arg(build);
        claims.iter().for_each(|claim| arg_claim(&mut call, claim));
        self.server.invoke(&call).await
    }

    /// Wipes out a claim that has ended.
    pub(super) async fn end(&self, hold: HoldId, remembered: Duration) -> Result<(), Aside> {
        let mut call = self.call(&END);
        call.arg(remembered.as_millis() as u64).arg(hold.to_string());
        self.server.invoke(&call).await
    }

    pub(super) async fn give_back(&self, holds: &[HoldId]) -> Result<(), Aside> {
        let mut call = self.call(&GIVE_BACK);
        holds.iter().for_each(|hold| {
            call.arg(hold.to_string());
        });
        self.server.invoke(&call).await
    }

    /// What the slate says of the offer itself is no longer so: it must be built anew, and a build under way is void.
    pub(super) async fn forget(&self) -> Result<(), Aside> {
        self.server.invoke(&self.call(&FORGET)).await
    }

    /// Takes the lease for building a slate beside the one there is. False when somebody else builds, or has just built,
    /// it.
    pub(super) async fn begin(
        &self,
        build: Build<'_>,
        lease: Duration,
        youngest: Duration,
        is_doubted: bool,
    ) -> Result<bool, Aside> {
        let mut call = self.call(&BEGIN);
        call.key(self.key("lease"));
        call.arg(build.name).arg(lease.as_millis() as u64).arg(build.mark).arg(youngest.as_millis() as u64);
        call.arg(u8::from(is_doubted));
        self.server.invoke(&call).await
    }

    /// Gives the lease back, so that somebody else may build. Also to a server that stands still: it takes the lease
    /// when it goes on, and nobody could build for the whole of it. Sent as a text, for nobody will be there to send it
    /// again if Redis does not know the script.
    pub(super) async fn abandon(&self, build: Build<'_>) {
        let mut abandon = redis::cmd("EVAL");
        abandon.arg(include_str!("abandon.lua")).arg(3);
        ["lease", "slate:next", "due:next"].iter().for_each(|of| {
            abandon.arg(self.key(of));
        });
        abandon.arg(build.name);
        let _: Result<i64, Aside> = self.server.insist_on(&abandon).await;
    }

    pub(super) async fn describe(
        &self,
        build: Build<'_>,
        capacities: &[(UnitNo, u32)],
        blocked: &[UnitNo],
    ) -> Result<bool, Aside> {
        let mut call = self.call(&DESCRIBE);
        call.arg(build.name);
        capacities.iter().for_each(|&(unit, capacity)| {
            call.arg(unit).arg(capacity);
        });
        blocked.iter().for_each(|&unit| {
            call.arg(unit).arg("b");
        });
        self.server.invoke(&call).await
    }

    /// The new slate takes the place of the old one, and may be believed. False when this build was overtaken.
    pub(super) async fn finish(&self, build: Build<'_>, about: About, kept: Duration) -> Result<bool, Aside> {
        let mut call = self.call(&FINISH);
        call.key(self.key("lease"));
        call.arg(build.name).arg(build.mark).arg(kept.as_millis() as u64).arg(about.limit);
        call.arg(about.opens_at.map_or(-EVER_MS, Moment::ms))
            .arg(about.closes_at.map_or(EVER_MS, Moment::ms));
        call.arg(about.capacity);
        self.server.invoke(&call).await
    }
}

/// A claim as `claim_at` in `write.lua` reads it.
fn arg_claim(call: &mut ScriptInvocation<'_>, claim: &Claim) {
    let Claim { hold, holder, units, stake, until, version } = claim;
    let ends = until.map_or(0, Moment::ms);
    call.arg(hold.to_string()).arg(holder.as_str()).arg(ends).arg(version.0).arg(stake).arg(units.len());
    arg_units(call, units);
}

fn arg_units(call: &mut ScriptInvocation<'_>, units: &[(UnitNo, u32)]) {
    for (unit, qty) in units {
        call.arg(unit).arg(qty);
    }
}
