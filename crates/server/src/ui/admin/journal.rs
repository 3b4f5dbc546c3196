//! The journal for people: everything, or the story of one unit, with who had it, from when to when, and what whoever
//! asked meanwhile was told. The newest comes first, and however much there is, a page shows so much of it.
//!
//! A refusal changes nothing and is not written down. But what stood in the way at a moment follows from what is, and a
//! refusal follows from that: so the page can say why somebody heard no.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{Moment, OfferId, text};
use holdfast_engine::ledger::{
    JournalFilter, JournalRecord, LedgerError, OfferView, Order, Page, PageRequest,
};

use super::{
    super::words,
    Form, Notice,
    bookings::OfferChoice,
    frame::Frame,
    paging::{Place, Turned, Ways, turn},
    refused, shown,
    spans::{self, Span, Stretch},
    story::{People, Told},
    unit::UnitNow,
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::{Code, Problem},
    wire::time,
};

const SHOWN_AT_ONCE: usize = 50;
/// So much of a unit's story is told at once; a seat changes hands a few times.
const STORY: usize = 100;
/// A ledger that has no index of units looks through the offer's entries and gives up after a while: then it is asked to
/// go on, so often.
const LOOKS: usize = 4;

#[derive(Template)]
#[template(path = "admin/journal.html")]
struct JournalPage {
    frame: Frame,
    asked: Asked,
    offers: Vec<OfferChoice>,
    unit: Option<UnitStory>,
    story: Vec<Told>,
    ways: Ways,
}

/// What there is to read on it.
#[derive(Default)]
struct Read {
    unit: Option<UnitStory>,
    story: Vec<Told>,
    ways: Ways,
}

impl JournalPage {
    async fn of(app: &App, asked: Asked, read: Read, notice: Option<Notice>) -> Self {
        let Read { unit, story, ways } = read;
        let offers = OfferChoice::all(app, &asked.offer).await;
        Self { frame: Frame::around(app, notice).await, asked, offers, unit, story, ways }
    }
}

/// What was asked for, as it was typed.
#[derive(Default)]
struct Asked {
    offer: String,
    unit: String,
    at: String,
    place: Place,
}

struct UnitStory {
    key: String,
    name: String,
    offer: String,
    offer_name: String,
    now: &'static str,
    is_undivided: bool,
    /// Who had it and when, the last first; none where several may have a part of it at once.
    spans: Vec<Span>,
    /// The answer to "why was I refused then?".
    then: Option<String>,
}

impl Asked {
    fn of(uri: &Uri) -> Self {
        let form = Form::parse(uri.query().unwrap_or_default().as_bytes());
        let text = |name: &str| form.one(name).unwrap_or_default().trim().to_owned();
        Self { offer: text("offer"), unit: text("unit"), at: text("at"), place: Place::of(&form) }
    }

    fn filter(&self) -> Result<JournalFilter, Problem> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        if self.offer.is_empty() && !self.unit.is_empty() {
            return Err(Problem::invalid("Say which offer the unit is of."));
        }
        Ok(JournalFilter {
            offer: given(&self.offer).map(|id| OfferId::new(&id)).transpose()?,
            unit: given(&self.unit).map(|unit| text::visible("unit", &unit, 64)).transpose()?,
            ..JournalFilter::default()
        })
    }

    /// The moment that was asked about, in UTC as the field has no zone.
    fn moment(&self) -> Result<Option<Moment>, Problem> {
        let text = match self.at.len() {
            0 => return Ok(None),
            16 => format!("{}:00Z", self.at),
            _ if self.at.ends_with('Z') => self.at.clone(),
            _ => format!("{}Z", self.at),
        };
        time::instant(&text)
            .map(Some)
            .map_err(|fault| Problem::invalid(format!("The moment {}.", fault.rule())))
    }

    /// What was asked, to be asked again of another page.
    fn fields(&self) -> [(&str, &str); 3] {
        [("offer", &self.offer), ("unit", &self.unit), ("at", &self.at)]
    }
}

/// `GET /admin/journal`.
pub(crate) async fn read(
    State(app): State<Shared>,
    organiser: Organiser,
    uri: Uri,
) -> Result<Response, Problem> {
    let asked = Asked::of(&uri);
    match load(&app, &asked).await {
        Ok(read) => shown(&organiser, &JournalPage::of(&app, asked, read, None).await),
        Err(problem) if super::is_ours_to_say(&problem) => {
            let notice = Some(Notice::of(&problem));
            refused(&organiser, &problem, &JournalPage::of(&app, asked, Read::default(), notice).await)
        }
        Err(problem) => Err(problem),
    }
}

