//! The lottery of a waiting room, verified by the program from what a real server publishes.

use std::io::{BufRead, BufReader, Write};

use holdfast_engine::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::support::{Answer, KEY, Server, ask, folder, run};

const ROOM: &str = "/v1/offers/hall/room";

fn plan(server: &Server, opens_in_s: u32) -> Answer {
    let opens_at = SystemClock::new().now().plus_s(opens_in_s).to_string();
    let plan = json!({"method": "lottery", "max_active": 1, "opens_at": opens_at});
    ask(&server.url, "PUT", ROOM, &[("authorization", &format!("Bearer {KEY}"))], &plan.to_string())
}

/// A browser in the draw: its cookies and its number.
fn join(server: &Server) -> (String, u64) {
    let joined = ask(&server.url, "POST", &format!("{ROOM}/tickets"), &[], "{}").expect(201);
    (joined.cookies(), joined.json()["number"].as_u64().expect("a number"))
}

/// Listens where a visitor stands until the lots are drawn; the place that came of it.
fn place_drawn(server: &Server, cookies: &str) -> u64 {
    let authority = server.url.strip_prefix("http://").expect("an http address");
    let mut stream = std::net::TcpStream::connect(authority).expect("it listens");
    let question = format!("GET {ROOM}/me/stream HTTP/1.1\r\nhost: {authority}\r\ncookie: {cookies}\r\n\r\n");
    stream.write_all(question.as_bytes()).expect("it reads");
    let lines = BufReader::new(stream).lines().map(|line| line.expect("it goes on"));
    let mut told = lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    told.find_map(|place| place["place"].as_u64()).expect("the stream goes on until the draw")
}

fn verify(server: &Server, more: &[&str]) -> crate::support::Done {
    run(&[&["room", "verify", "--url", &server.url, "--offer", "hall"], more].concat())
}

#[test]
fn a_real_draw_is_the_one_that_was_promised() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    // Far off, so that everybody is in time however slow this machine is.
    let commitment = plan(&server, 3600).expect(200).json()["lottery"]["commitment"].clone();
    let commitment = commitment.as_str().expect("published before anybody joins");
    let visitors: Vec<_> = (0..3).map(|_| join(&server)).collect();
    let early = verify(&server, &["--commitment", commitment]).expect(2);
    assert!(early.err.contains("has not been drawn yet") && early.err.contains(commitment), "{}", early.err);

    // Now it is soon: a plan that is too late by the time it is heard is refused, and sent again.
    while plan(&server, 2).status != 200 {}
    let places: Vec<_> = visitors.iter().map(|(cookies, _)| place_drawn(&server, cookies)).collect();
    let numbers: Vec<String> = visitors.iter().map(|(_, number)| number.to_string()).collect();
    let tickets: Vec<&str> = numbers.iter().flat_map(|number| ["--ticket", number]).collect();
    let found = verify(&server, &[&["--commitment", commitment, "--json"], tickets.as_slice()].concat());
    let found = found.expect(0).json();
    assert_eq!((&found["ok"], &found["tickets"]), (&json!(true), &json!(3)));
    let computed: Vec<_> = found["places"].as_array().expect("one each").iter().collect();
    for ((computed, (_, number)), told) in computed.iter().zip(&visitors).zip(&places) {
        assert_eq!((computed["number"].as_u64(), computed["place"].as_u64()), (Some(*number), Some(*told)));
    }

    let other = "0".repeat(64);
    let broken = verify(&server, &["--commitment", &other]).expect(1);
    assert!(broken.out.contains(&format!("the commitment was {other}")), "{}", broken.out);
    // And to a person, in words.
    let words = verify(&server, &["--commitment", commitment]).expect(0).out;
    assert!(words.contains("the draw is the one that was promised"), "{words}");
}
