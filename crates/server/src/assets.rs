//! The few files that pages need, embedded in the binary under names that change with their content, and the
//! headers that keep pages from loading anything else.
//!
//! A module that imports another names it plainly (`from "./live.js"`); the import is rewritten to the hashed name
//! when the files are first asked for, so a module's own name changes with everything it imports.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use axum::{
    extract::Path,
    http::{HeaderValue, header},
    response::{Html, IntoResponse, Response},
};
use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::problem::{Code, Problem};

/// Nothing but our own files, no inline script or style, no framing.
pub(crate) const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                                  connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

macro_rules! assets {
    ($($name:literal)*) => {
        /// Every file of `assets/`, by its plain name.
        const SOURCES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../assets/", $name))),)*];
    };
}

assets! {
    "admin.css"
    "app.css"
    "booking.js"
    "docs.css"
    "docs.js"
    "hold-presence.js"
    "hold-timer.js"
    "holdfast.js"
    "icon.svg"
    "live-part.js"
    "offer-draft.js"
    "page.js"
    "poll.js"
    "queue.js"
    "seat-camera.js"
    "seat-claims.js"
    "seat-gestures.js"
    "seat-grid.js"
    "seat-layout.js"
    "seat-line.js"
    "seat-map.css"
    "seat-map.js"
    "seat-model.js"
    "seat-paint.js"
    "seat-panel.js"
    "seat-picks.js"
    "slots.js"
    "stock.js"
    "stripe-checkout.js"
}

/// A file as it is served.
struct Asset {
    hashed_name: String,
    content: Bytes,
}

/// By plain name.
static ASSETS: LazyLock<BTreeMap<&'static str, Asset>> = LazyLock::new(|| {
    let mut built = BTreeMap::new();
    SOURCES.iter().for_each(|(name, _)| build(name, &mut built));
    built
});

/// What a module is imported by: whatever stands between this and the next quote.
const IMPORT: &str = "from \"./";

/// Builds a file after those it imports.
fn build(name: &'static str, built: &mut BTreeMap<&'static str, Asset>) {
    if built.contains_key(name) {
        return;
    }
    let mut content = Cow::Borrowed(source(name).1);
    for import in source(name).1.split(IMPORT).skip(1).filter_map(|rest| rest.split('"').next()) {
        let (import, _) = source(import);
        build(import, built);
        let hashed = &built[import].hashed_name;
        content = content.replace(&format!("{IMPORT}{import}\""), &format!("{IMPORT}{hashed}\"")).into();
    }
    let hash: String =
        Sha256::digest(content.as_bytes())[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let (stem, ending) = name.rsplit_once('.').expect("assets have endings");
    let hashed_name = format!("{stem}-{hash}.{ending}");
    built.insert(name, Asset { hashed_name, content: content.into_owned().into() });
}

fn source(name: &str) -> (&'static str, &'static str) {
    *SOURCES.iter().find(|(known, _)| *known == name).expect("pages and modules name assets that exist")
}

/// The address of an asset, which says what is in it.
pub(crate) fn address(name: &str) -> String {
    format!("/assets/{}", ASSETS[name].hashed_name)
}

/// What other people's pages import: it has a name that stays, and is asked for anew.
const IMPORTABLE: &str = "holdfast.js";

/// The file of that name, and how long it may be kept.
fn find(name: &str) -> Option<(&'static Asset, &'static str)> {
    if name == IMPORTABLE {
        return Some((&ASSETS[IMPORTABLE], "no-cache"));
    }
    let asset = ASSETS.values().find(|asset| asset.hashed_name == name)?;
    Some((asset, "public, max-age=31536000, immutable"))
}

fn content_type(name: &str) -> HeaderValue {
    HeaderValue::from_static(match name.rsplit_once('.') {
        Some((_, "css")) => "text/css; charset=utf-8",
        Some((_, "svg")) => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    })
}

/// Read a file that pages need.
#[utoipa::path(get, path = "/assets/{name}", tag = "Pages", operation_id = "getAsset",
    params(("name" = String, Path, description = "The file's name, as pages give it.")),
    responses((status = 200, description = "The file.",
        content((String = "text/css"), (String = "text/javascript"), (String = "image/svg+xml")))))]
pub(crate) async fn read(name: Option<Path<String>>) -> Result<Response, Problem> {
    let found = name.and_then(|Path(name)| find(&name));
    let (asset, caching) = found.ok_or_else(|| Problem::new(Code::NotFound, "There is no such file."))?;
    let headers = [
        (header::CONTENT_TYPE, content_type(&asset.hashed_name)),
        (header::CACHE_CONTROL, HeaderValue::from_static(caching)),
    ];
    Ok((headers, asset.content.clone()).into_response())
}

/// A page, with the headers every page has.
pub(crate) fn html(page: impl Into<axum::body::Body>) -> Response {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY)),
        (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, Html(page.into())).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_lead_to_files_that_are_served() {
        for (name, asset) in ASSETS.iter() {
            let text = std::str::from_utf8(&asset.content).unwrap();
            for import in text.split(IMPORT).skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(ASSETS.values().any(|known| known.hashed_name == import), "{name} imports {import}");
            }
            assert!(!text.contains("import(\""), "{name}: an import that is not rewritten");
        }
    }
}
