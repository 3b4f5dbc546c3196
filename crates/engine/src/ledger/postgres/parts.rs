//! What a transaction writes to several tables, as one statement.
//!
//! PostgreSQL answers each statement with a message of its own, and each message wakes the thread that waits for it. A
//! batch that changes five tables would be answered five times over, at a moment when nothing but the next batch matters.
//! So its parts travel as the parts of one statement, whose one row says how many rows each of them changed.
//!
//! Parts of one statement see what was there before it, and not each other's rows: whatever depends on another write
//! goes ahead of it, in a statement of its own.

use std::fmt::Write as _;

use tokio_postgres::types::{ToSql, Type};

use super::session::{Session, Sql, Trouble};

/// An argument that lives as long as what it is told from.
pub(super) type Column<'a> = Box<dyn ToSql + Sync + Send + 'a>;

/// The arguments of a part, in order.
macro_rules! columns {
    ($($column:expr),+ $(,)?) => { vec![$(Box::new($column) as $crate::ledger::postgres::parts::Column<'_>),+] };
}
pub(super) use columns;

/// A statement that changes rows, and how many of them it must change.
pub(super) struct Part<'a> {
    sql: &'static Sql,
    columns: Vec<Column<'a>>,
    rows: usize,
    /// What it means if it changes fewer; `None` where it cannot.
    otherwise: Option<&'static str>,
}

impl<'a> Part<'a> {
    /// `None` where there is nothing to change.
    pub(super) fn of(
        rows: usize,
        sql: &'static Sql,
        columns: Vec<Column<'a>>,
        otherwise: &'static str,
    ) -> Option<Self> {
        (rows > 0).then_some(Self { sql, columns, rows, otherwise: Some(otherwise) })
    }

    /// Of rows that are all inserted or none: nobody need count them.
    pub(super) fn inserting(rows: usize, sql: &'static Sql, columns: Vec<Column<'a>>) -> Option<Self> {
        (rows > 0).then_some(Self { sql, columns, rows, otherwise: None })
    }

    /// Somebody else got there first where fewer rows changed: what this transaction counted on is no longer so.
    fn check(&self, changed: i64) -> Result<(), Trouble> {
        match self.otherwise {
            Some(otherwise) if changed != self.rows as i64 => Err(Trouble::lost(otherwise)),
            _ => Ok(()),
        }
    }

    const fn is_counted(&self) -> bool {
        self.otherwise.is_some()
    }

    /// What it says, and whether its rows are counted.
    const fn said(&self) -> (&'static Sql, bool) {
        (self.sql, self.is_counted())
    }

    fn args(&self) -> impl Iterator<Item = &(dyn ToSql + Sync)> {
        self.columns.iter().map(|column| &**column as &(dyn ToSql + Sync))
    }
}

/// Makes all of them, in one statement.
pub(super) async fn write(session: &Session, parts: &[Part<'_>]) -> Result<(), Trouble> {
    let args: Vec<&(dyn ToSql + Sync)> = parts.iter().flat_map(Part::args).collect();
    match parts {
        [] => Ok(()),
        [one] => one.check(session.change(one.sql, &args).await? as i64),
        several => {
            let Joined { text, types } = joined(several.iter().map(Part::said), "");
            let changed = session.ask(&text, &types, &args).await?;
            let changed = changed.first().ok_or_else(|| Trouble::Down("PostgreSQL counts no rows".into()))?;
            let changed: Vec<i64> = changed.get(0);
            let counted = several.iter().filter(|part| part.is_counted());
            counted.zip(changed).try_for_each(|(part, changed)| part.check(changed))
        }
    }
}

/// Makes all of them and commits in the same breath; `written` hears when all is written and only the disk is waited for.
///
/// Nobody is there to look at the counts before the COMMIT arrives. So a count that is not what it must be is a fault of
/// the statement itself here, one number divided by none, and after a fault a COMMIT rolls back.
pub(super) async fn write_and_commit(
    session: &mut Session,
    parts: &[Part<'_>],
    written: impl FnOnce(),
) -> Result<(), Trouble> {
    let counted = parts.iter().filter(|part| part.is_counted());
    let rows: Vec<i64> = counted.map(|part| part.rows as i64).collect();
    let args = parts.iter().flat_map(Part::args).chain([&rows as &(dyn ToSql + Sync)]);
    let args: Vec<&(dyn ToSql + Sync)> = args.collect();
    let Joined { text, types } = joined(parts.iter().map(Part::said), MUST_BE);
    // What is not known yet would be sent after the COMMIT.
    session.know(&[(&text, &types)]).await?;
    let write = async {
        let wrote = session.ask(&text, &types, &args).await;
        written();
        wrote.map(drop)
    };
    // Whoever is polled first is sent first, and PostgreSQL answers in order.
    let said = futures::join!(write, session.send_commit());
    if said.1.is_ok() {
        session.ended();
    }
    come_to(said)
}

/// What was heard of the statement, and of the COMMIT behind it.
type Said = (Result<(), Trouble>, Result<(), Trouble>);

/// What both words together mean. A statement that PostgreSQL itself says has failed was rolled back, whatever is heard of
/// the COMMIT. One of which nothing was heard in time may have been written: a COMMIT that succeeds says only that the
/// transaction is over.
fn come_to(said: Said) -> Result<(), Trouble> {
    match said {
        (Err(Trouble::Down(why) | Trouble::Unknown(why)), Ok(())) => Err(Trouble::Unknown(why)),
        (Ok(()) | Err(Trouble::Down(_) | Trouble::Unknown(_)), committed) => committed,
        (failed, _) => failed,
    }
}

/// Several statements as one.
struct Joined {
    text: String,
    types: Vec<Type>,
}

/// Said of the list of counts: that it is the one in the argument behind all others.
const MUST_BE: &str = "1 / (counts = $1)::int";

/// One statement that does what these do. Its row has the counts of those that are counted, or what is to be `said` of
/// those.
fn joined<'a>(statements: impl Iterator<Item = (&'a Sql, bool)>, said: &str) -> Joined {
    let (mut text, mut counts, mut types) = (String::from("WITH "), Vec::new(), Vec::new());
    for (at, (sql, is_counted)) in statements.enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write_all(&mut text, format_args!("{comma}part{at} AS ("));
        push_renumbered(&mut text, sql.text, types.len());
        text.push_str(if is_counted { " RETURNING 1)" } else { ")" });
        if is_counted {
            counts.push(format!("(SELECT count(*) FROM part{at})"));
        }
        types.extend_from_slice(sql.types);
    }
    let counts = counts.join(", ");
    text.push_str(" SELECT ");
    match said {
        "" => text.push_str("counts"),
        said => {
            push_renumbered(&mut text, said, types.len());
            types.push(Type::INT8_ARRAY);
        }
    }
    write_all(&mut text, format_args!(" FROM (SELECT ARRAY[{counts}]::bigint[] AS counts) AS all_parts"));
    Joined { text, types }
}

/// The text with its arguments counted from `before`.
fn push_renumbered(out: &mut String, text: &str, before: usize) {
    let mut pieces = text.split('$');
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let digits = piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len());
        let (number, rest) = piece.split_at(digits);
        let number: usize = number.parse().expect("a dollar sign stands before an argument's number only");
        write_all(out, format_args!("${}{rest}", before + number));
    }
}

