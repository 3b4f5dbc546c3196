//! Verification: the whole journal, and everything that claims to follow from it.
//!
//! Reads one view of the database, beside running nodes or without any, and changes nothing. Checks every chain of
//! hashes, that the entries of each offer follow each other, that folding them gives what the tables say, the
//! invariants of that state, and that the counters are the sums of the claims; and names each thing that is broken.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

use holdfast_domain::{Entry, Parts, State, Version, apply_as, invariants};
use tokio_postgres::{Row, types::Type};

use super::{
    chains::Chain,
    replica::{begin_view, read_parts},
    rows,
    session::{Connecting, Session, Sessions, Sql, Trouble},
};
use crate::ledger::{
    LedgerError,
    codec::{self, Interner},
    embedded::verify::Report,
};

/// Rows read at once.
const PAGE: i64 = 20_000;

const JOURNAL: Sql = Sql {
    text: "SELECT seq, chain, link, offers, before, version, entry, hash FROM holdfast.journal
           WHERE seq > $1 ORDER BY seq LIMIT $2",
    types: &[Type::INT8, Type::INT8],
};
/// Units whose counters are not the sums of their live claims.
const COUNTERS: Sql = Sql {
    text: "SELECT u.offer_id, u.unit_no, u.held, u.booked, coalesce(c.held, 0)::bigint, coalesce(c.booked, 0)::bigint
           FROM holdfast.units u
           FULL JOIN (SELECT offer_id, unit_no, sum(qty) FILTER (WHERE NOT booked) AS held,
                             sum(qty) FILTER (WHERE booked) AS booked
                      FROM holdfast.claims GROUP BY offer_id, unit_no) c USING (offer_id, unit_no)
           WHERE u.held IS DISTINCT FROM coalesce(c.held, 0) OR u.booked IS DISTINCT FROM coalesce(c.booked, 0)
           LIMIT 20",
    types: &[],
};
const CLAIMS: Sql =
    Sql { text: "SELECT offer_id, unit_no, hold_id, qty, booked FROM holdfast.claims", types: &[] };
const ANSWERS: Sql = Sql { text: "SELECT count(*) FROM holdfast.answers", types: &[] };

/// Verifies the books that are kept there.
pub async fn verify(connecting: &Connecting) -> Result<Report, LedgerError> {
    let mut session = Sessions::new(connecting, 0)?.ordinary().await?;
    begin_view(&mut session).await?;
    let mut report = Report::default();
    let folded = journal(&session, &mut report).await?;
    let kept = read_parts(&session, None, &mut Interner::default()).await?;
    tables(&mut report, folded.as_ref(), &kept);
    claims(&session, &mut report, &kept).await?;
    report.answers = session.rows_patiently(&ANSWERS, &[]).await?[0].get::<_, i64>(0) as usize;
    (report.offers, report.holds, report.bookings) =
        (kept.offers.len(), kept.holds.len(), kept.bookings.len());
    session.roll_back().await;
    Ok(report)
}

/// Reads the journal once, in order: checks every chain, and folds the entries. The state that they add up to; `None`
/// where they do not fit each other.
async fn journal(session: &Session, report: &mut Report) -> Result<Option<State>, Trouble> {
    let (mut heads, mut folding) = (HashMap::new(), Some(Folding::default()));
    let mut after = 0_i64;
    loop {
        let page = session.rows_patiently(&JOURNAL, &[&after, &PAGE]).await?;
        for row in &page {
            after = row.get(0);
            link(&mut heads, row, report);
            let Some(state) = &mut folding else { continue };
            report.entries += 1;
            if let Err(why) = state.entry(row) {
                report.breaks("I11", format_args!("entry {after}: {why}"));
                folding = None;
            }
        }
        if (page.len() as i64) < PAGE {
            break;
        }
    }
    let Some(Folding { state, .. }) = folding else { return Ok(None) };
    for broken in invariants::check(&state) {
        report.breaks(broken.invariant, broken.what);
    }
    report.shown = report.entries;
    Ok(Some(state))
}

/// Puts an entry at the end of its chain. One transaction at a time writes to a chain, link after link, so its entries
/// come in order, and its head is all that has to be remembered of it.
fn link(heads: &mut HashMap<i64, Chain>, row: &Row, report: &mut Report) {
    let (id, link): (i64, i64) = (row.get(1), row.get(2));
    let head = heads.entry(id).or_insert(Chain { id, link: 0, hash: [0; 32] });
    if link != head.link + 1 {
        report.breaks("I11", format_args!("chain {id}: link {} is missing", head.link + 1));
    }
    *head = Chain { link: link - 1, ..*head }.then(row.get(6));
    if head.hash[..] != *row.get::<_, &[u8]>(7) {
        report.breaks("I11", format_args!("chain {id}: the hash of link {link} does not fit"));
        head.hash = row.get::<_, &[u8]>(7).try_into().unwrap_or_default();
    }
}

