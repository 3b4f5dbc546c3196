//! The domain's values as bytes: everything that an entry or a checkpoint is made of.

use std::sync::Arc;

use foldhash::HashMap;
use holdfast_domain::{
    Actor, Amendment, BookingId, Currency, HoldId, HolderId, Invalid, InventoryDef, Line, Moment, Money,
    Offer, OfferDef, OfferId, Relaxed, StockLine,
    schedule::{CalendarDef, Cut, HoursDef, Service},
    seat_plan::{Point, RowDef, SectionDef, Shape},
};

use super::wire::{Malformed, Reader, Writer};

/// Texts that come again and again, shared instead of copied: a million holds on ten offers keep ten names.
#[derive(Debug, Default)]
pub struct Interner {
    offers: HashMap<Box<str>, OfferId>,
    keys: HashMap<Box<str>, Arc<str>>,
    currencies: Vec<Currency>,
}

impl Interner {
    fn offer(&mut self, name: &str) -> Result<OfferId, Invalid> {
        if let Some(known) = self.offers.get(name) {
            return Ok(known.clone());
        }
        let fresh = OfferId::new(name)?;
        self.offers.insert(name.into(), fresh.clone());
        Ok(fresh)
    }

    fn key(&mut self, prefix: &str) -> Arc<str> {
        if let Some(known) = self.keys.get(prefix) {
            return known.clone();
        }
        let fresh: Arc<str> = prefix.into();
        self.keys.insert(prefix.into(), fresh.clone());
        fresh
    }

    fn currency(&mut self, code: &str) -> Result<Currency, Invalid> {
        if let Some(known) = self.currencies.iter().find(|known| known.code() == code) {
            return Ok(*known);
        }
        let fresh = Currency::new(code)?;
        self.currencies.push(fresh);
        Ok(fresh)
    }
}

impl Writer<'_> {
    pub fn moment(&mut self, at: Moment) {
        self.int(at.ms());
    }

    pub fn money(&mut self, money: Money) {
        self.uint(money.minor());
    }

    pub fn currency(&mut self, currency: Currency) {
        self.0.extend_from_slice(currency.code().as_bytes());
    }

    pub fn offer_id(&mut self, offer: &OfferId) {
        self.text(offer.as_str());
    }

    pub fn holder(&mut self, holder: &HolderId) {
        self.text(holder.as_str());
    }

    pub fn actor(&mut self, actor: &Actor) {
        match actor {
            Actor::System => self.byte(0),
            Actor::Key(prefix) => {
                self.byte(1);
                self.text(prefix);
            }
            Actor::Session(holder) => {
                self.byte(2);
                self.holder(holder);
            }
        }
    }

    /// Seats and stock claim the one unit they name, so only a slot writes its span.
    pub fn line(&mut self, line: &Line) {
        self.offer_id(&line.offer);
        self.uint(line.unit);
        self.uint(line.qty);
        self.money(line.price);
        self.option(line.service, |to, service| {
            to.uint(service);
            to.uint(line.first);
            to.uint(line.cells);
        });
    }

    pub fn relaxed(&mut self, relaxed: Relaxed) {
        self.byte(match relaxed {
            Relaxed::Orphan => 0,
            Relaxed::SplitRows => 1,
            Relaxed::Scattered => 2,
        });
    }

    pub fn offer_def(&mut self, def: &OfferDef) {
        self.offer_id(&def.id);
        self.text(&def.name);
        self.currency(def.currency);
        self.uint(def.hold_ttl_s);
        self.option(def.limit_per_holder, |to, limit| to.uint(limit));
        self.option(def.opens_at, Self::moment);
        self.option(def.closes_at, Self::moment);
        match &def.inventory {
            // Plans from before they could say how they lie on the map, and those that still do not.
            InventoryDef::Seats(sections) if !sections.iter().any(SectionDef::is_drawn) => {
                self.byte(0);
                self.list(sections, Self::section);
            }
            InventoryDef::Seats(sections) => {
                self.byte(3);
                self.list(sections, Self::drawn_section);
            }
            InventoryDef::Stock(lines) => {
                self.byte(1);
                self.list(lines, Self::stock_line);
            }
            InventoryDef::Slots(calendar) => {
                self.byte(2);
                self.calendar(calendar);
            }
        }
    }

    fn section(&mut self, section: &SectionDef) {
        self.text(&section.name);
        self.text(&section.category);
        self.money(section.price);
        self.list(&section.rows, |to, row| {
            to.text(&row.name);
            to.uint(row.seats);
        });
    }

    fn drawn_section(&mut self, section: &SectionDef) {
        self.section(section);
        self.option(section.shape.at, |to, Point { x, y }| {
            to.int(x.into());
            to.int(y.into());
        });
        self.int(section.shape.angle.into());
        self.int(section.shape.curve.into());
        section.rows.iter().for_each(|row| self.list(&row.gaps, |to, gap| to.uint(*gap)));
    }

    fn stock_line(&mut self, line: &StockLine) {
        self.text(&line.key);
        self.uint(line.capacity);
        self.money(line.price);
    }

    fn calendar(&mut self, calendar: &CalendarDef) {
        self.text(&calendar.timezone);
        self.uint(calendar.grid_minutes);
        self.list(&calendar.hours, |to, hours| {
            to.list(&hours.days, |to, day| to.text(day));
            to.text(&hours.from);
            to.text(&hours.to);
        });
        self.list(&calendar.closed, |to, day| to.text(day));
        self.uint(calendar.capacity);
        self.list(&calendar.services, |to, service| {
            to.text(&service.key);
            to.uint(service.minutes);
            to.uint(service.buffer_before_minutes);
            to.uint(service.buffer_after_minutes);
            to.money(service.price);
        });
        self.option(calendar.cut, |to, cut| {
            to.uint(cut.cell_minutes);
            to.uint(cut.anchor_minutes);
        });
    }

    pub fn amendment(&mut self, amendment: &Amendment) {
        self.option(amendment.name.as_deref(), Self::text);
        self.option(amendment.hold_ttl_s, |to, ttl| to.uint(ttl));
        self.option(amendment.limit_per_holder, |to, limit| to.option(limit, |to, limit| to.uint(limit)));
        self.option(amendment.opens_at, |to, at| to.option(at, Self::moment));
        self.option(amendment.closes_at, |to, at| to.option(at, Self::moment));
        self.list(&amendment.capacities, |to, (key, capacity)| {
            to.text(key);
            to.uint(*capacity);
        });
        self.option(amendment.closed.as_ref(), |to, closed| to.list(closed, |to, day| to.text(day)));
    }
}

