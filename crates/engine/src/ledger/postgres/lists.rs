//! Lists, a page at a time: the bookings and the journal.
//!
//! However long the books are, a page costs little: every statement here reads on in one index from where it is told to,
//! and stops after so many rows. What no index tells is sifted from those, and a page for which that went on too long
//! comes back short, with a `next` to go on from.
//!
//! The planner knows nothing of a statement's arguments. Where it might take one index for another, the order asked for
//! is one that only the right index has, such as `(offer_id, seq) > (…) ORDER BY offer_id, seq`. Every statement comes in
//! both orders, for an index is read as well from its end.

use futures::future::try_join;
use holdfast_domain::{Booking, BookingId, HoldId, Moment, OfferId, PaymentState, State};
use tokio_postgres::{Row, types::Type};

use super::{
    Books, rows,
    session::{Args, Session, Sql, Trouble},
};
use crate::ledger::{
    BookingFilter, BookingView, JournalFilter, JournalRecord, Order, Page,
    about::about,
    codec::{self, Interner},
    views::booking_view,
};

/// Rows read at once where most of them may not be meant …
const MANY: usize = 2_000;
/// … where PostgreSQL sifts them by itself …
const VERY_MANY: usize = 20_000;
/// … and how often one page reads on.
const LOOKS: usize = 10;

const FROM: &[Type] = &[Type::INT8, Type::INT8];
const FROM_OF: &[Type] = &[Type::INT8, Type::INT8, Type::TEXT];

/// A statement that reads on from a gap, in either order.
struct EitherWay {
    oldest_first: Sql,
    newest_first: Sql,
}

impl EitherWay {
    const fn reading(&self, order: Order) -> &Sql {
        match order {
            Order::OldestFirst => &self.oldest_first,
            Order::NewestFirst => &self.newest_first,
        }
    }
}

/// What the two have to say differently: how a row lies to the gap, and how rows follow each other.
macro_rules! word {
    (oldest beyond) => {
        ">"
    };
    (newest beyond) => {
        "<="
    };
    (oldest within) => {
        "<="
    };
    (newest within) => {
        ">="
    };
    (oldest rising) => {
        "ASC"
    };
    (newest rising) => {
        "DESC"
    };
}

/// The statement's text, with those words between its pieces.
macro_rules! either_way {
    ($types:expr, $($text:literal $($word:ident)?)+) => {
        EitherWay {
            oldest_first: Sql { text: concat!($($text, " ", $(word!(oldest $word), " ",)?)+), types: $types },
            newest_first: Sql { text: concat!($($text, " ", $(word!(newest $word), " ",)?)+), types: $types },
        }
    };
}

const BOOKINGS: EitherWay = either_way!(
    FROM,
    "SELECT id, place, true FROM holdfast.bookings
     WHERE place" beyond "$1 ORDER BY place" rising "LIMIT $2"
);
/// The rows behind those of the offer are not meant, and say so.
const BOOKINGS_BY_OFFER: EitherWay = either_way!(
    FROM_OF,
    "SELECT id, place, offer_id = $3 FROM holdfast.bookings
     WHERE (offer_id, place)" beyond "($3, $1) ORDER BY offer_id" rising ", place" rising "LIMIT $2"
);
/// Filed under their first offer, they may have lines in others.
const BOOKINGS_OF_SEVERAL: EitherWay = either_way!(
    FROM,
    "SELECT id, place, true FROM holdfast.bookings
     WHERE cardinality(offers) > 1 AND place" beyond "$1 ORDER BY place" rising "LIMIT $2"
);
const BOOKINGS_BY_HOLDER: EitherWay = either_way!(
    FROM_OF,
    "SELECT id, place, holder = $3 FROM holdfast.bookings
     WHERE (holder, place)" beyond "($3, $1) ORDER BY holder" rising ", place" rising "LIMIT $2"
);
/// Reads all payments in that state: few, for they do not stay there. Those that succeeded do, and no index has them.
const BOOKINGS_BY_PAYMENT: EitherWay = either_way!(
    FROM_OF,
    "SELECT b.id, b.place, true FROM holdfast.payments p
     CROSS JOIN LATERAL (SELECT id, place FROM holdfast.bookings
                         WHERE offer_id = p.offer_id AND id = p.booking_id LIMIT 1) AS b
     WHERE p.state = $3 AND p.state <> 'succeeded'
       AND b.place" beyond "$1 ORDER BY b.place" rising "LIMIT $2"
);
const BOOKINGS_BY_INTENT: EitherWay = either_way!(
    FROM_OF,
    "SELECT b.id, b.place, true FROM holdfast.payments p
     CROSS JOIN LATERAL (SELECT id, place FROM holdfast.bookings
                         WHERE offer_id = p.offer_id AND id = p.booking_id LIMIT 1) AS b
     WHERE p.intent = $3 AND b.place" beyond "$1 ORDER BY b.place" rising "LIMIT $2"
);

