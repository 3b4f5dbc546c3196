//! Forms as browsers submit them, with a key by which submitting twice is the same as submitting once.

use axum::{
    extract::{FromRequest, Request},
    http::{HeaderMap, HeaderValue, Method, header},
};
use bytes::Bytes;
use holdfast_engine::{ledger::IdempotencyKey, mint};
use sha2::{Digest, Sha256};

use super::Visitor;
use crate::{
    app::Shared,
    body, idempotency,
    problem::{Code, Problem},
};

/// The fields of a form or of a query, in order. Names that nobody asks for are ignored.
#[derive(Debug, Default)]
pub(crate) struct Form(Vec<(String, String)>);

impl Form {
    pub(crate) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The field's value, if it has one.
    pub(crate) fn one(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a field that may be given several times.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(known, value)| known == name && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Option<u32> {
        self.one(name)?.trim().parse().ok()
    }
}

/// A form that a page of ours submitted.
#[derive(Debug)]
pub(crate) struct Posted {
    pub visitor: Visitor,
    pub form: Form,
    path: String,
    body: Bytes,
}

/// The hidden field with a page's own name for what its form does.
const KEY: &str = "key";
const MAX_KEY: usize = 64;

/// A fresh name for what a form is about to do.
pub(crate) fn fresh_key() -> String {
    format!("{:032x}", mint::random_bits())
}

impl Posted {
    /// The form's key. What was chosen is part of it: the same page may be used again for another choice, and the
    /// same choice submitted twice has one effect.
    pub(crate) fn intention(&self) -> Result<IdempotencyKey, Problem> {
        let named = self.form.one(KEY).filter(|key| key.len() <= MAX_KEY).unwrap_or_default();
        if named.is_empty() || !named.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(Problem::invalid(
                "The form is not complete. Go back, load the page again and repeat it.",
            ));
        }
        let chosen: String =
            Sha256::digest(&self.body)[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let key = HeaderValue::try_from(format!("page-{named}-{chosen}"));
        let key = key.map_err(|_| Problem::invalid("The form is not complete."))?;
        Ok(idempotency::scoped(&key, &self.visitor.actor(), &Method::POST, &self.path, &self.body))
    }
}

impl FromRequest<Shared> for Posted {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let visitor = Visitor::of(&parts, app)?;
        app.doors.knock(&visitor.caller().actor, visitor.caller().address).await?;
        check_type(&parts.headers)?;
        let body = body::read(body, app.limits.max_body_bytes).await?;
        let path = parts.uri.path().to_owned();
        Ok(Self { visitor, form: Form::parse(&body), path, body })
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    match essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        true => Ok(()),
        false => Err(Problem::new(Code::UnsupportedMediaType, "Pages take forms, not other bodies.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_empty_ones_are_none() {
        let form = Form::parse(b"unit=A-1&qty=2&unit=B+2&category=");
        assert_eq!(form.all("unit").collect::<Vec<_>>(), ["A-1", "B 2"]);
        assert_eq!((form.number("qty"), form.number("unit"), form.one("category")), (Some(2), None, None));
    }
}
