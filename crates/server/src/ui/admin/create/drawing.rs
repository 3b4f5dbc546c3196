//! A seat plan as a picture, drawn by the server so that it is there without a script: as the organiser placed its
//! sections, or as a hall before a stage.
//!
//! Lengths are widths of a seat. Every section is bent by one function `place(along, back)`: so far along its rows from
//! their middle, so far back from its front row. The map in the shop lays plans out by the same rules.

use std::fmt::Write as _;

use holdfast_domain::seat_plan::{RowDef, SectionDef, Shape};

const ROW_PITCH: f64 = 1.18;
const MARGIN: f64 = 1.5;
const BETWEEN: f64 = 0.5;
const BEHIND: f64 = 2.0;
/// The widest that a tier may reach around the stage, in radians.
const HALL_ARC: f64 = 1.15;
const MOST_ABREAST: usize = 5;
const STAGE_TOP: f64 = -6.5;
/// Beyond this many seats, rows are drawn as lines.
const MOST_DOTS: u32 = 6_000;
/// Categories have so many colours, over and over.
const COLOURS: usize = 6;

pub(super) struct Drawing {
    pub view_box: String,
    /// A hall has one; where sections have places, nobody knows what they look at.
    pub stage: Option<Stage>,
    pub sections: Vec<DrawnSection>,
    pub as_lines: bool,
}

pub(super) struct Stage {
    pub x: String,
    pub y: String,
    pub width: String,
}

pub(super) struct DrawnSection {
    pub name: String,
    pub colour: usize,
    /// A dot for each seat, or a line for each row.
    pub path: String,
    pub x: String,
    pub y: String,
}

struct Block<'a> {
    section: &'a SectionDef,
    width: f64,
    depth: f64,
}

impl<'a> Block<'a> {
    fn of(section: &'a SectionDef) -> Self {
        let width = widest(section) - 1.0 + 2.0 * MARGIN;
        Self { section, width, depth: depth_of(section) + MARGIN }
    }

    /// Whether it belongs beside another: of one category, with as many rows.
    fn lies_beside(&self, other: &Self) -> bool {
        self.section.category == other.section.category && self.section.rows.len() == other.section.rows.len()
    }
}

/// A row's length, its aisles included.
fn length(row: &RowDef) -> f64 {
    f64::from(row.seats) + row.gaps.len() as f64
}

fn widest(section: &SectionDef) -> f64 {
    section.rows.iter().map(length).fold(1.0, f64::max)
}

fn depth_of(section: &SectionDef) -> f64 {
    section.rows.len().saturating_sub(1) as f64 * ROW_PITCH
}

/// Where a seat lies that is so far along its row and so far back.
type Place = Box<dyn Fn(f64, f64) -> (f64, f64)>;

/// Sections side by side, so far back from the stage.
struct Tier<'a> {
    blocks: Vec<Block<'a>>,
    back: f64,
    width: f64,
}

fn tiers(sections: &[SectionDef]) -> Vec<Tier<'_>> {
    let mut tiers: Vec<Tier<'_>> = Vec::new();
    for block in sections.iter().map(Block::of) {
        match tiers.last_mut() {
            Some(tier) if tier.blocks.len() < MOST_ABREAST && tier.blocks[0].lies_beside(&block) => {
                tier.width += block.width + BETWEEN;
                tier.blocks.push(block);
            }
            last => {
                let behind = |tier: &mut Tier<'_>| {
                    tier.back + tier.blocks.iter().map(|block| block.depth).fold(0.0, f64::max) + BEHIND
                };
                let (back, width) = (last.map_or(0.0, behind), block.width);
                tiers.push(Tier { blocks: vec![block], back, width });
            }
        }
    }
    tiers
}