// What [`record`] reads of an entry comes first in each of these.
const ENTRIES: EitherWay = either_way!(
    FROM,
    "SELECT seq, holdfast.ms(at), actor, kind, hold_id, booking_id, entry, hash, offers FROM holdfast.journal
     WHERE seq" beyond "$1 ORDER BY seq" rising "LIMIT $2"
);
const ENTRIES_BY_BOOKING: EitherWay = either_way!(
    FROM_OF,
    "SELECT seq, holdfast.ms(at), actor, kind, hold_id, booking_id, entry, hash, offers FROM holdfast.journal
     WHERE booking_id = $3 AND seq" beyond "$1 ORDER BY seq" rising "LIMIT $2"
);
const ENTRIES_BY_OFFER: EitherWay = either_way!(
    FROM_OF,
    "SELECT seq, holdfast.ms(at), actor, kind, hold_id, booking_id, entry, hash, offers FROM holdfast.journal
     WHERE (offer_id, seq)" beyond "($3, $1) AND offer_id" within "$3
     ORDER BY offer_id" rising ", seq" rising "LIMIT $2"
);
/// Filed under their first offer, they concern others too. The last of those looked at comes along, meant or not: it
/// says how far the look went.
const ENTRIES_OF_SEVERAL: EitherWay = either_way!(
    FROM_OF,
    "SELECT seq, holdfast.ms(at), actor, kind, hold_id, booking_id, entry, hash, offers, n = $2
     FROM (SELECT *, row_number() OVER (ORDER BY seq" rising ") AS n
           FROM (SELECT * FROM holdfast.journal
                 WHERE cardinality(offers) > 1 AND seq" beyond "$1 ORDER BY seq" rising "LIMIT $2) AS next) AS seen
     WHERE offers @> ARRAY[$3] OR n = $2 ORDER BY seq" rising ""
);
/// The journal has no index by hold, for every hold would pay for it when it is placed: they are sifted from the entries
/// of the hold's offer. In an offer of very many entries that takes several pages.
const ENTRIES_BY_HOLD: EitherWay = either_way!(
    &[Type::INT8, Type::INT8, Type::TEXT, Type::TEXT],
    "SELECT seq, holdfast.ms(at), actor, kind, hold_id, booking_id, entry, hash, offers, n = $2
     FROM (SELECT *, row_number() OVER (ORDER BY seq" rising ") AS n
           FROM (SELECT * FROM holdfast.journal
                 WHERE (offer_id, seq)" beyond "($3, $1) AND offer_id" within "$3
                 ORDER BY offer_id" rising ", seq" rising "LIMIT $2) AS next) AS seen
     WHERE hold_id = $4 OR n = $2 ORDER BY seq" rising ""
);
/// Holds are filed by offer: it is looked for in each of them, which is a few microseconds an offer.
const HOLD: Sql = Sql {
    text: "SELECT h.body FROM holdfast.offers o
           CROSS JOIN LATERAL (SELECT body FROM holdfast.holds WHERE offer_id = o.id AND id = $1 LIMIT 1) AS h
           LIMIT 1",
    types: &[Type::TEXT],
};

