//! Lists from the newest back, and the ways to the pages beside each.
//!
//! What just happened is what is looked for, so a list begins there. A page lies between two gaps of the list (the
//! ledger's `next`): back from the one are the earlier, forth from the other the newer.

use askama::Template;
use holdfast_engine::ledger::{LedgerError, Order, Page, PageRequest};

use super::Form;
use crate::problem::Problem;

/// Where a page begins.
#[derive(Debug, Default, Clone)]
pub(super) enum Place {
    #[default]
    Newest,
    /// Back from a gap.
    Before(String),
    /// Forth from a gap.
    After(String),
}

impl Place {
    pub(super) fn of(form: &Form) -> Self {
        match (form.one("before"), form.one("after")) {
            (Some(gap), _) => Self::Before(gap.to_owned()),
            (None, Some(gap)) => Self::After(gap.to_owned()),
            (None, None) => Self::Newest,
        }
    }
}

/// A page, the newest first, and the gaps around it.
pub(super) struct Turned<T> {
    pub data: Vec<T>,
    pub newer: Option<String>,
    pub earlier: Option<String>,
}

/// Asks for the page at that place. Whoever goes forth until nothing is newer is at the newest again, on a whole page.
pub(super) async fn turn<T, Asked>(
    place: &Place,
    limit: usize,
    list: impl Fn(Order, PageRequest) -> Asked,
) -> Result<Turned<T>, Problem>
where
    Asked: Future<Output = Result<Page<T>, LedgerError>>,
{
    if let Place::After(gap) = place {
        let page = list(Order::OldestFirst, PageRequest { after: Some(gap.clone()), limit }).await?;
        if page.next.is_some() {
            let data = page.data.into_iter().rev().collect();
            return Ok(Turned { data, newer: page.next, earlier: Some(gap.clone()) });
        }
    }
    let from = match place {
        Place::Before(gap) => Some(gap.clone()),
        Place::Newest | Place::After(_) => None,
    };
    let page = list(Order::NewestFirst, PageRequest { after: from.clone(), limit }).await?;
    Ok(Turned { data: page.data, newer: from, earlier: page.next })
}

/// The addresses of the pages beside one; `None` where there are no more.
#[derive(Default, Template)]
#[template(path = "admin/ways.html")]
pub(super) struct Ways {
    newest: String,
    newer: Option<String>,
    pub earlier: Option<String>,
}

impl Ways {
    /// From a page at `path` that was asked for with these fields, of which empty ones are none.
    pub(super) fn around<T>(page: &Turned<T>, path: &str, asked: &[(&str, &str)]) -> Self {
        let address = |gap: Option<(&str, &str)>| {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(asked.iter().copied().chain(gap).filter(|(_, value)| !value.is_empty()));
            format!("{path}?{}", query.finish()).trim_end_matches('?').to_owned()
        };
        Self {
            newest: address(None),
            newer: page.newer.as_ref().map(|gap| address(Some(("after", gap)))),
            earlier: page.earlier.as_ref().map(|gap| address(Some(("before", gap)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten rows, as a ledger would list them.
    async fn ten(order: Order, page: PageRequest) -> Result<Page<i64>, LedgerError> {
        let gap = page.after.map(|gap| gap.parse::<i64>().unwrap());
        let all: Vec<i64> = match order {
            Order::OldestFirst => (gap.unwrap_or(0) + 1..=10).collect(),
            Order::NewestFirst => (1..=gap.unwrap_or(10)).rev().collect(),
        };
        let behind = |row: i64| if order == Order::OldestFirst { row } else { row - 1 };
        let more = all.len() > page.limit;
        let data: Vec<i64> = all.into_iter().take(page.limit).collect();
        let next = data.last().filter(|_| more).map(|last| behind(*last).to_string());
        Ok(Page { data, next })
    }

    #[tokio::test]
    async fn back_and_forth_lead_by_the_same_rows_to_the_newest() {
        let at = async |place: Place| turn(&place, 4, ten).await.unwrap();
        let newest = at(Place::Newest).await;
        assert_eq!((&newest.data[..], newest.newer.is_none()), (&[10, 9, 8, 7][..], true));
        let second = at(Place::Before(newest.earlier.unwrap())).await;
        assert_eq!(second.data, [6, 5, 4, 3]);
        let last = at(Place::Before(second.earlier.unwrap())).await;
        assert_eq!((&last.data[..], last.earlier.is_none()), (&[2, 1][..], true));
        let second = at(Place::After(last.newer.unwrap())).await;
        assert_eq!(second.data, [6, 5, 4, 3]);
        let newest = at(Place::After(second.newer.unwrap())).await;
        assert_eq!((&newest.data[..], newest.newer.is_none()), (&[10, 9, 8, 7][..], true));
    }
}
