use crate::support::{Server, ask, folder, run, text};

fn status(server: &Server, key: &str, path: &str) -> u16 {
    ask(&server.url, "GET", path, &[("authorization", &format!("Bearer {}", key.trim()))], "").status
}

#[test]
fn a_key_made_beside_a_running_server_works_at_once() {
    let folder = folder();
    let server = Server::on(folder.path()).with_hall();
    let data = text(folder.path());
    let seller = run(&["keys", "create", "--role", "seller", "--data", data]).expect(0).out;
    let admin = run(&["keys", "create", "--role", "admin", "--data", data]).expect(0).out;
    assert_eq!(status(&server, &seller, "/v1/bookings"), 200);
    assert_eq!(status(&server, &seller, "/v1/journal"), 403);
    assert_eq!(status(&server, &admin, "/v1/journal"), 200);
    assert_eq!(status(&server, "hf_nobody_knows", "/v1/journal"), 401);
}

#[test]
fn keys_are_made_listed_and_revoked_without_a_server() {
    let folder = folder();
    let data = text(folder.path());
    let made = run(&["keys", "create", "--role", "admin", "--data", data, "--json"]).expect(0).json();
    let list = || run(&["keys", "list", "--data", data, "--json"]).expect(0);
    let listed = list();
    assert_eq!(listed.json()["data"][0]["prefix"], made["prefix"]);
    assert!(!listed.out.contains(made["key"].as_str().unwrap()), "the key itself is shown once");
    // Pasting the whole key is as good as its prefix.
    run(&["keys", "revoke", made["key"].as_str().unwrap(), "--data", data]).expect(0);
    assert!(list().json()["data"][0]["revoked_at"].is_string());
    assert!(run(&["keys", "revoke", "nobody", "--data", data]).expect(2).err.contains("keys list"));
    let server = Server::on(folder.path());
    assert_eq!(status(&server, made["key"].as_str().unwrap(), "/v1/journal"), 401);
}

#[test]
fn the_key_stands_alone_on_standard_output() {
    let folder = folder();
    let made = run(&["keys", "create", "--role", "seller", "--data", text(folder.path())]).expect(0);
    assert!(made.out.starts_with("hf_") && made.out.trim().lines().count() == 1, "{}", made.out);
    assert!(made.err.contains("shown this once"));
}