/// What one look found, in order, and the gap it came to; `None` where nothing is left.
struct Look<T> {
    found: Vec<T>,
    upto: Option<i64>,
}

impl<T> Look<T> {
    /// Of two that began at one gap: as far as both went.
    fn and(self, other: Self, order: Order, place: impl Fn(&T) -> i64) -> Self {
        let upto = self.upto.into_iter().chain(other.upto).min_by_key(|gap| order.rank(*gap));
        let mut found: Vec<T> = self.found.into_iter().chain(other.found).collect();
        found.retain(|one| upto.is_none_or(|upto| order.is_before(place(one), upto)));
        found.sort_unstable_by_key(|one| order.rank(place(one)));
        found.dedup_by_key(|one| place(one));
        Self { found, upto }
    }
}

/// Gathers a page from one look after another.
struct Gathered<T> {
    data: Vec<(i64, T)>,
    limit: usize,
    order: Order,
}

impl<T> Gathered<T> {
    const fn new(limit: usize, order: Order) -> Self {
        Self { data: Vec::new(), limit, order }
    }

    const fn is_full(&self) -> bool {
        self.data.len() > self.limit
    }

    /// The page, all up to this gap having been looked at.
    fn page(mut self, upto: Option<i64>) -> Page<T> {
        let next = match self.is_full() {
            true => self.data.get(self.limit - 1).map(|(place, _)| self.order.behind(*place)),
            false => upto,
        };
        self.data.truncate(self.limit);
        let data = self.data.into_iter().map(|(_, one)| one).collect();
        Page { data, next: next.map(|gap| gap.to_string()) }
    }
}

/// A page of the bookings. PostgreSQL knows their order, and the copy everything else.
pub(super) async fn bookings(
    books: &Books,
    filter: &BookingFilter,
    mut gap: i64,
    limit: usize,
) -> Result<Page<BookingView>, Trouble> {
    let mut page = Gathered::new(limit, filter.order);
    for _ in 0..LOOKS {
        // Whoever asks by the provider's name for a payment has been told that money moved.
        let session = match filter.intent {
            Some(_) => books.sessions.urgent().await?,
            None => books.sessions.ordinary().await?,
        };
        let look = look_for_bookings(&session, filter, gap, limit).await?;
        drop(session);
        books.feed.level().await?;
        let copy = books.loaded().await?;
        let now = copy.about_now(&books.time);
        for (place, id) in look.found {
            let booking = copy.state.booking(id);
            let meant = booking.filter(|of| !page.is_full() && is_meant(filter, of, &copy.state));
            page.data.extend(meant.map(|booking| (place, booking_view(&copy.state, booking, now))));
        }
        match look.upto {
            Some(upto) if !page.is_full() => gap = upto,
            _ => return Ok(page.page(None)),
        }
    }
    Ok(page.page(Some(gap)))
}

fn is_meant(filter: &BookingFilter, booking: &Booking, state: &State) -> bool {
    let payment = booking.payment.as_deref();
    filter.offer.as_ref().is_none_or(|offer| booking.lines.iter().any(|line| line.offer == *offer))
        && filter.unit.as_ref().is_none_or(|unit| has_unit(booking, filter.offer.as_ref(), unit, state))
        && filter.holder.as_ref().is_none_or(|holder| booking.holder == *holder)
        && filter.payment.is_none_or(|state| payment.is_some_and(|payment| payment.state == state))
        && filter
            .intent
            .as_ref()
            .is_none_or(|intent| payment.is_some_and(|of| of.intent.as_ref() == Some(intent)))
}

fn has_unit(booking: &Booking, offer: Option<&OfferId>, key: &str, state: &State) -> bool {
    let Some(at) = offer.and_then(|offer| state.offer(offer)) else { return false };
    let Some(unit) = at.offer().find(key) else { return false };
    booking.lines.iter().any(|line| Some(&line.offer) == offer && line.units().any(|of| of == unit))
}

