//! Placing a hold: every line is had, or none is.

use std::sync::Arc;

use super::{Decision, Displaced, Subject, in_the_way, known, vacant::Vacant};
use crate::{
    command::{Ask, Pick},
    event::{Event, Placed},
    hold::{Booking, Line},
    ids::{HoldId, HolderId, OfferId},
    money::Money,
    offer::{Inventory, Kind, Offer, UnitNo},
    refusal::{Conflict, Limit, Refusal},
    schedule::{Calendar, Span},
    seating::{self, Relaxed},
    state::{OfferState, State},
    text::Invalid,
    time::Moment,
};

/// How many groups a refusal proposes instead.
const MAX_ALTERNATIVES: usize = 3;

/// The most units one hold may claim: it is decided, written and freed in one go, and everybody else waits.
const MAX_CLAIMED: u64 = 4_096;

pub(super) fn place(
    state: &State,
    id: HoldId,
    holder: &HolderId,
    asks: &[Ask],
    now: Moment,
) -> Result<Decision, Refusal> {
    let mut lines = named_lines(state, asks)?;
    check_shape(state, asks, &lines)?;
    if let Some(own) = same_hold_again(state, holder, asks, &lines, now) {
        return Ok(Subject::Hold(own).unchanged());
    }
    let (relaxed, displaced) = make_room(state, holder, asks, &mut lines, now)?;

    let amount = total(&lines)?;
    let ttl_s = asks.iter().map(|ask| state.offers[&ask.offer].offer().def().hold_ttl_s).min();
    let mut events = displaced.events();
    events.push(Event::HoldPlaced(Placed {
        hold: id,
        holder: holder.clone(),
        lines: lines.into(),
        amount,
        currency: state.offers[&asks[0].offer].offer().currency(),
        expires_at: now.plus_s(ttl_s.expect("a hold has lines")),
        relaxed,
    }));
    Ok(Subject::Hold(id).with(events))
}

/// What the holder has of exactly this already; or else why it cannot be had, which is the limit if nothing else.
pub(super) fn recall(
    state: &State,
    holder: &HolderId,
    asks: &[Ask],
    over: Option<&Limit>,
    now: Moment,
) -> Result<Decision, Refusal> {
    let mut lines = named_lines(state, asks)?;
    check_shape(state, asks, &lines)?;
    if let Some(own) = same_hold_again(state, holder, asks, &lines, now) {
        return Ok(Subject::Hold(own).unchanged());
    }
    let Some(over) = over else { return Err(Refusal::UnknownHold) };
    make_room(state, holder, asks, &mut lines, now)?;
    Err(Refusal::LimitReached(over.clone()))
}

/// Adds the lines that were left to us, and says whom they displace; or why not all can be had.
fn make_room(
    state: &State,
    holder: &HolderId,
    asks: &[Ask],
    lines: &mut Vec<Line>,
    now: Moment,
) -> Result<(Vec<Relaxed>, Displaced), Refusal> {
    check_on_sale(state, asks, now)?;
    check_limits(state, holder, asks, now)?;
    check_searchable(state, asks, lines)?;
    let relaxed = add_best(state, asks, lines, now)?;
    let displaced = check_free(state, asks, lines, now)?;
    Ok((relaxed, displaced))
}

/// The lines that name what they want; best-available ones come later, when it is known that they may.
fn named_lines(state: &State, asks: &[Ask]) -> Result<Vec<Line>, Refusal> {
    // Whatever else is wrong, unknown offers come first; then, of all lines, the reason that takes precedence.
    for ask in asks {
        known(state, &ask.offer)?;
    }
    let mut lines = Vec::with_capacity(asks.len());
    let mut refused: Option<Refusal> = None;
    for ask in asks {
        match named_line(state.offers[&ask.offer].offer(), ask) {
            Ok(line) => lines.extend(line),
            Err(refusal) if refused.as_ref().is_none_or(|first| refusal.rank() < first.rank()) => {
                refused = Some(refusal);
            }
            Err(_) => {}
        }
    }
    refused.map_or(Ok(lines), Err)
}

