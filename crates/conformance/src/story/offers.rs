//! How a story describes what is on sale.
//!
//! ```text
//! offer hall   seats A:2 B:3                        rows and their seats, in one section
//! offer opera  seats stalls=A:4,B:4@4500 box=C:2@9000   sections with a price; the name is also the category
//! offer fest   stock GA:500@3000 VIP:20@9000
//! offer dr-lee slots Europe/Berlin mon-fri/09:00-17:00 consult:30@8000 clean:15+10 chat:15+15+5
//!                                                   service:minutes[+buffer before]+buffer after[@price]
//! ```
//! Options of all kinds: `ttl=600s limit=6 opens=+1h closes=+2h currency=EUR`; of slots: `grid=15 capacity=1
//! closed=2026-12-25,2026-12-26`.

use holdfast_domain::{
    Amendment, Currency, Invalid, InventoryDef, Moment, Money, Offer, OfferDef, OfferId, StockLine,
    schedule::{CalendarDef, HoursDef, Service},
    seat_plan::{RowDef, SectionDef},
};

use super::{Fault, parse::Step};

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const COMMON: [&str; 8] = ["ttl", "limit", "opens", "closes", "currency", "grid", "capacity", "closed"];

/// Reads the values of one step; every fault names the step.
struct Reader<'a> {
    step: &'a Step,
    now: Moment,
}

pub(super) fn offer(step: &Step, now: Moment) -> Result<Result<Offer, Invalid>, Fault> {
    let read = Reader { step, now };
    let id = step.word(0, "the offer's id")?;
    let Ok(id) = OfferId::new(id) else { return Err(Fault::at(step, "not an offer's id")) };
    let inventory = match step.word(1, "seats, stock or slots")? {
        "seats" => InventoryDef::Seats(read.sections()?),
        "stock" => InventoryDef::Stock(read.stock_lines()?),
        "slots" => InventoryDef::Slots(read.calendar()?),
        other => return Err(Fault::at(step, format!("no kind of offer: {other}"))),
    };
    let currency = step.option("currency").unwrap_or("EUR");
    let currency = Currency::new(currency).map_err(|fault| Fault::at(step, fault.to_string()))?;
    Ok(Offer::new(OfferDef {
        name: id.to_string(),
        id,
        currency,
        hold_ttl_s: read.ttl_s()?.unwrap_or(600),
        limit_per_holder: read.limit()?.flatten(),
        opens_at: read.moment("opens")?.flatten(),
        closes_at: read.moment("closes")?.flatten(),
        inventory,
    }))
}

pub(super) fn amendment(step: &Step, now: Moment) -> Result<Amendment, Fault> {
    let read = Reader { step, now };
    let capacities = step.words[1..].iter().map(|word| read.counted(word)).collect::<Result<_, _>>()?;
    Ok(Amendment {
        name: step.option("name").map(str::to_owned),
        hold_ttl_s: read.ttl_s()?,
        limit_per_holder: read.limit()?,
        opens_at: read.moment("opens")?,
        closes_at: read.moment("closes")?,
        capacities,
        closed: step.option("closed").map(listed),
    })
}