/// Follows the index that has the fewest of those that are not meant.
async fn look_for_bookings(
    session: &Session,
    filter: &BookingFilter,
    gap: i64,
    limit: usize,
) -> Result<Look<(i64, BookingId)>, Trouble> {
    let BookingFilter { offer, unit, holder, payment, intent, order } = filter;
    let filters = [offer.is_some(), unit.is_some(), holder.is_some(), payment.is_some(), intent.is_some()];
    let is_sifted = filters.into_iter().filter(|given| *given).count() > 1;
    let few = if is_sifted { MANY.max(limit + 1) } else { limit + 1 };
    let many = MANY.max(limit + 1);
    let next = |way: &'static EitherWay, fetch, of| next_bookings(session, way, *order, gap, fetch, of);
    if let Some(intent) = intent {
        return next(&BOOKINGS_BY_INTENT, few, intent.as_str()).await;
    }
    match payment {
        Some(PaymentState::Succeeded) | None => {}
        Some(state) => return next(&BOOKINGS_BY_PAYMENT, few, state.as_str()).await,
    }
    if let Some(holder) = holder {
        return next(&BOOKINGS_BY_HOLDER, few, holder.as_str()).await;
    }
    let Some(offer) = offer else {
        let fetch = if payment.is_some() { many } else { few };
        return next(&BOOKINGS, fetch, "").await;
    };
    let (filed, several) =
        try_join(next(&BOOKINGS_BY_OFFER, few, offer.as_str()), next(&BOOKINGS_OF_SEVERAL, many, "")).await?;
    Ok(filed.and(several, *order, |(place, _)| *place))
}

async fn next_bookings(
    session: &Session,
    way: &EitherWay,
    order: Order,
    gap: i64,
    fetch: usize,
    of: &str,
) -> Result<Look<(i64, BookingId)>, Trouble> {
    let (sql, most) = (way.reading(order), fetch as i64);
    let args: Args<'_> = &[&gap, &most, &of];
    let rows = session.rows(sql, &args[..sql.types.len()]).await?;
    let booking = |row: &Row| Ok((row.get(1), rows::id(row.get(0))?));
    let meant = rows.iter().take_while(|row| row.get(2));
    let found = meant.map(booking).collect::<Result<Vec<(i64, BookingId)>, Trouble>>()?;
    let upto = found.last().filter(|_| found.len() == fetch).map(|(place, _)| order.behind(*place));
    Ok(Look { found, upto })
}

/// A page of the journal. What an entry says is told from the entry itself, in the names that the copy knows; the copy
/// is looked at between two questions, never kept from the sale while PostgreSQL searches.
pub(super) async fn journal(
    books: &Books,
    filter: &JournalFilter,
    mut gap: i64,
    limit: usize,
) -> Result<Page<JournalRecord>, Trouble> {
    let (mut page, mut interner) = (Gathered::new(limit, filter.order), Interner::default());
    let session = books.sessions.ordinary().await?;
    let Some(way) = Way::to(&session, filter, &mut interner).await? else { return Ok(page.page(None)) };
    // A unit is looked for in what each entry says.
    let fetch = if filter.unit.is_some() { MANY.max(limit + 1) } else { limit + 1 };
    for _ in 0..LOOKS {
        let look = way.look(&session, filter.order, gap, fetch).await?;
        let copy = books.loaded().await?;
        for row in look.found.iter().filter(|row| is_about(row, filter)) {
            let record = record(row, &copy.state, &mut interner)?;
            let meant = filter.unit.as_ref().is_none_or(|unit| record.units.contains(unit));
            page.data.extend((meant && !page.is_full()).then_some((record.seq as i64, record)));
        }
        drop(copy);
        match look.upto {
            Some(upto) if !page.is_full() => gap = upto,
            _ => return Ok(page.page(None)),
        }
    }
    Ok(page.page(Some(gap)))
}

/// The index that leads to what a filter asks for.
enum Way {
    All,
    Booking(BookingId),
    /// Of the offer that its entries are filed under.
    Hold(HoldId, OfferId),
    Offer(OfferId),
}

