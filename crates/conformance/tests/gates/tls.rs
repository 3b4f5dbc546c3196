//! Gates whose Redis is spoken to by TLS: one server, a Cluster, and a master that Sentinels name.

use std::time::Duration;

use holdfast_engine::{
    gate::redis::{self, Settings, Strategy, inspect},
    tls::Encryption,
};
use holdfast_rigs::{Redis, RedisCluster, Sentinel, Tls};

use crate::{
    certificates::{Authority, OURS},
    locks,
    shop::{Shop, seat, seats_named, settings, unit_of},
};

const PATIENCE: Duration = Duration::from_secs(5);

async fn started<T: Send + 'static>(start: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(start).await.expect("no panic")
}

fn trusted(authority: &Authority) -> redis::Authority {
    redis::Authority::read(&authority.file()).expect("an authority")
}

fn trusting(authority: &Authority) -> Settings {
    Settings { authority: Some(trusted(authority)), connect_timeout: PATIENCE, ..settings() }
}

/// The gate hears of a sale and refuses by itself.
async fn keeps_the_crowd_away(strategy: Strategy, address: &str, settings: Settings) {
    let shop = Shop::new(strategy, address, settings);
    shop.sell(seats_named("hall")).await;
    let taken = || vec![unit_of("hall", "A-1", 1)];
    shop.held("alice", taken()).await;
    shop.until_refused("bob", taken()).await;
}

/// Every server that the address names is seen, by TLS; how many there are.
async fn seen(address: &str, authority: &Authority) -> usize {
    let looks = inspect::look(address, Some(&trusted(authority)), PATIENCE).await.expect("an address");
    for look in &looks {
        let seen = look.seen.as_ref().unwrap_or_else(|fault| panic!("{}: {fault}", look.server));
        assert_eq!(seen.encryption, Encryption::SignedAndNamed, "{}", look.server);
    }
    looks.len()
}

async fn refused(address: &str, authority: Option<&Authority>) -> String {
    let authority = authority.map(trusted);
    let looks = inspect::look(address, authority.as_ref(), PATIENCE).await.expect("an address");
    looks[0].seen.as_ref().expect_err("nobody who can be trusted").clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_server_is_trusted_by_its_authority_and_its_name() {
    let (ours, theirs) = (Authority::called("ours"), Authority::called("theirs"));
    let start = |tls: Tls| started(|| Redis::options().tls(Some(tls)).start().expect("a Redis"));
    let server = start(ours.vouches_for(&OURS)).await;
    let address = server.tls_url().expect("TLS");
    keeps_the_crowd_away(Strategy::Lua, &address, trusting(&ours)).await;
    assert_eq!(seen(&address, &ours).await, 1);
    let plain = inspect::look(&server.url(), None, PATIENCE).await.expect("an address");
    assert_eq!(plain[0].seen.as_ref().expect("a server").encryption, Encryption::None);

    for stranger in [None, Some(&theirs)] {
        let said = refused(&address, stranger).await;
        assert!(said.contains("certificate"), "{said}");
    }
    let elsewhere = start(ours.vouches_for(&["elsewhere.example"])).await;
    let said = refused(&elsewhere.tls_url().expect("TLS"), Some(&ours)).await;
    assert!(said.contains("not valid for name"), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sale_goes_on_without_a_gate_that_cannot_be_trusted() {
    let ours = Authority::called("ours");
    let tls = ours.vouches_for(&OURS);
    let server = started(|| Redis::options().tls(Some(tls)).start().expect("a Redis")).await;
    let address = server.tls_url().expect("TLS");
    let shop = Shop::new(Strategy::Lua, &address, trusting(&Authority::called("theirs")));
    shop.sell(seats_named("hall")).await;
    shop.held("alice", vec![unit_of("hall", "A-1", 1)]).await;
    assert!(shop.gate_says("bob", vec![unit_of("hall", "A-1", 1)]).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_independent_servers_are_a_majority_by_tls_too() {
    let ours = Authority::called("ours");
    let tls = ours.vouches_for(&OURS);
    let servers = started(move || {
        let start = || Redis::options().tls(Some(tls.clone())).start().expect("a Redis");
        [start(), start(), start()]
    })
    .await;
    let address = servers.each_ref().map(|server| server.tls_url().expect("TLS")).join(",");
    assert_eq!(seen(&address, &ours).await, 3);
    // Opens once the first who comes keeps the second out.
    let shop = locks::shop(Strategy::Redlock, &address, trusting(&ours)).await;
    shop.held("alice", seat("A-1")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_is_encrypted_to_its_last_member() {
    let ours = Authority::called("ours");
    let tls = ours.vouches_for(&OURS);
    let cluster = started(move || RedisCluster::with_tls(3, &tls).expect("a Cluster")).await;
    let address = cluster.tls_urls().join(",");
    assert_eq!(seen(&address, &ours).await, 3);
    keeps_the_crowd_away(Strategy::Lua, &address, trusting(&ours)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_and_the_master_they_name_are_encrypted() {
    let ours = Authority::called("ours");
    let tls = ours.vouches_for(&OURS);
    let group = started(move || Sentinel::with_tls(&tls).expect("sentinels")).await;
    let hosts: Vec<_> = group.tls_urls().iter().map(|url| url.replace("rediss://", "")).collect();
    let address = format!("rediss+sentinel://{}/{}", hosts.join(","), group.master_name());
    // Three of them, and the master.
    assert_eq!(seen(&address, &ours).await, 4);
    keeps_the_crowd_away(Strategy::Lua, &address, trusting(&ours)).await;
}