async fn load(app: &App, asked: &Asked) -> Result<Read, Problem> {
    let filter = asked.filter()?;
    if let (Some(offer), Some(unit)) = (&filter.offer, &filter.unit) {
        let unit = UnitNow::find(app, offer, unit).await?;
        return unit_story(app, asked, &unit, &filter).await;
    }
    let page = turn(&asked.place, SHOWN_AT_ONCE, |order, page| {
        app.ledger().journal(JournalFilter { order, ..filter.clone() }, page)
    });
    let page = page.await?;
    let people = People::of(app, &page.data).await?;
    let story = page.data.iter().map(|record| Told::naming(record, &people)).collect();
    Ok(Read { unit: None, story, ways: Ways::around(&page, "/admin/journal", &asked.fields()) })
}

async fn unit_story(
    app: &App,
    asked: &Asked,
    unit: &UnitNow,
    filter: &JournalFilter,
) -> Result<Read, Problem> {
    let at = asked.moment()?;
    let page = turn(&asked.place, STORY, |order, page| entries(app, filter, order, page));
    let page = page.await?;
    let people = People::of(app, &page.data).await?;
    let mut spans = spans_of(unit, &page, &people);
    let then = at.map(|at| then(&unit.offer, &unit.words(), at, unit.is_undivided(), &spans));
    spans.reverse();
    let story = UnitStory {
        key: unit.key.clone(),
        name: unit.words(),
        offer: unit.offer.offer.id().to_string(),
        offer_name: unit.offer.offer.def().name.clone(),
        now: spans::word(unit.state),
        is_undivided: unit.is_undivided(),
        spans,
        then,
    };
    Ok(Read {
        unit: Some(story),
        story: page.data.iter().map(|record| Told::of(record, &people)).collect(),
        ways: Ways::around(&page, "/admin/journal", &asked.fields()),
    })
}

/// A page of a unit's entries.
async fn entries(
    app: &App,
    filter: &JournalFilter,
    order: Order,
    page: PageRequest,
) -> Result<Page<JournalRecord>, LedgerError> {
    let mut found = Page { data: Vec::new(), next: page.after };
    for _ in 0..LOOKS {
        let rest = PageRequest { after: found.next, limit: page.limit - found.data.len() };
        let more = app.ledger().journal(JournalFilter { order, ..filter.clone() }, rest).await?;
        found.data.extend(more.data);
        found.next = more.next;
        if found.next.is_none() || found.data.len() == page.limit {
            break;
        }
    }
    Ok(found)
}

/// Who had it during the entries of this page, the first of them first.
fn spans_of(unit: &UnitNow, page: &Turned<JournalRecord>, people: &People) -> Vec<Span> {
    if !unit.is_undivided() {
        return Vec::new();
    }
    let stretch = Stretch {
        since: page.earlier.is_none().then_some(unit.offer.created_at),
        now: page.newer.is_none().then_some(unit.state),
    };
    spans::of(stretch, page.data.iter().rev(), people)
}

/// What stood in the way at that moment. The order is that of refusals: first whether it was on sale at all.
fn then(view: &OfferView, name: &str, at: Moment, is_undivided: bool, spans: &[Span]) -> String {
    let when = words::to_the_second(at);
    if at < view.created_at {
        return format!("At {when} there was no such offer yet.");
    }
    if !view.offer.on_sale(at) {
        return format!(
            "At {when} the sale was not open, as its times are set now: everybody heard “{}”.",
            Code::NotOnSale.title()
        );
    }
    match spans::at(spans, at) {
        Some(span) => match span.hears {
            Some(code) => format!(
                "At {when} {name} was {}{}. Whoever else asked for it heard “{}” (entry {} of the journal stood in the way).",
                span.word,
                span.holder.as_ref().map(|holder| format!(" by {holder}")).unwrap_or_default(),
                code.title(),
                span.entry
            ),
            None => format!("At {when} {name} was free. Whoever asked first got it."),
        },
        None if is_undivided => {
            format!("{when} is not among the entries shown here: look for it in the earlier or newer ones.")
        }
        None => {
            format!("At {when} several could have a part of {name}; the entries below say who had how much.")
        }
    }
}