/// The corners of what was drawn so far.
struct Extent {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Extent {
    fn include(&mut self, x: f64, y: f64) {
        (self.left, self.right) = (self.left.min(x), self.right.max(x));
        (self.top, self.bottom) = (self.top.min(y), self.bottom.max(y));
    }
}

impl Drawing {
    pub(super) fn of(sections: &[SectionDef]) -> Self {
        let seats: u32 = sections.iter().flat_map(|section| &section.rows).map(|row| row.seats).sum();
        let as_lines = seats > MOST_DOTS;
        let (places, half_stage) = match sections.iter().all(|section| section.shape.at.is_some()) {
            true => (sections.iter().map(as_drawn).collect(), None),
            false => as_hall(sections),
        };
        let half = half_stage.unwrap_or(0.0);
        let mut extent = match half_stage {
            Some(half) => Extent { left: -half, right: half, top: STAGE_TOP, bottom: 0.0 },
            None => Extent { left: f64::MAX, right: f64::MIN, top: f64::MAX, bottom: f64::MIN },
        };
        let mut categories: Vec<&str> = Vec::new();
        let mut drawn = Vec::new();
        for (section, place) in sections.iter().zip(&places) {
            let path = rows(section, as_lines, place, &mut extent);
            let (x, y) = place(0.0, depth_of(section) + 1.9);
            extent.include(x, y + 1.0);
            let category = section.category.as_str();
            let colour = categories.iter().position(|known| *known == category).unwrap_or_else(|| {
                categories.push(category);
                categories.len() - 1
            });
            let (name, colour) = (section.name.clone(), colour % COLOURS);
            drawn.push(DrawnSection { name, colour, path, x: short(x), y: short(y) });
        }
        let (width, height) = (extent.right - extent.left + 4.0, extent.bottom - extent.top + 3.0);
        let corner = (short(extent.left - 2.0), short(extent.top - 1.5));
        let stage = Stage { x: short(-half), y: short(STAGE_TOP), width: short(2.0 * half) };
        Self {
            view_box: format!("{} {} {} {}", corner.0, corner.1, short(width), short(height)),
            stage: half_stage.map(|_| stage),
            sections: drawn,
            as_lines,
        }
    }
}

/// A section where the organiser placed it: bent around a point before it, then turned.
fn as_drawn(section: &SectionDef) -> Place {
    let Shape { at, angle, curve } = section.shape;
    let (x, y) = at.map_or((0.0, 0.0), |at| (f64::from(at.x), f64::from(at.y)));
    let (sin, cos) = f64::from(angle).to_radians().sin_cos();
    let radius = widest(section) / f64::from(curve).to_radians();
    Box::new(move |along, back| {
        let (u, v) = match curve {
            0 => (along, back),
            _ => {
                let reach = radius + back;
                let bend = along / reach;
                (reach * bend.sin(), reach * bend.cos() - radius)
            }
        };
        (x + u * cos - v * sin, y + u * sin + v * cos)
    })
}

/// Sections in tiers around a stage, and half of that stage's width.
fn as_hall(sections: &[SectionDef]) -> (Vec<Place>, Option<f64>) {
    let tiers = tiers(sections);
    let radius = tiers.iter().fold(9.0, |radius: f64, tier| radius.max(tier.width / HALL_ARC - tier.back));
    let mut places: Vec<Place> = Vec::new();
    for tier in &tiers {
        let (mut left, tiers_back) = (-tier.width / 2.0, tier.back);
        for block in &tier.blocks {
            let middle = left + block.width / 2.0;
            left += block.width + BETWEEN;
            places.push(Box::new(move |along, back| {
                let reach = radius + tiers_back + back;
                let angle = (middle + along) / reach;
                (reach * angle.sin(), reach * angle.cos() - radius)
            }));
        }
    }
    (places, Some(tiers.first().map_or(4.0, |tier| (tier.width * 0.36).min(16.0))))
}

/// The path of a section's seats: a move and a line of no length is a dot.
fn rows(section: &SectionDef, as_lines: bool, place: &Place, extent: &mut Extent) -> String {
    let mut path = String::new();
    for (at, row) in section.rows.iter().enumerate() {
        let back = at as f64 * ROW_PITCH;
        let mut along = -(length(row) - 1.0) / 2.0;
        // Of a row that is a line, a few points are enough to see its bend.
        let step = if as_lines { (row.seats / 8).max(1) } else { 1 };
        for seat in 1..=row.seats {
            if seat == 1 || seat == row.seats || seat.is_multiple_of(step) {
                let (x, y) = place(along, back);
                extent.include(x, y);
                let pen = if as_lines && seat > 1 { 'L' } else { 'M' };
                let dot = if as_lines { "" } else { "h0" };
                write!(path, "{pen}{} {}{dot}", short(x), short(y)).expect("writing to a string");
            }
            along += if row.gaps.contains(&seat) { 2.0 } else { 1.0 };
        }
    }
    path
}

/// Two decimals are finer than anybody sees.
fn short(length: f64) -> String {
    format!("{:.2}", length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holdfast_domain::{Money, seat_plan::Point};

    fn section(name: &str, category: &str, rows: u32, seats: u32) -> SectionDef {
        let rows = (0..rows).map(|row| RowDef::new(format!("{name}{row}"), seats));
        SectionDef::new(name, category, Money::ZERO, rows)
    }

    #[test]
    fn every_seat_is_a_dot() {
        let drawing = Drawing::of(&[
            section("Left", "A", 3, 4),
            section("Right", "A", 3, 4),
            section("Back", "B", 2, 9),
        ]);
        let dots: Vec<_> =
            drawing.sections.iter().map(|section| section.path.matches("h0").count()).collect();
        assert_eq!(dots, [12, 12, 18]);
        let colours: Vec<_> = drawing.sections.iter().map(|section| section.colour).collect();
        assert_eq!(colours, [0, 0, 1]);
    }

    #[test]
    fn a_section_lies_where_it_was_placed() {
        let at = |x, y| Some(Point { x, y });
        let mut plain = section("Plain", "A", 2, 3);
        plain.shape = Shape { at: at(10, 20), angle: 0, curve: 0 };
        assert_eq!(as_drawn(&plain)(-1.0, 2.0), (9.0, 22.0));
        plain.shape.angle = 90;
        let (x, y) = as_drawn(&plain)(1.0, 0.0);
        assert!((x - 10.0).abs() < 1e-9 && (y - 21.0).abs() < 1e-9, "{x} {y}");
        plain.shape = Shape { at: at(0, 0), angle: 0, curve: 90 };
        let (_, y) = as_drawn(&plain)(1.5, 0.0);
        assert!(y < -0.5, "its ends lie nearer to what it looks at: {y}");
        let drawing = Drawing::of(&[plain]);
        assert!(drawing.stage.is_none() && drawing.sections[0].path.matches("h0").count() == 6);
    }

    #[test]
    fn a_stadium_is_drawn_in_lines() {
        let sections: Vec<_> = (0..40).map(|at| section(&format!("S{at}"), "A", 16, 32)).collect();
        let drawing = Drawing::of(&sections);
        assert!(drawing.as_lines);
        let bytes: usize = drawing.sections.iter().map(|section| section.path.len()).sum();
        assert!(bytes < 200_000, "{bytes}");
    }
}