#[derive(Default)]
struct Folding {
    state: State,
    versions: HashMap<String, Version>,
    interner: Interner,
}

impl Folding {
    fn entry(&mut self, row: &Row) -> Result<(), String> {
        let (offers, before): (Vec<String>, Vec<i64>) = (row.get(3), row.get(4));
        let version = rows::version(row, 5);
        for (offer, before) in offers.into_iter().zip(before) {
            let known = self.versions.insert(offer.clone(), version).unwrap_or_default();
            if known.0 != before as u64 {
                return Err(format!("{offer} was at {known}, not at 1.{before}"));
            }
        }
        let entry: Entry =
            codec::decode_entry(row.get(6), &mut self.interner).map_err(|fault| fault.to_string())?;
        let state = &mut self.state;
        catch_unwind(AssertUnwindSafe(|| apply_as(state, &entry.event, entry.at, version)))
            .map_err(|_| "does not fit what came before it".to_owned())
    }
}

/// The tables say what the journal adds up to.
fn tables(report: &mut Report, folded: Option<&State>, kept: &Parts) {
    let Some(mut folded) = folded.map(State::parts) else { return };
    folded.holds.sort_unstable_by_key(|hold| hold.id);
    folded.bookings.sort_unstable_by_key(|booking| booking.id);
    let mut offers = kept.offers.clone();
    let mut expected = folded.offers;
    offers.sort_unstable_by(|a, b| a.offer.id().cmp(b.offer.id()));
    expected.sort_unstable_by(|a, b| a.offer.id().cmp(b.offer.id()));
    if offers != expected {
        report.breaks("I11", "the offers are not what the journal says");
    }
    let mut holds = kept.holds.clone();
    holds.sort_unstable_by_key(|hold| hold.id);
    if let Some((found, said)) = holds.iter().zip(&folded.holds).find(|(found, folded)| found != folded) {
        report.breaks("I11", format_args!("hold {} is {found:?}, the journal says {said:?}", found.id));
    } else if holds.len() != folded.holds.len() {
        report.breaks("I11", format_args!("{} holds, the journal has {}", holds.len(), folded.holds.len()));
    }
    let mut bookings = kept.bookings.clone();
    bookings.sort_unstable_by_key(|booking| booking.id);
    if let Some((found, said)) = bookings.iter().zip(&folded.bookings).find(|(found, folded)| found != folded)
    {
        report.breaks("I4", format_args!("booking {} is {found:?}, the journal says {said:?}", found.id));
    } else if bookings.len() != folded.bookings.len() {
        let (found, said) = (bookings.len(), folded.bookings.len());
        report.breaks("I4", format_args!("{found} bookings, the journal has {said}"));
    }
}

/// Live claims are those of active holds and confirmed bookings, and the counters are their sums.
async fn claims(session: &Session, report: &mut Report, kept: &Parts) -> Result<(), Trouble> {
    for row in session.rows_patiently(&COUNTERS, &[]).await? {
        let (offer, unit): (&str, i64) = (row.get(0), row.get(1));
        report.breaks(
            "I3",
            format_args!("unit {unit} of {offer}: its counters are not the sums of its claims"),
        );
    }
    let mut live: HashMap<(String, i64, String), (i64, bool)> = HashMap::new();
    let mut expect = |hold: String, lines: &[holdfast_domain::Line], booked: bool| {
        for line in lines {
            for unit in line.units() {
                let key = (line.offer.to_string(), i64::from(unit), hold.clone());
                live.insert(key, (i64::from(line.qty), booked));
            }
        }
    };
    let active = kept.holds.iter().filter(|hold| hold.is_open());
    active.for_each(|hold| expect(hold.id.to_string(), &hold.lines, false));
    let confirmed =
        kept.bookings.iter().filter(|booking| booking.state == holdfast_domain::BookingState::Confirmed);
    confirmed.for_each(|booking| expect(booking.hold.to_string(), &booking.lines, true));
    for row in session.rows_patiently(&CLAIMS, &[]).await? {
        let key: (String, i64, String) = (row.get(0), row.get(1), row.get(2));
        if live.remove(&key) != Some((row.get(3), row.get(4))) {
            report.breaks(
                "I1",
                format_args!("{} claims unit {} of {} without a right to", key.2, key.1, key.0),
            );
        }
    }
    for (offer, unit, hold) in live.into_keys().take(20) {
        report.breaks("I1", format_args!("{hold} has lost its claim on unit {unit} of {offer}"));
    }
    Ok(())
}
