//! The journal for people: everything in order, or the story of one unit, with who had it, from when to when, and what
//! whoever asked meanwhile was told.
//!
//! A refusal changes nothing and is not written down. But what stood in the way at a moment follows from what is, and a
//! refusal follows from that: so the page can say why somebody heard no.

use askama::Template;
use axum::{extract::State, http::Uri, response::Response};
use holdfast_domain::{Moment, Offer, OfferId, UnitState, text};
use holdfast_engine::ledger::{JournalFilter, JournalRecord, OfferView, PageRequest, SnapshotUnits};

use super::{
    super::words,
    Form, Notice, refused, shown,
    spans::{self, Span},
    story::{People, Told},
};
use crate::{
    app::{App, Shared},
    auth::organiser::Organiser,
    problem::{Code, Problem},
    wire::time,
};

const SHOWN_AT_ONCE: usize = 50;
/// The longest story of a unit that is told at once; a seat changes hands a few times.
const LONGEST_STORY: usize = 2_000;

#[derive(Template)]
#[template(path = "admin/journal.html")]
struct JournalPage {
    notice: Option<Notice>,
    asked: Asked,
    unit: Option<UnitStory>,
    story: Vec<Told>,
    /// The address of the next page.
    next: Option<String>,
}

/// What was asked for, as it was typed.
#[derive(Default)]
struct Asked {
    offer: String,
    unit: String,
    at: String,
    after: Option<String>,
}

struct UnitStory {
    key: String,
    offer_name: String,
    now: &'static str,
    /// Who had it and when; none where several may have a part of it at once.
    spans: Vec<Span>,
    /// The answer to "why was I refused then?".
    then: Option<String>,
}

impl Asked {
    fn of(uri: &Uri) -> Self {
        let form = Form::parse(uri.query().unwrap_or_default().as_bytes());
        let text = |name: &str| form.one(name).unwrap_or_default().trim().to_owned();
        let after = form.one("after").map(str::to_owned);
        Self { offer: text("offer"), unit: text("unit"), at: text("at"), after }
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

    fn page(&self, after: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.offer.is_empty() {
            query.append_pair("offer", &self.offer);
        }
        format!("/admin/journal?{}", query.append_pair("after", after).finish())
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
        Ok((unit, story, next)) => shown(&organiser, &JournalPage { notice: None, asked, unit, story, next }),
        Err(problem) if super::is_ours_to_say(&problem) => {
            let notice = Some(Notice::of(&problem));
            let page = JournalPage { notice, asked, unit: None, story: Vec::new(), next: None };
            refused(&organiser, &problem, &page)
        }
        Err(problem) => Err(problem),
    }
}

type Loaded = (Option<UnitStory>, Vec<Told>, Option<String>);

async fn load(app: &App, asked: &Asked) -> Result<Loaded, Problem> {
    let filter = asked.filter()?;
    if let (Some(offer), Some(unit)) = (&filter.offer, &filter.unit) {
        let (offer, unit) = (offer.clone(), unit.clone());
        let records = whole_story(app, filter).await?;
        let people = People::of(app, &records).await?;
        let story = unit_story(app, &offer, &unit, asked.moment()?, &records, &people).await?;
        let told = records.iter().map(|record| Told::of(record, &people)).collect();
        return Ok((Some(story), told, None));
    }
    let page = PageRequest { after: asked.after.clone(), limit: SHOWN_AT_ONCE };
    let page = app.ledger().journal(filter, page).await?;
    let people = People::of(app, &page.data).await?;
    let told = page.data.iter().map(|record| Told::naming(record, &people)).collect();
    Ok((None, told, page.next.map(|after| asked.page(&after))))
}

async fn whole_story(app: &App, filter: JournalFilter) -> Result<Vec<JournalRecord>, Problem> {
    let mut records = Vec::new();
    let mut after = None;
    while records.len() < LONGEST_STORY {
        let page = app.ledger().journal(filter.clone(), PageRequest { after, limit: 500 }).await?;
        records.extend(page.data);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(records)
}

async fn unit_story(
    app: &App,
    id: &OfferId,
    key: &str,
    at: Option<Moment>,
    records: &[JournalRecord],
    people: &People,
) -> Result<UnitStory, Problem> {
    let view = app.ledger().offer(id).await?.ok_or_else(|| Problem::unknown_offer(id.as_str()))?;
    let offer = &view.offer;
    let unknown = || Problem::new(Code::UnknownUnit, format!("{id} has no unit {key:?}."));
    let unit = offer.find(key).ok_or_else(unknown)?;
    let state = state_now(app, offer, unit).await?;
    let spans = match offer.capacity(unit) {
        1 => spans::of(view.created_at, records, people, state),
        _ => Vec::new(),
    };
    let then = at.map(|at| then(&view, key, at, &spans));
    Ok(UnitStory {
        key: key.to_owned(),
        offer_name: offer.def().name.clone(),
        now: spans::word(state),
        spans,
        then,
    })
}

async fn state_now(app: &App, offer: &Offer, unit: u32) -> Result<UnitState, Problem> {
    let unknown = || Problem::unknown_offer(offer.id().as_str());
    let snapshot = app.ledger().snapshot(offer.id(), Some(unit..unit + 1)).await?.ok_or_else(unknown)?;
    let at = match &snapshot.units {
        SnapshotUnits::Dense(units) => units[unit as usize],
        SnapshotUnits::Cells(cells) => cells.first().map(|&(_, unit)| unit).unwrap_or_default(),
    };
    Ok(at.state(offer.capacity(unit)))
}

/// What stood in the way at that moment. The order is that of refusals: first whether it was on sale at all.
fn then(view: &OfferView, key: &str, at: Moment, spans: &[Span]) -> String {
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
                "At {when} {key} was {}{}. Whoever else asked for it heard “{}” (entry {} of the journal stood in the way).",
                span.word,
                span.holder.as_ref().map(|holder| format!(" by {holder}")).unwrap_or_default(),
                code.title(),
                span.entry
            ),
            None => format!("At {when} {key} was free. Whoever asked first got it."),
        },
        None => {
            format!("At {when} several could have a part of {key}; the entries below say who had how much.")
        }
    }
}
