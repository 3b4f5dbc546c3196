//! Signing in with an API key, and out again.

use askama::Template;
use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request},
    response::{IntoResponse, Response},
};

use super::{
    Form, Notice,
    entry::{check_origin, received},
    go,
};
use crate::{
    app::Shared,
    auth::{
        self,
        organiser::{Organiser, SignIn},
    },
    problem::Problem,
};

#[derive(Template)]
#[template(path = "admin/sign_in.html")]
struct SignInPage<'a> {
    notice: Option<Notice>,
    /// Where to go then.
    next: &'a str,
}

/// Where organisers begin.
const HOME: &str = "/admin";

/// The form, in place of a page that only organisers see. Whoever meant to look is led there afterwards; whatever was
/// posted must be done again, by somebody who is known. At the front door the form is what belongs there.
pub(super) fn asked_for(parts: &request::Parts) -> Response {
    let meant = parts.uri.path_and_query().map_or(HOME, |address| address.as_str());
    let looked = parts.method == Method::GET || parts.method == Method::HEAD;
    let next = if looked { meant } else { HOME };
    let notice = (!looked).then(|| Notice::bad("Your session has ended. Sign in and do it again."));
    let status = if looked && meant == HOME { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
    form(status, notice, next)
}

fn form(status: StatusCode, notice: Option<Notice>, next: &str) -> Response {
    match super::super::page(&SignInPage { notice, next }) {
        Ok(mut page) => {
            *page.status_mut() = status;
            page.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            page
        }
        Err(problem) => problem.into_response(),
    }
}

/// A place among these pages. An address of another site would look like ours to whoever just signed in.
fn place(next: Option<&str>) -> &str {
    let ours = |next: &&str| {
        next.strip_prefix(HOME).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']))
            && next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\')
    };
    next.filter(ours).unwrap_or(HOME)
}

/// `POST /admin/sign-in`.
pub(crate) async fn enter(State(app): State<Shared>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    check_origin(&parts.headers)?;
    // Guessing is limited like everything else that a browser asks of us, whatever session it claims to be.
    let stranger = auth::browser(&parts, &app)?;
    app.doors.knock(&stranger.actor, stranger.address).await?;
    let fields = Form::parse(&received(&parts.headers, body, app.limits.max_body_bytes).await?);
    let next = place(fields.one("next"));
    let key = fields.one("api_key").unwrap_or_default().trim();
    let refused = |words: &str| Ok(form(StatusCode::UNAUTHORIZED, Some(Notice::bad(words)), next));
    match app.auth.sign_in(key, app.clock.now()).await? {
        SignIn::Welcome(cookie) => {
            let mut response = go(next)?;
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            Ok(response)
        }
        SignIn::WrongKey => refused("No such key. It may be mistyped or revoked."),
        SignIn::NotAnAdmin => refused("This is a seller's key. Organisers need one with the role admin."),
    }
}

/// `POST /admin/sign-out`.
pub(crate) async fn leave(State(app): State<Shared>, _organiser: Organiser) -> Result<Response, Problem> {
    let mut response = go(HOME)?;
    if let Some(cookie) = app.auth.sessions.signed_out() {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_signs_in_stays_on_these_pages() {
        for ours in ["/admin", "/admin/offers/hall?done=blocked", "/admin?after=x"] {
            assert_eq!(place(Some(ours)), ours);
        }
        for other in
            ["", "/", "//evil.example", "/administrator", "https://evil.example/admin", "/admin/\\evil"]
        {
            assert_eq!(place(Some(other)), HOME, "{other}");
        }
    }
}
