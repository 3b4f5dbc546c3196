//! Which server a client command speaks to, and with which key.

use clap::Args;

use crate::{
    failure::Failure,
    hint,
    http::{Target, api::Api},
};

#[derive(Debug, Clone, Args)]
pub struct ServerArgs {
    /// The server; without it the running demo, or http://127.0.0.1:8080 [env: HOLDFAST_URL]
    // Not read by clap, to which a variable would stand in the way of a flag that names another place.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// An API key; without it the running demo's, or the one in HOLDFAST_ADMIN_KEY
    #[arg(long, env = "HOLDFAST_KEY", hide_env_values = true, value_name = "KEY")]
    pub key: Option<String>,
}

/// A server and the key to speak to it with.
#[derive(Debug, Clone)]
pub struct Access {
    pub target: Target,
    pub key: Option<String>,
}

impl Access {
    pub fn api(&self) -> Api {
        Api::new(self.target.clone(), self.key.clone())
    }
}

impl ServerArgs {
    pub fn access(&self) -> Result<Access, Failure> {
        let demo = hint::running_demo();
        let demo_url = demo.as_ref().map(|demo| demo.url.as_str());
        let variable = set("HOLDFAST_URL");
        let url = self.url.as_deref().or(variable.as_deref()).or(demo_url).unwrap_or("http://127.0.0.1:8080");
        let target: Target = url.parse().map_err(|rule| {
            Failure::usage(format!("the server's address {url:?} {rule}"), "correct --url or HOLDFAST_URL")
        })?;
        // The demo's key is for the demo alone.
        let demo_key = demo.filter(|demo| demo.url.parse() == Ok(target.clone())).map(|demo| demo.key);
        // Beside a server whose operator has its key in the environment, that is the key meant.
        let admin_key = || set("HOLDFAST_ADMIN_KEY");
        Ok(Access { target, key: self.key.clone().or(demo_key).or_else(admin_key) })
    }
}

/// A variable that says something.
fn set(variable: &str) -> Option<String> {
    std::env::var(variable).ok().filter(|text| !text.is_empty())
}
