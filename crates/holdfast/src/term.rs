//! What people see: tables, colours and progress. Colour only on a terminal that wants it (`NO_COLOR` and
//! `TERM=dumb` are respected); progress only on standard error, so that standard output stays clean to pipe.

use std::{
    env,
    io::{self, IsTerminal},
    panic, process,
    time::Duration,
};

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Exit;

/// One line under the headings, and air.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

#[derive(Debug, Clone, Copy)]
pub struct Term {
    colour: bool,
}

impl Term {
    pub fn stdout() -> Self {
        Self { colour: wants_colour(io::stdout().is_terminal()) }
    }

    pub fn stderr() -> Self {
        Self { colour: wants_colour(io::stderr().is_terminal()) }
    }

    pub fn is_coloured(&self) -> bool {
        self.colour
    }

    pub fn good(&self, text: impl AsRef<str>) -> String {
        self.paint("32", text.as_ref())
    }

    pub fn bad(&self, text: impl AsRef<str>) -> String {
        self.paint("1;31", text.as_ref())
    }

    pub fn warn(&self, text: impl AsRef<str>) -> String {
        self.paint("33", text.as_ref())
    }

    pub fn accent(&self, text: impl AsRef<str>) -> String {
        self.paint("36", text.as_ref())
    }

    pub fn bold(&self, text: impl AsRef<str>) -> String {
        self.paint("1", text.as_ref())
    }

    pub fn dim(&self, text: impl AsRef<str>) -> String {
        self.paint("2", text.as_ref())
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// A table with these headings, fitted to the terminal.
    pub fn table(&self, headings: &[&str]) -> Table {
        let heading = |text: &&str| match self.colour {
            true => Cell::new(text).add_attribute(Attribute::Bold),
            false => Cell::new(text),
        };
        let mut table = Table::new();
        table.load_style(STYLE).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(headings.iter().map(heading));
        // Asked before colour is given up, which would give up the width with it.
        if let Some(width) = table.width() {
            table.set_width(width);
        }
        if !self.colour {
            table.force_no_tty();
        }
        table
    }
}

/// How a cell's text is meant. Its colour is the table's to add: codes within the text would be counted as letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Good,
    Doubtful,
    Bad,
}

pub fn cell(text: impl ToString, tone: Tone) -> Cell {
    let cell = Cell::new(text);
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Doubtful => cell.fg(Color::DarkYellow),
        Tone::Bad => cell.fg(Color::DarkRed).add_attribute(Attribute::Bold),
    }
}

/// Leaves out columns that a narrow terminal has no room for, the first named first. Where that is not enough the table
/// breaks its lines as any does.
pub fn fit(table: &mut Table, dispensable: &[&str]) {
    let Some(room) = table.width() else { return };
    for name in dispensable {
        if breadth(table) <= usize::from(room) {
            return;
        }
        let at = table.header().and_then(|row| row.cell_iter().position(|cell| cell.content() == *name));
        if let Some(column) = at.and_then(|at| table.column_mut(at)) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
    }
}

/// What the table takes when no line is broken: each column's longest text with the air around it and what parts it from
/// the next.
fn breadth(table: &Table) -> usize {
    let widths = table.column_max_content_widths();
    let shown = table.column_iter().zip(widths).filter(|(column, _)| !column.is_hidden());
    shown.map(|(_, width)| usize::from(width) + 3).sum::<usize>().saturating_sub(1)
}

/// Numbers line up at their last digit.
pub fn number(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn wants_colour(is_terminal: bool) -> bool {
    let refused = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    is_terminal && !refused && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Whoever pipes this program into `head` has what they wanted and hangs up: then it ends, and nothing is wrong. The
/// printing macros can say so by a panic only, told by its words; taken for anything else it is reported as ever.
pub fn end_when_nobody_reads() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| match panicked.payload_as_str() {
        Some(words) if is_closed_pipe(words) => process::exit(Exit::Done as i32),
        _ => usual(panicked),
    }));
}

fn is_closed_pipe(words: &str) -> bool {
    let closed = io::Error::from_raw_os_error(rustix::io::Errno::PIPE.raw_os_error()).to_string();
    words.strip_prefix("failed printing to stdout: ") == Some(&closed)
}

/// A bar over `steps` known steps.
pub fn progress(steps: u64, what: &'static str) -> ProgressBar {
    shown(ProgressBar::new(steps), "  {msg} {wide_bar:.cyan/dim} {pos}/{len} {eta}", what)
}

/// A spinner for work of unknown length.
pub fn spinner(what: &'static str) -> ProgressBar {
    let bar = shown(ProgressBar::new_spinner(), "  {spinner} {msg}", what);
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

fn shown(bar: ProgressBar, style: &str, what: &'static str) -> ProgressBar {
    // indicatif hides itself when standard error is no terminal.
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(style).expect("the templates are ours and valid"));
    bar.set_message(what);
    bar
}

/// `1234567` as `1,234,567`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1 entry`, `2 entries`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

/// A duration as people read latencies: `870 µs`, `12.3 ms`, `1.40 s`.
pub fn latency(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

/// A size in bytes as people read sizes: `512 B`, `7.6 kB`, `48.0 MB`.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!([0, 999, 1000, 1234567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([870, 12_340, 1_400_000].map(latency), ["870 µs", "12.3 ms", "1.40 s"]);
        assert_eq!([512, 7_600, 48_000_000].map(size), ["512 B", "7.6 kB", "48.0 MB"]);
    }

    fn lines(room: u16, colour: bool) -> Vec<String> {
        let mut table = Term { colour }.table(&["strategy", "won", "p99.9", "trips", "seen"]);
        table.set_width(room).enforce_styling();
        let seen = cell("✗ DoubleSale", Tone::Bad);
        table.add_row(["naive_with_constraint".into(), number(50), number("12.3 ms"), number("4.0"), seen]);
        fit(&mut table, &["p99.9", "trips"]);
        table.lines().collect()
    }

    #[test]
    fn a_narrow_terminal_gets_fewer_columns_and_no_broken_lines() {
        let heading = |room| lines(room, false)[0].split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(heading(62), "strategy won p99.9 trips seen");
        assert_eq!(heading(61), "strategy won trips seen");
        assert_eq!(heading(51), "strategy won seen");
        assert!([44, 51, 61, 62].iter().all(|&room| lines(room, false).len() == 3));
    }

    #[test]
    fn colour_takes_no_room() {
        let coloured = lines(62, true);
        assert_eq!(coloured.len(), 3, "{coloured:?}");
        assert!(coloured[2].contains("\x1b["), "{coloured:?}");
    }

    #[test]
    fn plain_where_colour_is_not_wanted() {
        assert_eq!(Term { colour: false }.bad("no"), "no");
        assert_eq!(Term { colour: true }.bad("no"), "\x1b[1;31mno\x1b[0m");
    }
}
