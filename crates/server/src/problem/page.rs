//! A page for each code, at the address that is the problem's `type`.

use askama::Template;
use axum::{extract::Path, response::Response};

use super::{Code, Problem};
use crate::ui;

#[derive(Template)]
#[template(path = "problem.html")]
struct ProblemPage {
    code: Code,
}

#[derive(Template)]
#[template(path = "problems.html")]
struct ProblemIndex {
    codes: &'static [Code],
}

/// Read what a problem's code means.
#[utoipa::path(get, path = "/problems/{code}", tag = "Pages", operation_id = "getProblem",
    params(("code" = String, Path, description = "The code, such as `unit_taken`.")),
    responses((status = 200, description = "A page for people.", content_type = "text/html", body = String)))]
pub(crate) async fn read(code: Option<Path<String>>) -> Result<Response, Problem> {
    let code = code.and_then(|Path(name)| Code::find(&name));
    let code = code.ok_or_else(|| Problem::new(Code::NotFound, "No problem has that code."))?;
    ui::page(&ProblemPage { code })
}

/// List every code.
#[utoipa::path(get, path = "/problems", tag = "Pages", operation_id = "listProblems",
    responses((status = 200, description = "A page for people.", content_type = "text/html", body = String)))]
pub(crate) async fn index() -> Result<Response, Problem> {
    ui::page(&ProblemIndex { codes: Code::ALL })
}