fn write_all(out: &mut String, what: std::fmt::Arguments<'_>) {
    out.write_fmt(what).expect("a text takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_word_from_the_server_says_that_nothing_was_written() {
        let (lost, refused) = (|| Err(Trouble::lost("")), || Err(Trouble::Refused("".into())));
        let (silent, unheard) = (|| Err(Trouble::Down("".into())), || Err(Trouble::Unknown("".into())));
        assert!(matches!(come_to((Ok(()), Ok(()))), Ok(())));
        assert!(
            matches!(come_to((silent(), Ok(()))), Err(Trouble::Unknown(_))),
            "it may have been written late"
        );
        assert!(matches!(come_to((silent(), unheard())), Err(Trouble::Unknown(_))));
        assert!(matches!(come_to((Ok(()), unheard())), Err(Trouble::Unknown(_))));
        assert!(
            matches!(come_to((lost(), Ok(()))), Err(Trouble::Lost(_))),
            "a COMMIT after a fault rolls back"
        );
        assert!(matches!(come_to((refused(), unheard())), Err(Trouble::Refused(_))));
        assert!(matches!(come_to((silent(), lost())), Err(Trouble::Lost(_))));
    }

    #[test]
    fn arguments_are_counted_through() {
        const TAKE: Sql = Sql { text: "UPDATE a SET n = $2 WHERE id = $1", types: &[Type::INT8, Type::INT8] };
        const NOTE: Sql = Sql { text: "INSERT INTO b VALUES ($1::bigint)", types: &[Type::INT8] };
        let both = "WITH part0 AS (UPDATE a SET n = $2 WHERE id = $1 RETURNING 1), \
                    part1 AS (INSERT INTO b VALUES ($3::bigint) RETURNING 1) SELECT ";
        let counts = " FROM (SELECT ARRAY[(SELECT count(*) FROM part0), (SELECT count(*) FROM part1)]::bigint[] \
                      AS counts) AS all_parts";
        let joined = |said| joined([(&TAKE, true), (&NOTE, true)].into_iter(), said);
        assert_eq!(joined("").text, format!("{both}counts{counts}"));
        assert_eq!(joined("").types, [Type::INT8, Type::INT8, Type::INT8]);
        assert_eq!(joined(MUST_BE).text, format!("{both}1 / (counts = $4)::int{counts}"));
        assert_eq!(joined(MUST_BE).types, [Type::INT8, Type::INT8, Type::INT8, Type::INT8_ARRAY]);
        let text = super::joined([(&TAKE, true), (&NOTE, false)].into_iter(), "").text;
        assert!(text.contains("VALUES ($3::bigint)) SELECT"), "nobody counts what is inserted: {text}");
        assert!(text.contains("ARRAY[(SELECT count(*) FROM part0)]::bigint[]"), "{text}");
    }
}