impl Way {
    /// `None` where there is nothing to be found.
    async fn to(
        session: &Session,
        filter: &JournalFilter,
        interner: &mut Interner,
    ) -> Result<Option<Self>, Trouble> {
        Ok(match (filter.booking, filter.hold, &filter.offer) {
            (Some(booking), ..) => Some(Self::Booking(booking)),
            (None, Some(hold), _) => {
                let found = session.rows(&HOLD, &[&hold.to_string()]).await?;
                let lines = found.first().map(|row| rows::hold_lines(row.get(0), interner)).transpose()?;
                let offer = lines.and_then(|lines| rows::offers_of(&lines).into_iter().next());
                offer.map(|offer| Self::Hold(hold, offer))
            }
            (None, None, Some(offer)) => Some(Self::Offer(offer.clone())),
            (None, None, None) => Some(Self::All),
        })
    }

    async fn look(
        &self,
        session: &Session,
        order: Order,
        gap: i64,
        fetch: usize,
    ) -> Result<Look<Row>, Trouble> {
        let (most, many, very_many) = (fetch as i64, MANY.max(fetch) as i64, VERY_MANY as i64);
        let rows = |way: &'static EitherWay, args| session.rows(way.reading(order), args);
        Ok(match self {
            Self::All => whole(rows(&ENTRIES, &[&gap, &most]).await?, order, most),
            Self::Booking(booking) => {
                let booking = booking.to_string();
                whole(rows(&ENTRIES_BY_BOOKING, &[&gap, &most, &booking]).await?, order, most)
            }
            Self::Hold(hold, offer) => {
                let (hold, offer) = (hold.to_string(), offer.as_str());
                sifted(rows(&ENTRIES_BY_HOLD, &[&gap, &very_many, &offer, &hold]).await?, order)
            }
            Self::Offer(offer) => {
                let offer = offer.as_str();
                let (filed, several): (Args<'_>, Args<'_>) = (&[&gap, &most, &offer], &[&gap, &many, &offer]);
                let (filed, several) =
                    try_join(rows(&ENTRIES_BY_OFFER, filed), rows(&ENTRIES_OF_SEVERAL, several)).await?;
                whole(filed, order, most).and(sifted(several, order), order, seq)
            }
        })
    }
}

fn seq(row: &Row) -> i64 {
    row.get(0)
}

/// A look that fetched as many as it might has not come to the end.
fn whole(found: Vec<Row>, order: Order, most: i64) -> Look<Row> {
    let upto = found.last().filter(|_| found.len() as i64 == most).map(|row| order.behind(seq(row)));
    Look { found, upto }
}

/// One that was sifted ends with the last that was looked at, or with the journal.
fn sifted(found: Vec<Row>, order: Order) -> Look<Row> {
    let upto = found.last().filter(|row| row.get(9)).map(|row| order.behind(seq(row)));
    Look { found, upto }
}

/// Whether the columns of an entry say what a filter asks for.
fn is_about(row: &Row, filter: &JournalFilter) -> bool {
    let named = |column: usize, id: String| row.get::<_, Option<&str>>(column) == Some(id.as_str());
    let offers = |offer: &OfferId| row.get::<_, Vec<&str>>(8).contains(&offer.as_str());
    filter.offer.as_ref().is_none_or(offers)
        && filter.hold.is_none_or(|hold| named(4, hold.to_string()))
        && filter.booking.is_none_or(|booking| named(5, booking.to_string()))
}

fn record(row: &Row, state: &State, interner: &mut Interner) -> Result<JournalRecord, Trouble> {
    let entry = codec::decode_entry(row.get(6), interner)?;
    let about = about(state, &entry.event);
    Ok(JournalRecord {
        seq: row.get::<_, i64>(0) as u64,
        at: Moment::from_ms(row.get(1)),
        actor: row.get(2),
        kind: row.get(3),
        offer: about.offers.first().map(ToString::to_string),
        units: about.units.into_iter().map(|(_, key)| key).collect(),
        hold: row.get(4),
        booking: row.get(5),
        before: about.before.map(str::to_owned),
        after: about.after.map(str::to_owned),
        hash: row.get::<_, &[u8]>(7).iter().map(|byte| format!("{byte:02x}")).collect(),
    })
}
