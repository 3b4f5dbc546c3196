//! A problem as a page, for whoever asked for one: in words for people, with how long to wait and a way back.

use askama::Template;
use axum::http::{HeaderMap, header};

use super::words;
use crate::problem::{Code, Problem};

#[derive(Template)]
#[template(path = "fault.html")]
struct Fault<'a> {
    code: Code,
    detail: &'a str,
    /// How long to wait before it is worth trying again.
    wait: Option<String>,
    /// The page on which this began.
    back: Option<&'a str>,
    /// Where to queue, if that is what is asked for.
    queue: Option<String>,
    request_id: &'a str,
}

/// Where a person met it, if a person is to read the answer: browsers say that they take HTML, and the API answers in
/// JSON always.
pub(crate) fn met_at(path: &str, headers: &HeaderMap) -> Option<String> {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    (accepts.contains("text/html") && !path.starts_with("/v1/")).then(|| path.to_owned())
}

/// The page; `None` where it cannot be made, and the JSON must do.
pub(crate) fn page(problem: &Problem, path: &str, request_id: &str) -> Option<String> {
    let code = problem.code;
    let wait = problem.more().retry_after.filter(|_| code != Code::QueueRequired);
    let wait = wait.map(|wait| words::about(wait.as_millis().div_ceil(1000) as u64));
    let back = page_of_form(path);
    let queue = back.filter(|_| code == Code::QueueRequired).map(|page| format!("{page}/queue"));
    Fault { code, detail: &problem.detail, wait, back, queue, request_id }.render().ok()
}

/// The page whose form is sent there: `/o/hall` for `/o/hall/hold`.
fn page_of_form(path: &str) -> Option<&str> {
    let is_page = |page: &&str| {
        page.starts_with("/o/") || page.starts_with("/holds/") || page.starts_with("/bookings/")
    };
    path.rsplit_once('/').map(|(page, _)| page).filter(is_page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_leads_back_to_its_page_and_a_page_to_none() {
        assert_eq!(page_of_form("/o/hall/hold"), Some("/o/hall"));
        assert_eq!(page_of_form("/holds/hold_1/book"), Some("/holds/hold_1"));
        assert_eq!([page_of_form("/o/hall"), page_of_form("/bookings/bk_1"), page_of_form("/")], [None; 3]);
    }
}