/// The line that an ask names; `None` where it leaves the choice to us.
pub fn named_line(offer: &Offer, ask: &Ask) -> Result<Option<Line>, Refusal> {
    let unknown = |unit: &str| Refusal::UnknownUnit { offer: ask.offer.clone(), unit: unit.to_owned() };
    match (&ask.pick, offer.inventory()) {
        (Pick::Best { .. }, Inventory::Seats(_)) => Ok(None),
        (Pick::Unit { key, qty }, Inventory::Seats(_) | Inventory::Stock(_)) => {
            let unit = offer.find(key).ok_or_else(|| unknown(key))?;
            let price = offer.price(unit).expect("seats and stock are priced by unit");
            Ok(Some(single(ask.offer.clone(), unit, *qty, price)))
        }
        (Pick::Slot { service, start }, Inventory::Slots(calendar)) => {
            let at = calendar.service(service).ok_or_else(|| unknown(service))?;
            let invalid = |detail| Refusal::InvalidTime { offer: ask.offer.clone(), detail };
            let start = start.map_err(|rule| invalid(format!("start {rule}")))?;
            let span = calendar.span(at, start).map_err(invalid)?;
            Ok(Some(slot(ask.offer.clone(), calendar, at, span)))
        }
        (_, inventory) => Err(wrong_pick(ask, inventory).into()),
    }
}

fn single(offer: OfferId, unit: UnitNo, qty: u32, price: Money) -> Line {
    Line { offer, unit, qty, price, service: None, first: unit, cells: 1 }
}

fn slot(offer: OfferId, calendar: &Calendar, service: u16, span: Span) -> Line {
    let price = calendar.services()[service as usize].price;
    Line {
        offer,
        unit: span.unit,
        qty: 1,
        price,
        service: Some(service),
        first: span.first,
        cells: span.cells,
    }
}

fn wrong_pick(ask: &Ask, inventory: &Inventory) -> Invalid {
    let rule = match inventory {
        Inventory::Seats(_) => "sells seats: ask with \"unit\" or \"best\"",
        Inventory::Stock(_) => "sells stock: ask with \"unit\" and \"qty\"",
        Inventory::Slots(_) => "sells slots: ask with \"service\" and \"start\"",
    };
    Invalid::new("lines", format!("{} {rule}", ask.offer))
}

/// What no state of the sale could make right.
fn check_shape(state: &State, asks: &[Ask], lines: &[Line]) -> Result<(), Invalid> {
    let Some(first) = asks.first() else {
        return Err(Invalid::new("lines", "must name at least one thing to hold"));
    };
    let currency = state.offers[&first.offer].offer().currency();
    if asks.iter().any(|ask| state.offers[&ask.offer].offer().currency() != currency) {
        return Err(Invalid::new("lines", "must all be sold in one currency"));
    }
    for ask in asks {
        let seats = state.offers[&ask.offer].offer().kind() == Kind::Seats;
        match ask.pick {
            Pick::Unit { qty: 0, .. } | Pick::Best { qty: 0, .. } => {
                return Err(Invalid::new("qty", "must be at least 1"));
            }
            Pick::Unit { qty, .. } if seats && qty != 1 => {
                return Err(Invalid::new("qty", "of a seat is always 1"));
            }
            _ => {}
        }
        check_category(state.offers[&ask.offer].offer(), ask)?;
    }
    check_distinct(lines)?;
    match check_size(asks, lines).and_then(|()| total(lines)) {
        // There is not enough of it, however large or dear that would be; it is said in its turn.
        Err(_) if more_than_all(state, asks, lines).is_some() => Ok(()),
        sized => sized.map(|_| ()),
    }
}