impl Reader<'_> {
    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::at(self.step, what)
    }

    fn number(&self, text: &str) -> Result<u32, Fault> {
        text.parse().map_err(|_| self.fault(format!("not a number: {text:?}")))
    }

    /// `A:2`: a name and how many there are of it.
    fn counted(&self, text: &str) -> Result<(String, u32), Fault> {
        let (name, count) =
            text.split_once(':').ok_or_else(|| self.fault(format!("not name:count: {text}")))?;
        Ok((name.to_owned(), self.number(count)?))
    }

    /// `…@4500`: what stands before a price, and the price.
    fn priced<'t>(&self, text: &'t str) -> Result<(&'t str, Money), Fault> {
        let Some((thing, price)) = text.split_once('@') else { return Ok((text, default_price())) };
        let minor = price.parse().ok().and_then(|minor| Money::new(minor).ok());
        Ok((thing, minor.ok_or_else(|| self.fault(format!("not a price: {price}")))?))
    }

    fn sections(&self) -> Result<Vec<SectionDef>, Fault> {
        let mut sections = Vec::new();
        let rows = self.step.words[2..].iter().map(|word| self.row(word)).collect::<Result<Vec<_>, _>>()?;
        if !rows.is_empty() {
            let (name, category) = ("Hall".to_owned(), "std".to_owned());
            sections.push(SectionDef::new(name, category, default_price(), rows));
        }
        for (name, rows) in self.step.options.iter().filter(|(name, _)| !COMMON.contains(&name.as_str())) {
            let (rows, price) = self.priced(rows)?;
            let rows = rows.split(',').map(|row| self.row(row)).collect::<Result<Vec<_>, _>>()?;
            sections.push(SectionDef::new(name.clone(), name.clone(), price, rows));
        }
        Ok(sections)
    }

    fn row(&self, text: &str) -> Result<RowDef, Fault> {
        self.counted(text).map(|(name, seats)| RowDef::new(name, seats))
    }

    fn stock_lines(&self) -> Result<Vec<StockLine>, Fault> {
        let line = |word: &String| {
            let (counted, price) = self.priced(word)?;
            let (key, capacity) = self.counted(counted)?;
            Ok(StockLine { key, capacity, price })
        };
        self.step.words[2..].iter().map(line).collect()
    }

    fn calendar(&self) -> Result<CalendarDef, Fault> {
        let timezone = self.step.word(2, "the time zone")?.to_owned();
        let (mut hours, mut services) = (Vec::new(), Vec::new());
        for word in &self.step.words[3..] {
            match word.split_once('/') {
                Some((days, times)) => hours.push(self.hours(days, times)?),
                None => services.push(self.service(word)?),
            }
        }
        Ok(CalendarDef {
            timezone,
            grid_minutes: self.number(self.step.option("grid").unwrap_or("15"))?,
            hours,
            closed: self.step.option("closed").map(listed).unwrap_or_default(),
            capacity: self.number(self.step.option("capacity").unwrap_or("1"))?,
            services,
            cut: None,
        })
    }

    fn hours(&self, days: &str, times: &str) -> Result<HoursDef, Fault> {
        let (from, to) = times.split_once('-').ok_or_else(|| self.fault("hours are days/from-to"))?;
        Ok(HoursDef { days: self.days(days)?, from: from.to_owned(), to: to.to_owned() })
    }

    /// `mon-fri` or `mon,wed`.
    fn days(&self, text: &str) -> Result<Vec<String>, Fault> {
        let place = |day: &str| DAYS.iter().position(|known| *known == day);
        let Some((first, last)) = text.split_once('-') else { return Ok(listed(text)) };
        match (place(first), place(last)) {
            (Some(first), Some(last)) if first <= last => {
                Ok(DAYS[first..=last].iter().map(|day| (*day).to_owned()).collect())
            }
            _ => Err(self.fault(format!("not a range of days: {text}"))),
        }
    }

    fn service(&self, word: &str) -> Result<Service, Fault> {
        let (service, price) = self.priced(word)?;
        let (key, minutes) = service.split_once(':').ok_or_else(|| self.fault("not service:minutes"))?;
        let minutes = minutes.split('+').map(|part| self.number(part)).collect::<Result<Vec<_>, _>>()?;
        let (minutes, before, after) = match minutes[..] {
            [minutes] => (minutes, 0, 0),
            [minutes, after] => (minutes, 0, after),
            [before, minutes, after] => (minutes, before, after),
            _ => return Err(self.fault("a service is key:[before+]minutes[+after]")),
        };
        let key = key.to_owned();
        Ok(Service { key, minutes, buffer_before_minutes: before, buffer_after_minutes: after, price })
    }

    fn ttl_s(&self) -> Result<Option<u32>, Fault> {
        let Some(ttl) = self.step.option("ttl") else { return Ok(None) };
        let ms = span_ms(ttl).filter(|ms| ms % 1000 == 0).and_then(|ms| u32::try_from(ms / 1000).ok());
        ms.map(Some).ok_or_else(|| self.fault(format!("not a number of seconds: {ttl}")))
    }

    fn limit(&self) -> Result<Option<Option<u32>>, Fault> {
        match self.step.option("limit") {
            None => Ok(None),
            Some("none") => Ok(Some(None)),
            Some(limit) => self.number(limit).map(|limit| Some(Some(limit))),
        }
    }

    /// `+1h` or `-1h` from now, or `none`.
    fn moment(&self, option: &str) -> Result<Option<Option<Moment>>, Fault> {
        let Some(text) = self.step.option(option) else { return Ok(None) };
        let ms = match (text, text.strip_prefix('+'), text.strip_prefix('-')) {
            ("none", ..) => return Ok(Some(None)),
            (_, Some(ahead), _) => span_ms(ahead),
            (_, _, Some(ago)) => span_ms(ago).map(|ms| -ms),
            _ => None,
        };
        let ms = ms.ok_or_else(|| self.fault(format!("{option} is +span, -span or none")))?;
        Ok(Some(Some(self.now.plus_ms(ms))))
    }
}

fn default_price() -> Money {
    Money::new(1000).expect("ten euros can be charged")
}

fn listed(text: &str) -> Vec<String> {
    text.split(',').filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// `250ms`, `90s`, `5m`, `2h`, `7d`.
pub(super) fn span_ms(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: i64 = digits.parse().ok()?;
    let unit = match &text[digits.len()..] {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.checked_mul(unit)
}
