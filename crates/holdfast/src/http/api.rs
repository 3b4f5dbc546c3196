//! Asking a Holdfast server: keys, JSON, pages of lists, and what to do about a refusal.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Connection, Request, Target};
use crate::failure::Failure;

/// Long enough for a full disk to make up its mind, short enough that nobody thinks the program has died.
const PATIENCE: Duration = Duration::from_secs(30);

/// Items asked for at a time.
const PAGE: usize = 500;

#[derive(Debug)]
pub struct Api {
    pub target: Target,
    key: Option<String>,
    connection: Option<Connection>,
    /// The server ends with this command: nobody can read its pages or its log.
    ends_with_us: bool,
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// What a server says when it says no.
#[derive(Debug, Clone, Deserialize)]
pub struct Problem {
    /// The page that explains it, on the server that said it.
    #[serde(rename = "type", default)]
    page: String,
    pub code: String,
    #[serde(default)]
    pub detail: String,
    #[serde(default)]
    pub request_id: String,
}

/// A list as every route gives it.
#[derive(Debug, Deserialize)]
struct Listed<T> {
    data: Vec<T>,
    next: Option<String>,
}

impl Api {
    pub fn new(target: Target, key: Option<String>) -> Self {
        Self { target, key, connection: None, ends_with_us: false }
    }

    /// To a server that this command runs for itself.
    pub fn to_our_own(target: Target, key: String) -> Self {
        Self { ends_with_us: true, ..Self::new(target, Some(key)) }
    }

    pub async fn get<T: DeserializeOwned>(&mut self, path: &str) -> Result<T, Failure> {
        let answer = self.call("GET", path, &[], None).await?;
        self.parsed(path, &answer)
    }

    pub async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let body = serde_json::to_vec(body).expect("what we send is plain data");
        let answer = self.call("POST", path, &[], Some(&body)).await?;
        self.parsed(path, &answer)
    }

    /// One page of a list, and what to pass as `after` for the next. `path` may carry a query already.
    pub async fn page<T: DeserializeOwned>(
        &mut self,
        path: &str,
        after: Option<&str>,
    ) -> Result<(Vec<T>, Option<String>), Failure> {
        let joint = if path.contains('?') { '&' } else { '?' };
        let after = after.map(|after| format!("&after={}", super::escaped(after))).unwrap_or_default();
        let listed: Listed<T> = self.get(&format!("{path}{joint}limit={PAGE}{after}")).await?;
        Ok((listed.data, listed.next))
    }

    /// Every item of a list.
    pub async fn list<T: DeserializeOwned>(&mut self, path: &str) -> Result<Vec<T>, Failure> {
        let (mut items, mut after) = (Vec::new(), None);
        loop {
            let (page, next) = self.page(path, after.as_deref()).await?;
            items.extend(page);
            match next {
                Some(next) => after = Some(next),
                None => return Ok(items),
            }
        }
    }

    fn parsed<T: DeserializeOwned>(&self, path: &str, answer: &Answer) -> Result<T, Failure> {
        if !(200..300).contains(&answer.status) {
            return Err(self.refusal(path, answer));
        }
        serde_json::from_slice(&answer.body).map_err(|fault| {
            let what = format!("{}{path} answered something this version does not understand", self.target);
            Failure::broken(what, "use the same version of holdfast on both sides").because(fault)
        })
    }

    /// Sends one request on the kept connection, or a fresh one where the kept one has gone away unused.
    pub async fn call(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Result<Answer, Failure> {
        let bearer = self.key.as_ref().map(|key| format!("Bearer {key}"));
        let mut all = headers.to_vec();
        all.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
        let request = match body {
            Some(body) => Request::with_body(method, &self.target, path, &all, body),
            None => Request::bare(method, &self.target, path, &all),
        };
        let exchange = tokio::time::timeout(PATIENCE, self.exchange(&request)).await;
        exchange.map_err(std::io::Error::from).flatten().map_err(|fault| self.lost(fault))
    }

    async fn exchange(&mut self, request: &Request) -> std::io::Result<Answer> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => Connection::open(&self.target).await?,
        };
        let response = connection.exchange(request.as_bytes()).await?;
        let (answer, closes) =
            (Answer { status: response.status, body: response.body.to_vec() }, response.closes());
        if !closes {
            self.connection = Some(connection);
        }
        Ok(answer)
    }

    fn lost(&self, fault: std::io::Error) -> Failure {
        let what = format!("no Holdfast server answers at {}", self.target);
        let next = "start one with `holdfast demo` or `holdfast serve`, or name the right one with --url";
        Failure::unreachable(what, next).because(fault)
    }

    pub fn refusal(&self, path: &str, answer: &Answer) -> Failure {
        match serde_json::from_slice::<Problem>(&answer.body) {
            Ok(problem) => {
                let detail = problem.detail.trim_end_matches('.');
                let what = format!("{detail} ({}, {})", answer.status, problem.code);
                refused(answer.status)(what, self.way_on(&problem))
            }
            Err(_) => {
                let what = format!("{}{path} answered {}", self.target, answer.status);
                refused(answer.status)(what, "check that --url names a Holdfast server".to_owned())
            }
        }
    }

    fn way_on(&self, problem: &Problem) -> String {
        match holdfast_server::explained(&problem.code) {
            Some(words) if self.ends_with_us => words.trim_end_matches('.').to_owned(),
            _ => way_on(problem, &self.target),
        }
    }
}

/// A server, or the proxy before it, that cannot answer now is out of reach; any other no is a refusal.
fn refused(status: u16) -> fn(String, String) -> Failure {
    match status {
        502..=504 => Failure::unreachable,
        _ => Failure::refused,
    }
}

fn way_on(problem: &Problem, target: &Target) -> String {
    match problem.code.as_str() {
        "unauthenticated" => "pass --key or set HOLDFAST_KEY; `holdfast keys create` makes one".into(),
        "forbidden" => "use a key with the role admin: `holdfast keys create --role admin`".into(),
        "unknown_offer" => "`holdfast export offers` lists what is on sale".into(),
        "offer_exists" => "choose another id with --offer".into(),
        "overloaded" | "unavailable" | "outcome_unknown" => {
            format!("wait a moment and try again; {target}/readyz says what is wrong")
        }
        _ => {
            let page = if problem.page.starts_with('/') {
                format!("{target}{}", problem.page)
            } else {
                problem.page.clone()
            };
            format!("read {page}; the server's log has request {}", problem.request_id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    #[test]
    fn a_server_that_cannot_answer_now_is_out_of_reach() {
        let api = Api::new("http://h:1".parse().unwrap(), None);
        let exit = |status, body: &str| api.refusal("/", &Answer { status, body: body.into() }).exit;
        let problem = r#"{"type":"/problems/unavailable","code":"unavailable","detail":"Not now."}"#;
        assert_eq!(exit(503, problem), Exit::Unreachable);
        assert_eq!(exit(502, "<h1>Bad gateway</h1>"), Exit::Unreachable);
        assert_eq!(exit(409, problem), Exit::Refused);
    }
}