/// The offer of which more is asked for than there is at all, so that no state of the sale has room for it.
fn more_than_all<'a>(state: &State, asks: &'a [Ask], lines: &'a [Line]) -> Option<&'a OfferId> {
    let exceeds_line = |line: &&Line| line.qty > state.offers[&line.offer].offer().capacity(line.unit);
    let exceeds_plan = |ask: &&Ask| exceeds_plan(state, asks, ask);
    let stock = lines.iter().find(exceeds_line).map(|line| &line.offer);
    stock.or_else(|| asks.iter().find(exceeds_plan).map(|ask| &ask.offer))
}

/// Whether this best-available ask and its like want more seats than the plan has for them.
fn exceeds_plan(state: &State, asks: &[Ask], ask: &Ask) -> bool {
    let (Pick::Best { category, .. }, Inventory::Seats(plan)) =
        (&ask.pick, state.offers[&ask.offer].offer().inventory())
    else {
        return false;
    };
    let same = |other: &&Ask| {
        other.offer == ask.offer && matches!(&other.pick, Pick::Best { category: of, .. } if of == category)
    };
    let wanted: u64 = asks.iter().filter(same).map(quantity).sum();
    wanted > u64::from(plan.seats_of(category.as_deref()))
}

fn check_size(asks: &[Ask], lines: &[Line]) -> Result<(), Invalid> {
    let best = asks.iter().filter(|ask| matches!(ask.pick, Pick::Best { .. })).map(quantity);
    let claimed = lines.iter().map(|line| u64::from(line.cells)).chain(best).sum::<u64>();
    match claimed > MAX_CLAIMED {
        true => {
            Err(Invalid::new("lines", format!("claim {claimed} units; {MAX_CLAIMED} is the most at once")))
        }
        false => Ok(()),
    }
}

/// No unit is named twice.
fn check_distinct(lines: &[Line]) -> Result<(), Invalid> {
    let mut in_order: Vec<_> = lines.iter().collect();
    in_order.sort_unstable_by_key(|line| (&line.offer, line.first));
    match in_order.windows(2).find(|two| two[0].overlaps(two[1])) {
        Some(two) => Err(Invalid::new("lines", format!("name one unit of {} twice", two[0].offer))),
        None => Ok(()),
    }
}

fn check_category(offer: &Offer, ask: &Ask) -> Result<(), Invalid> {
    let (Pick::Best { category: Some(category), .. }, Inventory::Seats(plan)) =
        (&ask.pick, offer.inventory())
    else {
        return Ok(());
    };
    match plan.sections().iter().any(|section| section.category == *category) {
        true => Ok(()),
        false => Err(Invalid::new("category", format!("{} has no category {category:?}", ask.offer))),
    }
}

/// The holder's own live hold on exactly these lines: asking again is not a conflict with oneself.
fn same_hold_again(
    state: &State,
    holder: &HolderId,
    asks: &[Ask],
    lines: &[Line],
    now: Moment,
) -> Option<HoldId> {
    let first = lines.first().filter(|_| lines.len() == asks.len())?;
    let stake = state.offers[&first.offer].stakes.get(holder)?;
    let same = |hold: &crate::Hold| {
        hold.is_live(now)
            && hold.lines.len() == lines.len()
            && lines.iter().all(|line| hold.lines.iter().any(|held| same_claim(held, line)))
    };
    stake.holds.on(first.unit).find(|id| same(&state.holds[id]))
}

fn same_claim(held: &Line, asked: &Line) -> bool {
    held.offer == asked.offer
        && held.unit == asked.unit
        && held.qty == asked.qty
        && held.service == asked.service
}

fn check_on_sale(state: &State, asks: &[Ask], now: Moment) -> Result<(), Refusal> {
    let closed = asks.iter().map(|ask| state.offers[&ask.offer].offer()).find(|offer| !offer.on_sale(now));
    match closed.map(|offer| offer.def()) {
        Some(def) => Err(Refusal::NotOnSale {
            offer: def.id.clone(),
            opens_at: def.opens_at,
            closes_at: def.closes_at,
        }),
        None => Ok(()),
    }
}

