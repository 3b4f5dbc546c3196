//! `holdfast demo`: a shop in memory with something of every kind on sale and people buying it.
//!
//! Everything goes through the same server that `serve` runs; only the books are in memory. The live buyers keep
//! away from the seat in the printed curl line and from the back rows that `holdfast race` picks from, so that
//! what a visitor tries turns out as the text beside it says.

mod banner;
mod buyers;
mod offers;

use std::{io, net::SocketAddr, sync::Arc};

use clap::Args;
use holdfast_engine::ledger::Role;
use holdfast_stripe_simulator::{Deliveries, Simulator};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use self::buyers::Traffic;
use crate::{
    failure::{Exit, Failure},
    hint,
    http::{Target, api::Api},
    node::Node,
    serve,
    settings::{Flags, Settings},
    stop,
};

/// Run a shop in memory, with sample offers and live buyers, to look at and play with
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Where to listen; without it 127.0.0.1:8080, or a free port where that is taken
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// How many live buyers; 0 for a quiet shop
    #[arg(long, default_value_t = 36, value_parser = clap::value_parser!(u32).range(0..=500))]
    buyers: u32,
}

pub fn run(args: &DemoArgs) -> Result<Exit, Failure> {
    let mut flags = Flags::default();
    flags.given.extend(args.listen.iter().map(|listen| ("listen", listen.clone())));
    // A key there must be, for a public address as for any other; the demo makes its own below.
    flags.given.insert("admin_key", format!("demo-{:032x}", holdfast_engine::mint::random_bits()));
    let settings = Settings::check(&flags.gather()?)?;
    serve::runtime(&settings)?.block_on(demo(args, flags, &settings))
}

async fn demo(args: &DemoArgs, flags: Flags, settings: &Settings) -> Result<Exit, Failure> {
    let (listener, moved) = listen(settings.listen, args.listen.is_none()).await?;
    let address = listener.local_addr().map_err(no_address)?;
    let bank = bank(address).await?;
    let settings = &with_bank(flags, &bank)?;
    let lab = settings.lab.clone().unwrap_or_default();
    let node = Node::in_memory(settings).await?.with_races_on_request(lab);
    let admin = node.add_key(Role::Admin).await?;
    let seller = node.add_key(Role::Seller).await?;
    let shutdown = CancellationToken::new();
    let signals = tokio::spawn(stop::on_signal(shutdown.clone()));
    let serving = tokio::spawn(node.run(listener, shutdown.clone()));

    let target = Target::from(reachable(address));
    let mut api = Api::new(target.clone(), Some(admin.clone()));
    for offer in offers::all() {
        api.post::<Value>("/v1/offers", &offer).await?;
    }
    // Without the hint `race` has to be told where the demo is; that is all.
    let _posted = hint::post(&target.to_string(), &admin);
    banner::print(&target, &admin, &bank, moved.then_some(settings.listen));
    let traffic = Arc::new(Traffic::default());
    let shoppers = buyers::let_in(args.buyers, &target, &seller, &traffic, &shutdown);
    banner::follow(&traffic, &shutdown).await;

    shutdown.cancelled().await;
    shoppers.wait().await;
    // A server that panicked has said so on standard error.
    let _ = serving.await;
    signals.abort();
    banner::farewell(&traffic);
    Ok(Exit::Done)
}

/// A card provider of the demo's own, which tells the shop what becomes of payments.
async fn bank(shop: SocketAddr) -> Result<Simulator, Failure> {
    let url = format!("{}/v1/webhooks/stripe", Target::from(reachable(shop)));
    let webhooks = Deliveries { url: Some(url), ..Deliveries::default() };
    let settings = holdfast_stripe_simulator::Settings { webhooks, ..Default::default() };
    Simulator::start(([127, 0, 0, 1], 0).into(), settings).await.map_err(no_address)
}

/// The settings with that provider in place of any real one: a demo moves nobody's money.
fn with_bank(mut flags: Flags, bank: &Simulator) -> Result<Settings, Failure> {
    flags.given.insert("stripe_url", bank.url());
    flags.given.insert("stripe_secret_key", bank.secret_key().to_owned());
    flags.given.insert("stripe_webhook_secret", bank.webhook_secret().to_owned());
    flags.given.insert("stripe_publishable_key", String::new());
    Ok(Settings::check(&flags.gather()?)?)
}

/// Listens on the address, or on a free port where a default one is taken; the flag says which it was.
async fn listen(address: SocketAddr, may_move: bool) -> Result<(TcpListener, bool), Failure> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok((listener, false)),
        Err(fault) if may_move && fault.kind() == io::ErrorKind::AddrInUse => {
            let elsewhere = TcpListener::bind(SocketAddr::new(address.ip(), 0)).await.map_err(no_address)?;
            Ok((elsewhere, true))
        }
        Err(fault) => {
            let next = "choose another with --listen; port 0 picks a free one";
            Err(Failure::unreachable(format!("cannot listen on {address}"), next).because(fault))
        }
    }
}

fn no_address(fault: io::Error) -> Failure {
    Failure::broken("this machine gives no port to listen on", "check its network settings").because(fault)
}

/// The address to speak to a server that listens everywhere.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => address.set_ip([127, 0, 0, 1].into()),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            address.set_ip(std::net::Ipv6Addr::LOCALHOST.into())
        }
        _ => {}
    }
    address
}
