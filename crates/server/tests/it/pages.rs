use serde_json::json;

use crate::app::TestApp;

#[tokio::test]
async fn every_code_has_a_page_under_a_strict_policy() {
    let app = TestApp::embedded().await;
    let index = app.client().get("/problems").await.expect(200);
    let text = String::from_utf8(index.body.to_vec()).unwrap();
    let codes: Vec<_> =
        text.split("href=\"/problems/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(codes.len() > 30 && codes.contains(&"unit_taken"), "{codes:?}");
    for code in codes {
        let page = app.client().get(&format!("/problems/{code}")).await.expect(200);
        let policy = page.header("content-security-policy");
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert!(String::from_utf8_lossy(&page.body).contains(code));
    }
    app.client().get("/problems/nonsense").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn the_reference_names_every_route_and_needs_no_network() {
    let app = TestApp::embedded().await;
    let page = app.client().get("/docs").await.expect(200);
    let text = String::from_utf8(page.body.to_vec()).unwrap();
    let document = app.client().get("/openapi.json").await.expect(200).json();
    assert_eq!(document["openapi"], "3.1.0");
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(text.contains(&format!("<code>{path}</code>")), "{path}");
    }
    assert!(!text.contains("http://") && !text.contains("https://") && !text.contains("style="), "{text}");
    let links = text.split("href=\"").chain(text.split("src=\"")).filter(|rest| rest.starts_with("/assets/"));
    for address in links.map(|rest| rest.split('"').next().unwrap()) {
        let asset = app.client().get(address).await.expect(200);
        assert!(asset.header("cache-control").contains("immutable"));
    }
    app.client().get("/assets/nothing.js").await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn every_operation_documents_its_problems() {
    let app = TestApp::embedded().await;
    let document = app.client().get("/openapi.json").await.expect(200).json();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for status in ["405", "408", "429", "503"] {
                assert!(
                    operation["responses"][status].is_object(),
                    "{method} {path} does not document {status}"
                );
            }
            if method == "post" {
                let names = operation["parameters"].as_array().unwrap().iter().map(|at| &at["name"]);
                assert!(names.clone().any(|name| *name == json!("Idempotency-Key")), "{path}");
            }
        }
    }
}

/// The checked-in copy is what reviewers and client generators read.
#[test]
fn the_checked_in_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let current = holdfast_server::openapi_json();
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let checked_in = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        checked_in == current,
        "docs/openapi.json is not what the code says. To update it, run:\n\
         UPDATE_OPENAPI=1 cargo test -p holdfast-server the_checked_in_document_is_current"
    );
}
