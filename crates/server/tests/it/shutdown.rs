use std::time::Duration;

use holdfast_server::Limits;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{app::TestApp, map::Events};

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn open_streams_end_and_the_server_stops() {
    let app = TestApp::with_hall().await;
    let mut events = Events::open(&app, None).await;
    app.shutdown.cancel();
    while events.line().await.is_some() {}
    timeout(SOON, app.server).await.expect("it stops").unwrap();
    assert!(TcpStream::connect(app.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn idle_connections_do_not_hold_it_up() {
    let app = TestApp::embedded().await;
    let mut idle = TcpStream::connect(app.address).await.unwrap();
    idle.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    idle.read_u8().await.unwrap();
    app.shutdown.cancel();
    let mut rest = Vec::new();
    idle.read_to_end(&mut rest).await.unwrap();
    drop(idle);
    timeout(SOON, app.server).await.expect("it stops").unwrap();
}

#[tokio::test]
async fn who_does_not_finish_in_time_is_cut_off() {
    let app =
        TestApp::with_limits(Limits { shutdown_grace: Duration::from_millis(100), ..Limits::default() })
            .await;
    let mut slow = TcpStream::connect(app.address).await.unwrap();
    let head = b"POST /v1/holds HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5\r\nexpect: 100-continue\r\n\r\n";
    slow.write_all(head).await.unwrap();
    let mut word = [0; 25];
    slow.read_exact(&mut word).await.unwrap();
    assert_eq!(&word, b"HTTP/1.1 100 Continue\r\n\r\n", "it waits for the body");
    app.shutdown.cancel();
    timeout(SOON, app.server).await.expect("it stops").unwrap();
}