/// Quantity held plus booked, per offer, against the offer's limit.
fn check_limits(state: &State, holder: &HolderId, asks: &[Ask], now: Moment) -> Result<(), Refusal> {
    for (at, ask) in asks.iter().enumerate() {
        let offer = &state.offers[&ask.offer];
        let Some(limit) = offer.offer().def().limit_per_holder else { continue };
        if asks[..at].iter().any(|earlier| earlier.offer == ask.offer) {
            continue;
        }
        let asked: u64 = asks.iter().filter(|other| other.offer == ask.offer).map(quantity).sum();
        let used = used_by(state, offer, holder, u64::from(limit).saturating_sub(asked), now);
        if used + asked > u64::from(limit) {
            return Err(Refusal::LimitReached(Limit::PerHolder {
                offer: ask.offer.clone(),
                limit,
                used,
                asked,
            }));
        }
    }
    Ok(())
}

/// Whether the holder may have the booking's lines in the offer besides what it has there.
pub(super) fn is_within_limit(state: &State, booking: &Booking, offer: &OfferState, now: Moment) -> bool {
    let Some(limit) = offer.offer().def().limit_per_holder else { return true };
    let here = booking.lines.iter().filter(|line| line.offer == *offer.offer().id());
    let asked: u64 = here.map(|line| u64::from(line.qty)).sum();
    let enough = u64::from(limit).saturating_sub(asked);
    used_by(state, offer, &booking.holder, enough, now) + asked <= u64::from(limit)
}

fn quantity(ask: &Ask) -> u64 {
    match ask.pick {
        Pick::Unit { qty, .. } | Pick::Best { qty, .. } => qty.into(),
        Pick::Slot { .. } => 1,
    }
}

/// What the holder has in the offer. Expired holds no longer count, but they are only looked at when the sum
/// that includes them is over `enough`.
fn used_by(state: &State, offer: &OfferState, holder: &HolderId, enough: u64, now: Moment) -> u64 {
    let Some(stake) = offer.stakes.get(holder) else { return 0 };
    let recorded = stake.held + stake.booked;
    if recorded <= enough {
        return recorded;
    }
    let ran_out = |id: &HoldId| !state.holds[id].is_live(now);
    let mut expired: Vec<HoldId> = stake.holds.iter().filter(ran_out).collect();
    expired.sort_unstable();
    expired.dedup();
    let here = |line: &&Line| line.offer == *offer.offer().id();
    let qty_of =
        |id: &HoldId| state.holds[id].lines.iter().filter(here).map(|line| u64::from(line.qty)).sum::<u64>();
    recorded - expired.iter().map(qty_of).sum::<u64>()
}

/// What is too large to be claimed at once came this far only because there is not as much: nobody need look for it.
fn check_searchable(state: &State, asks: &[Ask], lines: &[Line]) -> Result<(), Refusal> {
    let Err(too_large) = check_size(asks, lines) else { return Ok(()) };
    match more_than_all(state, asks, lines) {
        Some(offer) => Err(Refusal::SoldOut { offer: offer.clone(), conflicts: vec![] }),
        None => Err(too_large.into()),
    }
}

/// Finds seats for the best-available asks and adds their lines.
fn add_best(
    state: &State,
    asks: &[Ask],
    lines: &mut Vec<Line>,
    now: Moment,
) -> Result<Vec<Relaxed>, Refusal> {
    let mut relaxed = Vec::new();
    for ask in asks {
        let Pick::Best { qty, category } = &ask.pick else { continue };
        let at = &state.offers[&ask.offer];
        let Inventory::Seats(plan) = at.offer().inventory() else { unreachable!("checked by named_lines") };
        let vacancy = Vacant::new(state, at, plan, lines, now);
        let best = seating::best(plan, &vacancy, *qty, category.as_deref())
            .ok_or_else(|| Refusal::SoldOut { offer: ask.offer.clone(), conflicts: vec![] })?;
        lines.extend(
            best.units.iter().map(|&unit| single(ask.offer.clone(), unit, 1, plan.section_of(unit).price)),
        );
        relaxed.extend(best.relaxed);
    }
    relaxed.sort_unstable();
    relaxed.dedup();
    Ok(relaxed)
}

