//! The API reference: the OpenAPI document for machines, and a page for people that works without any network.

mod reference;

use std::sync::LazyLock;

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use crate::{assets, openapi as document};

/// Read the OpenAPI document.
#[utoipa::path(get, path = "/openapi.json", tag = "Operations", operation_id = "openapi",
    responses((status = 200, description = "This document.", body = serde_json::Value)))]
pub(crate) async fn openapi() -> Response {
    static JSON: LazyLock<String> = LazyLock::new(document::json);
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], JSON.as_str()).into_response()
}

/// Read the API reference.
#[utoipa::path(get, path = "/docs", tag = "Pages", operation_id = "docs",
    responses((status = 200, description = "A page for people.", content_type = "text/html", body = String)))]
pub(crate) async fn reference() -> Response {
    static PAGE: LazyLock<String> = LazyLock::new(|| reference::page(&document::document()));
    assets::html(PAGE.as_str())
}
