//! The few files that pages need, embedded in the binary under names that change with their content, and the
//! headers that keep pages from loading anything else.

use std::sync::LazyLock;

use axum::{
    extract::Path,
    http::{HeaderValue, header},
    response::{Html, IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::problem::{Code, Problem};

/// Nothing but our own files, no inline script or style, no framing.
pub(crate) const CONTENT_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; \
                                  connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

struct Asset {
    stem: &'static str,
    ending: &'static str,
    content_type: &'static str,
    content: &'static [u8],
}

const ASSETS: [Asset; 2] = [
    Asset {
        stem: "page",
        ending: "css",
        content_type: "text/css; charset=utf-8",
        content: include_bytes!("../assets/page.css"),
    },
    Asset {
        stem: "docs",
        ending: "js",
        content_type: "text/javascript; charset=utf-8",
        content: include_bytes!("../assets/docs.js"),
    },
];

impl Asset {
    fn name(&self) -> String {
        let hash: String =
            Sha256::digest(self.content)[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{hash}.{}", self.stem, self.ending)
    }
}

static NAMES: LazyLock<[String; 2]> = LazyLock::new(|| ASSETS.map(|asset| asset.name()));

/// The address of an asset, which says what is in it.
pub(crate) fn address(stem: &str) -> String {
    let at = ASSETS.iter().position(|asset| asset.stem == stem).expect("pages name assets that exist");
    format!("/assets/{}", NAMES[at])
}

/// Read a file that pages need.
#[utoipa::path(get, path = "/assets/{name}", tag = "Pages", operation_id = "getAsset",
    params(("name" = String, Path, description = "The file's name, as pages give it.")),
    responses((status = 200, description = "The file.",
        content((String = "text/css"), (String = "text/javascript")))))]
pub(crate) async fn read(name: Option<Path<String>>) -> Result<Response, Problem> {
    let at = name.and_then(|Path(name)| NAMES.iter().position(|known| *known == name));
    let at = at.ok_or_else(|| Problem::new(Code::NotFound, "There is no such file."))?;
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(ASSETS[at].content_type)),
        (header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable")),
    ];
    Ok((headers, ASSETS[at].content).into_response())
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
