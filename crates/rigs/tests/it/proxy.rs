use std::{net::SocketAddr, time::Duration};

use holdfast_rigs::{FaultProxy, Loss, Mode, Postgres, Program, Redis};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    process::Command,
    time::{Instant, timeout},
};

/// Says everything back.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = stream.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    address
}

async fn connected(proxy: &FaultProxy) -> TcpStream {
    TcpStream::connect(proxy.address()).await.unwrap()
}

/// A connection that the proxy has taken up and carries both ways.
async fn carried(proxy: &FaultProxy) -> TcpStream {
    let mut stream = connected(proxy).await;
    say(&mut stream, b"hello").await;
    assert_eq!(hear(&mut stream, 5).await, b"hello");
    stream
}

async fn say(stream: &mut TcpStream, text: &[u8]) {
    stream.write_all(text).await.unwrap();
}

async fn hear(stream: &mut TcpStream, length: usize) -> Vec<u8> {
    let mut heard = vec![0; length];
    stream.read_exact(&mut heard).await.unwrap();
    heard
}

/// Nothing comes within a moment that is long for loopback.
async fn silent(stream: &mut TcpStream) -> bool {
    timeout(Duration::from_millis(100), stream.read(&mut [0])).await.is_err()
}

#[tokio::test]
async fn it_passes_and_counts() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut stream = connected(&proxy).await;
    say(&mut stream, b"hello").await;
    assert_eq!(hear(&mut stream, 5).await, b"hello");
    let other = connected(&proxy).await;
    proxy.until(|counts| counts.open == 2 && counts.accepted == 2).await;
    // An end is passed on as well.
    stream.shutdown().await.unwrap();
    assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
    drop((stream, other));
    proxy.until(|counts| counts.open == 0).await;
    assert_eq!(proxy.counts().accepted, 2);
}

#[tokio::test]
async fn a_delay_delays_everything_alike() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut stream = carried(&proxy).await;
    proxy.set(Mode::Delay(Duration::from_millis(200)));
    let begun = Instant::now();
    for _ in 0..20 {
        say(&mut stream, b"x").await;
        tokio::task::yield_now().await;
    }
    hear(&mut stream, 20).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(400), "there and back: {took:?}");
    assert!(took < Duration::from_secs(3), "not one after the other: {took:?}");
}

#[tokio::test]
async fn what_stalls_arrives_when_it_heals() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut stream = carried(&proxy).await;
    proxy.set(Mode::Stall);
    say(&mut stream, b"hello").await;
    assert!(silent(&mut stream).await);
    proxy.set(Mode::Pass);
    assert_eq!(hear(&mut stream, 5).await, b"hello");
}

#[tokio::test]
async fn what_is_swallowed_never_arrives() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut stream = carried(&proxy).await;
    proxy.set(Mode::Swallow);
    say(&mut stream, b"hello").await;
    assert!(silent(&mut stream).await);
    proxy.set(Mode::Pass);
    say(&mut stream, b"hello?").await;
    assert!(silent(&mut stream).await, "a torn stream is not resumed in the middle");
    let mut fresh = connected(&proxy).await;
    say(&mut fresh, b"hello").await;
    assert_eq!(hear(&mut fresh, 5).await, b"hello");
    drop((stream, fresh));
    proxy.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn closed_it_resets_old_connections_and_new_ones() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut old = connected(&proxy).await;
    say(&mut old, b"hello").await;
    hear(&mut old, 5).await;
    proxy.set(Mode::Close);
    assert!(matches!(old.read(&mut [0]).await, Ok(0) | Err(_)));
    // The reset may already be there when connect returns.
    if let Ok(mut new) = TcpStream::connect(proxy.address()).await {
        assert!(matches!(new.read(&mut [0]).await, Ok(0) | Err(_)));
    }
    proxy.set(Mode::Pass);
    let mut healed = connected(&proxy).await;
    say(&mut healed, b"hello").await;
    assert_eq!(hear(&mut healed, 5).await, b"hello");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_connection() {
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let proxy = FaultProxy::start(nobody).await.unwrap();
    if let Ok(mut stream) = TcpStream::connect(proxy.address()).await {
        assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
    }
    proxy.until(|counts| counts.accepted == 1 && counts.open == 0).await;
}

#[tokio::test]
async fn it_cuts_after_so_many_bytes_on_each_connection() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut early = connected(&proxy).await;
    say(&mut early, b"before the order").await;
    hear(&mut early, 16).await;
    proxy.set(Mode::CutAfter(7));
    for mut stream in [early, connected(&proxy).await] {
        say(&mut stream, b"hello").await;
        let mut heard = Vec::new();
        stream.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"he", "five there, two back");
    }
}

#[tokio::test]
async fn only_the_reply_to_the_trigger_is_lost_also_when_it_comes_in_pieces() {
    let proxy = FaultProxy::start(echo().await).await.unwrap();
    let mut stream = connected(&proxy).await;
    proxy.set(Mode::LoseReplies { to: b"COMMIT".to_vec(), then: Loss::Silence, times: 1 });
    say(&mut stream, b"BEGIN").await;
    assert_eq!(hear(&mut stream, 5).await, b"BEGIN");
    say(&mut stream, b"COM").await;
    assert_eq!(hear(&mut stream, 3).await, b"COM");
    say(&mut stream, b"MIT").await;
    proxy.until(|counts| counts.lost == 1).await;
    assert!(silent(&mut stream).await);
    let mut other = connected(&proxy).await;
    say(&mut other, b"COMMIT").await;
    assert_eq!(hear(&mut other, 6).await, b"COMMIT", "it strikes once");
    drop((stream, other));
    proxy.until(|counts| counts.open == 0).await;
}

#[tokio::test]
async fn redis_did_what_its_client_never_heard_of() {
    let redis = tokio::task::spawn_blocking(|| Redis::start().unwrap()).await.unwrap();
    let proxy = FaultProxy::start(redis.address()).await.unwrap();
    proxy.set(Mode::lose_reply_to("INCR"));
    let mut stream = connected(&proxy).await;
    say(&mut stream, b"PING\r\n").await;
    assert_eq!(hear(&mut stream, 7).await, b"+PONG\r\n");
    say(&mut stream, b"INCR sold\r\n").await;
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard).await;
    assert_eq!(heard, b"");
    assert_eq!(redis.ask(&["GET", "sold"]).unwrap().integer(), Some(1));
}

#[tokio::test]
async fn a_commit_whose_reply_is_lost_is_committed() {
    let server = tokio::task::spawn_blocking(|| Postgres::start().unwrap()).await.unwrap();
    server.ask("postgres", "CREATE TABLE sold (seat text)").unwrap();
    let proxy = FaultProxy::start(server.address()).await.unwrap();
    proxy.set(Mode::lose_reply_to("COMMIT"));
    let url = server.url_through(proxy.address(), "postgres");
    let lost = Command::new(Program::Psql.find().unwrap())
        .args([&url, "-c", "BEGIN; INSERT INTO sold VALUES ('A-1'); COMMIT"])
        .output()
        .await
        .unwrap();
    assert!(!lost.status.success(), "{lost:?}");
    assert_eq!(proxy.counts().lost, 1);
    let rows = server.ask("postgres", "SELECT seat FROM sold").unwrap();
    assert_eq!(rows, [[Some("A-1".to_owned())]]);
}
