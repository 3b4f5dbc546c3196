//! A problem as a page, for whoever asked for one.

use askama::Template;
use axum::http::{HeaderMap, header};

use crate::problem::{Code, Problem};

#[derive(Template)]
#[template(path = "fault.html")]
struct Fault<'a> {
    code: Code,
    detail: &'a str,
    request_id: &'a str,
}

/// Whether a person is to read the answer: browsers say that they take HTML, and the API answers in JSON always.
pub(crate) fn is_for_people(path: &str, headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepts.contains("text/html") && !path.starts_with("/v1/")
}

/// The page; `None` where it cannot be made, and the JSON must do.
pub(crate) fn page(problem: &Problem, request_id: &str) -> Option<String> {
    Fault { code: problem.code, detail: &problem.detail, request_id }.render().ok()
}
