//! Placeholder: being written.

use crate::{money::Money, offer::UnitNo, text::Invalid, time::Moment};

/// A calendar as it arrives, unchecked. Times are `HH:MM`, days `mon` … `sun`, dates `YYYY-MM-DD`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CalendarDef {
    pub timezone: String,
    pub grid_minutes: u32,
    pub hours: Vec<HoursDef>,
    pub closed: Vec<String>,
    pub capacity: u32,
    pub services: Vec<Service>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoursDef {
    pub days: Vec<String>,
    pub from: String,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    pub key: String,
    pub minutes: u32,
    pub buffer_before_minutes: u32,
    pub buffer_after_minutes: u32,
    pub price: Money,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Calendar {
    capacity: u32,
}

/// What a service at a start takes: `cells` units from `first`; `unit` is the cell in which the service begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub unit: UnitNo,
    pub first: UnitNo,
    pub cells: u32,
}

/// A start that could be asked for. `offset_s` is the zone's offset at that instant, to tell a DST fold apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    pub at: Moment,
    pub offset_s: i32,
    pub span: Span,
}

impl Calendar {
    pub fn new(_def: &mut CalendarDef) -> Result<Self, Invalid> {
        Err(Invalid::new("slots", "not yet"))
    }

    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    pub fn services(&self) -> &[Service] {
        &[]
    }

    /// The index of a service, for [`Calendar::span`].
    pub fn service(&self, _key: &str) -> Option<u16> {
        None
    }

    /// The cells that the service claims when it starts at that instant, or why it cannot (one sentence).
    pub fn span(&self, _service: u16, _start: Moment) -> Result<Span, String> {
        Err("not yet".into())
    }

    pub fn find(&self, _key: &str) -> Option<UnitNo> {
        None
    }

    pub fn key(&self, _unit: UnitNo) -> String {
        String::new()
    }

    /// Free starts of the service nearest to the cell `around`, for alternatives: at most `max`, those that `free` accepts.
    pub fn nearest_starts(
        &self,
        _service: u16,
        _around: UnitNo,
        _max: usize,
        _free: &dyn Fn(&Span) -> bool,
    ) -> Vec<Start> {
        Vec::new()
    }
}