impl Reader<'_> {
    pub(super) fn checked<T>(&self, value: Result<T, Invalid>) -> Result<T, Malformed> {
        value.map_err(|fault| self.fault(fault.to_string()))
    }

    pub fn moment(&mut self) -> Result<Moment, Malformed> {
        self.int().map(Moment::from_ms)
    }

    pub fn money(&mut self) -> Result<Money, Malformed> {
        let money = Money::new(self.uint()?);
        self.checked(money)
    }

    pub fn currency(&mut self, interner: &mut Interner) -> Result<Currency, Malformed> {
        let code = std::str::from_utf8(self.take(3)?).unwrap_or_default();
        self.checked(interner.currency(code))
    }

    pub fn offer_id(&mut self, interner: &mut Interner) -> Result<OfferId, Malformed> {
        let offer = interner.offer(self.text()?);
        self.checked(offer)
    }

    pub fn holder(&mut self) -> Result<HolderId, Malformed> {
        let holder = HolderId::new(self.text()?);
        self.checked(holder)
    }

    pub fn hold_id(&mut self) -> Result<HoldId, Malformed> {
        self.bits128().map(HoldId::from_bits)
    }

    pub fn booking_id(&mut self) -> Result<BookingId, Malformed> {
        self.bits128().map(BookingId::from_bits)
    }

    fn string(&mut self) -> Result<String, Malformed> {
        self.text().map(str::to_owned)
    }

    pub fn actor(&mut self, interner: &mut Interner) -> Result<Actor, Malformed> {
        match self.byte()? {
            0 => Ok(Actor::System),
            1 => Ok(Actor::Key(interner.key(self.text()?))),
            2 => self.holder().map(Actor::Session),
            _ => Err(self.fault("no such actor")),
        }
    }

    pub fn line(&mut self, interner: &mut Interner) -> Result<Line, Malformed> {
        let offer = self.offer_id(interner)?;
        let (unit, qty, price) = (self.u32()?, self.u32()?, self.money()?);
        let span = self.option(|from| Ok((from.service_no()?, from.u32()?, from.u32()?)))?;
        let (service, first, cells) = match span {
            Some((service, first, cells)) => (Some(service), first, cells),
            None => (None, unit, 1),
        };
        if first.checked_add(cells).is_none() {
            return Err(self.fault("a line runs past the last unit"));
        }
        Ok(Line { offer, unit, qty, price, service, first, cells })
    }

    /// A hold's lines: shared by hold and booking, and almost always one.
    pub fn lines(&mut self, interner: &mut Interner) -> Result<Arc<[Line]>, Malformed> {
        let mut rest = self.clone();
        if rest.uint()? == 1 {
            *self = rest;
            return Ok(Arc::new([self.line(interner)?]));
        }
        self.list(|from| from.line(interner)).map(Arc::from)
    }

    fn service_no(&mut self) -> Result<u16, Malformed> {
        self.uint()?.try_into().map_err(|_| self.fault("a number is too large"))
    }

    pub fn relaxed(&mut self) -> Result<Relaxed, Malformed> {
        match self.byte()? {
            0 => Ok(Relaxed::Orphan),
            1 => Ok(Relaxed::SplitRows),
            2 => Ok(Relaxed::Scattered),
            _ => Err(self.fault("no such relaxation")),
        }
    }

    pub fn offer(&mut self, interner: &mut Interner) -> Result<Arc<Offer>, Malformed> {
        let def = OfferDef {
            id: self.offer_id(interner)?,
            name: self.string()?,
            currency: self.currency(interner)?,
            hold_ttl_s: self.u32()?,
            limit_per_holder: self.option(Self::u32)?,
            opens_at: self.option(Self::moment)?,
            closes_at: self.option(Self::moment)?,
            inventory: self.inventory()?,
        };
        self.checked(Offer::new(def)).map(Arc::new)
    }

    fn inventory(&mut self) -> Result<InventoryDef, Malformed> {
        match self.byte()? {
            0 => self.list(Self::section).map(InventoryDef::Seats),
            1 => self.list(Self::stock_line).map(InventoryDef::Stock),
            2 => self.calendar().map(InventoryDef::Slots),
            3 => self.drawn_sections().map(InventoryDef::Seats),
            _ => Err(self.fault("no such kind of offer")),
        }
    }

    fn section(&mut self) -> Result<SectionDef, Malformed> {
        let (name, category, price) = (self.string()?, self.string()?, self.money()?);
        let rows = self.list(|from| Ok(RowDef::new(from.string()?, from.u32()?)))?;
        Ok(SectionDef::new(name, category, price, rows))
    }

    /// One value, one spelling: a plan that says nothing of the map has bytes of its own.
    fn drawn_sections(&mut self) -> Result<Vec<SectionDef>, Malformed> {
        let sections = self.list(Self::drawn_section)?;
        match sections.iter().any(SectionDef::is_drawn) {
            true => Ok(sections),
            false => Err(self.fault("a plan has a shape that says nothing")),
        }
    }

    fn drawn_section(&mut self) -> Result<SectionDef, Malformed> {
        let mut section = self.section()?;
        section.shape = Shape {
            at: self.option(|from| Ok(Point { x: from.i32()?, y: from.i32()? }))?,
            angle: self.i32()?,
            curve: self.i32()?,
        };
        for row in &mut section.rows {
            row.gaps = self.list(Self::u32)?;
        }
        Ok(section)
    }

    fn stock_line(&mut self) -> Result<StockLine, Malformed> {
        Ok(StockLine { key: self.string()?, capacity: self.u32()?, price: self.money()? })
    }

    fn calendar(&mut self) -> Result<CalendarDef, Malformed> {
        Ok(CalendarDef {
            timezone: self.string()?,
            grid_minutes: self.u32()?,
            hours: self.list(|from| {
                Ok(HoursDef { days: from.list(Self::string)?, from: from.string()?, to: from.string()? })
            })?,
            closed: self.list(Self::string)?,
            capacity: self.u32()?,
            services: self.list(|from| {
                Ok(Service {
                    key: from.string()?,
                    minutes: from.u32()?,
                    buffer_before_minutes: from.u32()?,
                    buffer_after_minutes: from.u32()?,
                    price: from.money()?,
                })
            })?,
            cut: self.option(|from| Ok(Cut { cell_minutes: from.u32()?, anchor_minutes: from.u32()? }))?,
        })
    }

    pub fn amendment(&mut self) -> Result<Amendment, Malformed> {
        Ok(Amendment {
            name: self.option(Self::string)?,
            hold_ttl_s: self.option(Self::u32)?,
            limit_per_holder: self.option(|from| from.option(Self::u32))?,
            opens_at: self.option(|from| from.option(Self::moment))?,
            closes_at: self.option(|from| from.option(Self::moment))?,
            capacities: self.list(|from| Ok((from.string()?, from.u32()?)))?,
            closed: self.option(|from| from.list(Self::string))?,
        })
    }
}