/// Either room for all lines, or what stands in their way: blocked units before taken ones before stock.
fn check_free(state: &State, asks: &[Ask], lines: &[Line], now: Moment) -> Result<Displaced, Refusal> {
    let mut displaced = Displaced::default();
    let mut full: Vec<(&Line, UnitNo)> = Vec::new();
    for line in lines {
        let offer = &state.offers[&line.offer];
        full.extend(
            line.units()
                .filter(|&unit| !displaced.make_room(offer, unit, line.qty, now))
                .map(|unit| (line, unit)),
        );
    }
    if full.is_empty() {
        return Ok(displaced);
    }
    let counted = |line: &Line| state.offers[&line.offer].offer().kind() == Kind::Stock;
    let blocked = |&(line, unit): &(&Line, UnitNo)| state.offers[&line.offer].unit(unit).blocked;
    let conflict = |of: &dyn Fn(&(&Line, UnitNo)) -> bool| {
        let those = full.iter().filter(|at| of(at));
        those.map(|&(line, unit)| in_the_way(&state.offers[&line.offer], unit, now)).collect::<Vec<_>>()
    };
    let alternatives = |missed: &Line| alternatives(state, asks, lines, missed, now);
    if let Some((missed, _)) = full.iter().find(|at| blocked(at)) {
        let conflicts = conflict(&blocked);
        return Err(Refusal::UnitBlocked(Arc::new(Conflict {
            conflicts,
            alternatives: alternatives(missed),
        })));
    }
    if let Some((missed, _)) = full.iter().find(|(line, _)| !counted(line)) {
        let conflicts = conflict(&|(line, _)| !counted(line));
        return Err(Refusal::UnitTaken(Arc::new(Conflict { conflicts, alternatives: alternatives(missed) })));
    }
    Err(Refusal::SoldOut { offer: full[0].0.offer.clone(), conflicts: conflict(&|_| true) })
}

/// What could be had instead of the lines of `missed`'s offer.
fn alternatives(state: &State, asks: &[Ask], lines: &[Line], missed: &Line, now: Moment) -> Vec<Vec<String>> {
    let at = &state.offers[&missed.offer];
    let offer = at.offer();
    match offer.inventory() {
        Inventory::Stock(_) => Vec::new(),
        Inventory::Seats(plan) => {
            let named =
                asks.iter().filter(|ask| ask.offer == missed.offer && matches!(ask.pick, Pick::Unit { .. }));
            let wanted: Vec<_> = lines
                .iter()
                .filter(|line| line.offer == missed.offer)
                .map(|line| line.unit)
                .take(named.count())
                .collect();
            let vacancy = Vacant::new(state, at, plan, &[], now);
            let groups = seating::alternatives(plan, &vacancy, &wanted, MAX_ALTERNATIVES);
            groups.into_iter().map(|units| units.into_iter().map(|unit| offer.key(unit)).collect()).collect()
        }
        Inventory::Slots(calendar) => {
            let service = missed.service.expect("a slot line names its service");
            // Nobody who asks for the future is helped by the past.
            let earliest = now.min(calendar.begins(missed.unit));
            let full = |cells| at.full_run(cells, now);
            let starts = calendar.nearest_starts(service, missed.unit, earliest, MAX_ALTERNATIVES, &full);
            starts.into_iter().map(|start| vec![offer.key(start.span.unit)]).collect()
        }
    }
}

fn total(lines: &[Line]) -> Result<Money, Invalid> {
    let sum = lines.iter().try_fold(Money::ZERO, |sum, line| sum.plus(line.price.times(line.qty)?));
    sum.ok_or_else(|| Invalid::new("lines", "cost more than can be charged at once"))
}
