use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Server, folder, holdfast, run, text};

/// A simulated provider in a process of its own, ended with this value.
struct Bank {
    child: Child,
    said: Value,
}

impl Bank {
    fn start() -> Self {
        let mut command = holdfast(&["stripe-simulator", "--listen", "127.0.0.1:0", "--json"]);
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output is ours");
        BufReader::new(out).read_line(&mut line).expect("it says where it listens");
        Self { child, said: serde_json::from_str(&line).expect("one line of JSON") }
    }

    fn says(&self, name: &str) -> &str {
        self.said[name].as_str().expect("it is said")
    }
}

impl Drop for Bank {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pay(server: &Server, unit: &str, method: Option<&str>) -> (u16, Value) {
    let hold = server.hold("alice", unit).expect(201).json();
    let mut payment = json!({"provider": "stripe"});
    if let Some(method) = method {
        payment["payment_method"] = method.into();
    }
    let answer = server.post(
        "/v1/bookings",
        &[("idempotency-key", unit)],
        &json!({"hold": hold["id"], "payment": payment}),
    );
    (answer.status, answer.json())
}

#[test]
fn a_real_server_is_paid_and_its_secrets_are_nowhere() {
    let (bank, folder) = (Bank::start(), folder());
    let secrets = [bank.says("secret_key").to_owned(), bank.says("webhook_secret").to_owned()];
    let variables = [
        ("HOLDFAST_STRIPE_URL", bank.says("url")),
        ("HOLDFAST_STRIPE_SECRET_KEY", &secrets[0]),
        ("HOLDFAST_STRIPE_WEBHOOK_SECRET", &secrets[1]),
    ];
    let mut command = holdfast(&["serve", "--listen", "127.0.0.1:0", "--log", "trace", "--data"]);
    let (server, mut log) = Server::start_with_log(command.arg(folder.path()).envs(variables));
    let reading = std::thread::spawn(move || {
        let mut text = String::new();
        log.read_to_string(&mut text).map(|_| text)
    });
    let server = server.with_hall();

    let (status, paid) = pay(&server, "A-1", Some("pm_card_visa"));
    assert_eq!((status, &paid["state"]), (201, &json!("confirmed")), "{paid}");
    let (status, declined) = pay(&server, "A-5", Some("pm_card_visa_chargeDeclined"));
    assert_eq!((status, &declined["code"]), (402, &json!("payment_declined")), "{declined}");
    let (status, pending) = pay(&server, "A-9", None);
    assert_eq!((status, &pending["state"]), (201, &json!("pending")), "{pending}");
    let client_secret = pending["payment"]["client_secret"].as_str().expect("for the browser").to_owned();
    // A refusal, too, speaks of nothing but the request.
    let forged = server.post("/v1/webhooks/stripe", &[("stripe-signature", "t=1,v1=00")], &json!({}));
    assert_eq!(forged.status, 400);
    let journal = server.get("/v1/journal").body;
    let metrics = server.get("/metrics").body;
    assert!(metrics.contains("holdfast_payments_total{state=\"succeeded\"}"), "{metrics}");

    let mut config = holdfast(&["config", "--json"]);
    let shown = config.envs(variables).output().expect("it runs");
    let mut doctor = holdfast(&["doctor", "--json", "--listen", "127.0.0.1:0", "--data"]);
    let advice = doctor.arg(folder.path()).envs(variables).output().expect("it runs");
    assert!(String::from_utf8_lossy(&advice.stdout).contains("manual payments"));
    server.stop(rustix::process::Signal::TERM);
    let log = reading.join().expect("no panic").expect("it writes UTF-8");

    let books = std::fs::read(folder.path().join("holdfast.db")).expect("the books are there");
    let shown = [&shown.stdout[..], &shown.stderr, &advice.stdout, &advice.stderr].concat();
    for secret in &secrets {
        let found = |text: &[u8]| text.windows(secret.len()).any(|window| window == secret.as_bytes());
        assert!(!found(log.as_bytes()), "in the log");
        assert!(!found(journal.as_bytes()) && !found(metrics.as_bytes()), "in an answer");
        assert!(!found(&shown), "in `config` or `doctor`");
        assert!(!found(&books), "in the books");
        assert!(!found(declined.to_string().as_bytes()) && !found(forged.body.as_bytes()), "in an error");
    }
    assert!(!log.contains(&client_secret) && !journal.contains(&client_secret), "the browser's secret");
}

#[test]
fn an_operator_lists_and_resolves() {
    let (bank, folder) = (Bank::start(), folder());
    let mut command = holdfast(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--data"]);
    command.env("HOLDFAST_STRIPE_URL", bank.says("url"));
    command.env("HOLDFAST_STRIPE_SECRET_KEY", bank.says("secret_key"));
    let server = Server::start(command.arg(folder.path())).with_hall();
    let (_, pending) = pay(&server, "A-1", None);
    let id = pending["id"].as_str().expect("a booking");
    let place = ["--url", &server.url, "--key", crate::support::KEY];
    let listed = run(&[&["payments", "list", "--state", "requires_payment", "--json"], &place[..]].concat());
    assert_eq!(listed.expect(0).json()["data"][0]["id"], id);
    let none = run(&[&["payments", "list"], &place[..]].concat()).expect(0);
    assert!(none.out.contains("no payment is manual"), "{}", none.out);
    run(&[&["payments", "retry", id], &place[..]].concat()).expect(0);
    run(&[&["payments", "resolve", id, "--how", "paid"], &place[..]].concat()).expect(4);
    server.stop(rustix::process::Signal::TERM);
    // The same on the folder, when no server has it.
    let folder = text(folder.path());
    let listed =
        run(&["payments", "list", "--state", "requires_payment", "--json", "--data", folder]).expect(0);
    assert_eq!(listed.json()["data"].as_array().expect("a list").len(), 1);
}

#[test]
fn settings_that_cannot_be_are_refused_without_repeating_them() {
    let mut command = holdfast(&["serve", "--listen", "127.0.0.1:0", "--data", "/nonexistent/x"]);
    command
        .env("HOLDFAST_STRIPE_SECRET_KEY", "sk_live_hidden")
        .env("HOLDFAST_STRIPE_URL", "http://far.example");
    let refused = crate::support::done(command.output().expect("it runs")).expect(2);
    assert!(refused.err.contains("stripe_url") && !refused.err.contains("hidden"), "{}", refused.err);
}

/// The server that a command runs for itself is gone when somebody reads what it said.
#[test]
fn a_booking_that_is_none_is_explained_on_the_spot() {
    let folder = folder();
    let retry = ["payments", "retry", "bk_nope", "--data", text(folder.path())];
    let told = run(&retry).expect(4).err;
    assert!(told.contains("No booking has that id") && !told.contains("http://"), "{told}");
}
