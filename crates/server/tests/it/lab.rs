use std::sync::Arc;

use async_trait::async_trait;
use holdfast_server::lab::{Came, Kind, Lab, Label, NoRace, Picture, Shelf};
use parking_lot::Mutex;
use serde_json::json;

use crate::app::{Setup, TestApp};

/// A lab that keeps what it is given and draws it as text.
#[derive(Debug, Default)]
struct Drawer {
    races: Mutex<Vec<String>>,
    races_on_request: bool,
}

#[async_trait]
impl Lab for Drawer {
    fn shelf(&self) -> Shelf {
        let label = |at: usize| Label {
            id: at.to_string(),
            at: "then".into(),
            title: "<b>a race</b>".into(),
            came: Came::SoldWrongly,
        };
        let races = (0..self.races.lock().len()).map(label).collect();
        Shelf { races, reports: vec![], races_on_request: self.races_on_request }
    }

    fn picture(&self, of: Kind, id: &str) -> Option<Picture> {
        let at: usize = id.parse().ok().filter(|_| of == Kind::Race)?;
        let html = self.races.lock().get(at)?.clone();
        Some(Picture { html, policy: "default-src 'none'; script-src 'sha256-x'".into() })
    }

    fn keep(&self, of: Kind, json: &[u8]) -> Result<String, String> {
        match of {
            Kind::Race => {
                let mut races = self.races.lock();
                races.push(String::from_utf8_lossy(json).into_owned());
                Ok((races.len() - 1).to_string())
            }
            Kind::Report => Err("not a report".into()),
        }
    }

    async fn race(&self) -> Result<String, NoRace> {
        if !self.races_on_request {
            return Err(NoRace::NotHere);
        }
        self.keep(Kind::Race, b"on the spot").map_err(NoRace::Failed)
    }
}

async fn with_lab(races_on_request: bool) -> TestApp {
    let lab = Arc::new(Drawer { races_on_request, ..Drawer::default() });
    TestApp::with(Setup { lab: Some(lab), ..Setup::default() }).await
}

#[tokio::test]
async fn without_a_lab_its_addresses_do_not_exist() {
    let app = TestApp::embedded().await;
    app.client().get("/lab").await.expect_problem(404, "not_found");
    app.client().get("/lab/races/0").await.expect_problem(404, "not_found");
    app.admin().post("/lab/races", json!({})).await.expect_problem(404, "not_found");
}

#[tokio::test]
async fn only_an_administrator_adds_a_picture_and_everybody_sees_it() {
    let app = with_lab(false).await;
    app.client().post("/lab/races", json!({"a": 1})).await.expect_problem(401, "unauthenticated");
    app.seller().await.post("/lab/races", json!({"a": 1})).await.expect_problem(403, "forbidden");
    let kept = app.admin().post("/lab/races", json!({"a": 1})).await.expect(201).json();
    assert_eq!(kept["url"], "/lab/races/0");
    let picture = app.client().get("/lab/races/0").await.expect(200);
    assert_eq!(
        picture.header("content-security-policy"),
        "default-src 'none'; script-src 'sha256-x'; frame-ancestors 'none'"
    );
    app.client().get("/lab/races/1").await.expect_problem(404, "not_found");
    app.admin().post("/lab/reports", json!({})).await.expect_problem(400, "invalid_request");

    let front = app.client().get("/lab").await.expect(200);
    let text = String::from_utf8_lossy(&front.body).into_owned();
    assert!(text.contains("href=\"/lab/races/0\"") && text.contains("sold wrongly"), "{text}");
    assert!(!text.contains("<b>a race</b>") && !text.contains("/lab/run"), "{text}");
    assert!(!front.header("content-security-policy").contains("unsafe"));
}

#[tokio::test]
async fn a_visitor_runs_a_race_only_where_that_is_meant() {
    let app = with_lab(true).await;
    let front = app.client().get("/lab").await.expect(200);
    assert!(String::from_utf8_lossy(&front.body).contains("action=\"/lab/run\""));
    let sent = app.client().post("/lab/run", json!({})).await.expect(303);
    assert_eq!(sent.header("location"), "/lab/races/0");
    let stranger = app.client().with("origin", "https://elsewhere.example");
    stranger.post("/lab/run", json!({})).await.expect_problem(403, "forbidden");
    with_lab(false).await.client().post("/lab/run", json!({})).await.expect_problem(404, "not_found");
}
