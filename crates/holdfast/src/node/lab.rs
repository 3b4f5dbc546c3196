//! The lab as a server shows it: the shelf of `holdfast_lab` behind the server's port, and the race on the spot.

use std::sync::Arc;

use async_trait::async_trait;
use holdfast_engine::{clock::Clock, mint};
use holdfast_lab::{
    report::{Page, Report, model::Race},
    shelf::{self, Limits, Shelf},
    spot,
};
use holdfast_server::lab::{self, Kind, Lab, NoRace, Picture};
use tokio::sync::Semaphore;

/// Where the pictures' heading leads.
const HOME: &str = "/lab";
/// Enough that reading and writing overlap every time, few enough to be seen.
const BUYERS: u32 = 20;

#[derive(Debug)]
pub struct ShownLab {
    shelf: Shelf,
    clock: Arc<dyn Clock>,
    /// One race at a time; `None` where visitors cannot run any.
    track: Option<Semaphore>,
}

impl ShownLab {
    pub fn new(limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self { shelf: Shelf::new(limits), clock, track: None }
    }

    /// Lets visitors run a race.
    #[must_use]
    pub fn with_races_on_request(self) -> Self {
        Self { track: Some(Semaphore::new(1)), ..self }
    }

    fn keep_races(&self, races: Vec<Race>) -> Result<String, String> {
        let id = fresh_id();
        let kept = self.shelf.keep_races(id.clone(), self.clock.now().to_string(), races);
        kept.map(|()| id).map_err(|why| why.to_string())
    }
}

#[async_trait]
impl Lab for ShownLab {
    fn shelf(&self) -> lab::Shelf {
        let labels = |labels: Vec<shelf::Label>| labels.into_iter().map(label).collect();
        lab::Shelf {
            races: labels(self.shelf.races()),
            reports: labels(self.shelf.reports()),
            races_on_request: self.track.is_some(),
        }
    }

    fn picture(&self, of: Kind, id: &str) -> Option<Picture> {
        let Page { html, policy } = match of {
            Kind::Race => self.shelf.race(id, HOME),
            Kind::Report => self.shelf.report(id, HOME),
        }?;
        Some(Picture { html, policy })
    }

    fn keep(&self, of: Kind, json: &[u8]) -> Result<String, String> {
        let wrong = |fault: serde_json::Error| format!("This is not what the lab writes: {fault}.");
        match of {
            Kind::Race => self.keep_races(vec![serde_json::from_slice(json).map_err(wrong)?]),
            Kind::Report => {
                let report: Report = serde_json::from_slice(json).map_err(wrong)?;
                let id = fresh_id();
                self.shelf.keep_report(id.clone(), report);
                Ok(id)
            }
        }
    }

    async fn race(&self) -> Result<String, NoRace> {
        let track = self.track.as_ref().ok_or(NoRace::NotHere)?;
        let _lane = track.try_acquire().map_err(|_| NoRace::Busy)?;
        let seed = mint::random_bits() as u64;
        let races = spot::race(BUYERS, seed).await.map_err(|fault| NoRace::Failed(fault.to_string()))?;
        self.keep_races(races).map_err(NoRace::Failed)
    }
}

/// Of something that is gone with the process: no later one should be found under an old link.
fn fresh_id() -> String {
    format!("{:012x}", mint::random_bits() & 0xffff_ffff_ffff)
}

fn label(shelf::Label { id, at, title, came }: shelf::Label) -> lab::Label {
    let came = match came {
        shelf::Came::Well => lab::Came::Well,
        shelf::Came::SoldWrongly => lab::Came::SoldWrongly,
        shelf::Came::TakenBefore => lab::Came::TakenBefore,
    };
    lab::Label { id, at, title, came }
}
