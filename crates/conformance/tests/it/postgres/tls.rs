//! PostgreSQL by TLS: every `sslmode` gets what it asks for, and nothing less.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    sync::Arc,
};

use holdfast_engine::{
    ledger::{
        Ledger,
        postgres::{
            Connecting, Dial,
            inspect::{self, Unreached},
            verify,
        },
    },
    strategy::Claiming,
    tls::Encryption,
};
use holdfast_rigs::{Postgres, PostgresOptions, Tls};

use super::{
    goods::{hall, seat, sell},
    house::{nodes, settings},
    nodes::rush,
};
use crate::certificates::{Authority, OURS};

fn quick() -> PostgresOptions {
    Postgres::options().setting("fsync", "off")
}

fn encrypted(tls: Tls) -> Postgres {
    quick().tls(tls).start().expect("a private PostgreSQL")
}

fn to(server: &Postgres, options: &str) -> Connecting {
    Connecting::to(format!("{}{options}", server.url()))
}

/// How private a connection is, as we see it; PostgreSQL must see the same.
async fn privacy(connecting: &Connecting) -> Result<Encryption, Unreached> {
    let seen = inspect::look(connecting).await?.encryption;
    inspect::reach(connecting).await?;
    let client = Dial::to(&connecting.url)?.connect().await.expect("a connection");
    let asked = client.query_one("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", &[]).await;
    assert_eq!(asked.expect("an answer").get::<_, bool>(0), seen != Encryption::None, "{}", connecting.url);
    Ok(seen)
}

/// What kept us from an encrypted connection.
async fn distrust(connecting: &Connecting) -> String {
    let fault = privacy(connecting).await.expect_err(&connecting.url);
    assert!(matches!(fault, Unreached::Insecure(_)), "{fault:?}");
    fault.to_string()
}

#[tokio::test]
async fn every_sslmode_gets_what_it_asks_for() {
    let (ours, theirs) = (Authority::called("ours"), Authority::called("theirs"));
    let server = encrypted(ours.vouches_for(&OURS));
    let (ours, theirs) = (ours.file(), theirs.file());
    let (ours, theirs) = (ours.display(), theirs.display());
    for (options, expected) in [
        (String::new(), Encryption::Unchecked),
        ("?sslmode=disable".to_owned(), Encryption::None),
        ("?sslmode=prefer".to_owned(), Encryption::Unchecked),
        ("?sslmode=require".to_owned(), Encryption::Unchecked),
        (format!("?sslmode=require&sslrootcert={ours}"), Encryption::Signed),
        (format!("?sslmode=verify-ca&sslrootcert={ours}"), Encryption::Signed),
        (format!("?sslmode=verify-full&sslrootcert={ours}"), Encryption::SignedAndNamed),
    ] {
        assert_eq!(privacy(&to(&server, &options)).await.expect(&options), expected, "{options}");
    }
    for mode in ["require", "verify-ca", "verify-full"] {
        let said = distrust(&to(&server, &format!("?sslmode={mode}&sslrootcert={theirs}"))).await;
        assert!(said.contains("UnknownIssuer"), "{mode}: {said}");
    }
    // A machine that trusts nobody refuses the address, any other the server.
    let fault =
        privacy(&to(&server, "?sslmode=verify-full")).await.expect_err("nobody on this machine knows it");
    assert!(matches!(fault, Unreached::Insecure(_) | Unreached::Address(_)), "{fault:?}");
}

#[tokio::test]
async fn another_name_is_another_server() {
    let authority = Authority::called("ours");
    let server = encrypted(authority.vouches_for(&["elsewhere.example"]));
    let asking =
        |mode: &str| to(&server, &format!("?sslmode={mode}&sslrootcert={}", authority.file().display()));
    let said = distrust(&asking("verify-full")).await;
    assert!(said.contains("not valid for name"), "{said}");
    assert_eq!(privacy(&asking("verify-ca")).await.expect("a name that nobody asks for"), Encryption::Signed);
}

#[tokio::test]
async fn what_is_demanded_is_not_done_without_and_what_is_preferred_is() {
    let bare = quick().start().expect("a private PostgreSQL");
    let said = distrust(&to(&bare, "?sslmode=require")).await;
    assert!(said.contains("does not support TLS"), "{said}");
    assert_eq!(privacy(&to(&bare, "")).await.expect("in the open"), Encryption::None);

    let tls = Authority::called("ours").vouches_for(&OURS);
    let versions = [("ssl_min_protocol_version", "TLSv1"), ("ssl_max_protocol_version", "TLSv1.1")];
    let old = versions.iter().fold(quick().tls(tls.clone()), |all, (name, value)| all.setting(name, value));
    let old = old.start().expect("a private PostgreSQL");
    assert_eq!(privacy(&to(&old, "")).await.expect("in the open"), Encryption::None);
    distrust(&to(&old, "?sslmode=require")).await;

    let rules = tempfile::NamedTempFile::new().expect("a file");
    fs::write(rules.path(), "local all all trust\nhostnossl all all 127.0.0.1/32 trust\n").expect("rules");
    fs::set_permissions(rules.path(), Permissions::from_mode(0o644)).expect("rules that PostgreSQL may read");
    let open = quick().tls(tls).setting("hba_file", &rules.path().display().to_string());
    let open = open.start().expect("a private PostgreSQL");
    assert_eq!(privacy(&to(&open, "")).await.expect("in the open"), Encryption::None);
    let fault = privacy(&to(&open, "?sslmode=require")).await.expect_err("only in the open");
    assert!(matches!(fault, Unreached::TurnedAway(_)), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_sell_over_tls_and_say_nothing_in_the_open() {
    let authority = Authority::called("ours");
    let server = encrypted(authority.vouches_for(&OURS));
    let options = format!("?sslmode=verify-full&sslrootcert={}", authority.file().display());
    let url = format!("{}{options}", server.create_database("books").expect("a database"));
    let nodes = nodes(settings(&url, Claiming::Batched), 3).await;
    let nodes: Vec<Arc<dyn Ledger>> = nodes.into_iter().map(|node| node as _).collect();
    sell(&*nodes[0], hall(600)).await;
    let (booked, refused, _) = rush(&nodes, 60, |_| seat("A-1")).await;
    assert_eq!((booked, refused), (1, 59));
    let count =
        "SELECT count(*) FILTER (WHERE NOT ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                 WHERE application_name = 'holdfast'";
    let counted = server.ask("postgres", count).expect("an answer");
    let counted: Vec<u32> = counted[0].iter().map(|n| n.as_ref().unwrap().parse().unwrap()).collect();
    assert_eq!(counted[0], 0, "of {}", counted[1]);
    assert!(counted[1] >= 3, "{counted:?}");
    assert!(verify(&Connecting::to(&url)).await.expect("a report").is_clean());
}
