use holdfast_rigs::{PgBouncer, Postgres, Program, RigError, missing};

#[test]
fn transactions_share_connections() {
    assert_eq!(missing(&[Program::PgBouncer]), []);
    let postgres = Postgres::start().unwrap();
    postgres.create_database("shop").unwrap();
    let bouncer = PgBouncer::options().setting("default_pool_size", "1").start(postgres.address()).unwrap();
    let backend = || bouncer.ask("shop", "SELECT pg_backend_pid(), current_database()").unwrap();
    let first = backend();
    assert_eq!(first[0][1].as_deref(), Some("shop"));
    assert_eq!(first, backend(), "the same backend for two clients");
    assert_eq!(bouncer.ask("pgbouncer", "SHOW CONFIG").map(|rows| pool_mode(&rows)).unwrap(), "transaction");
}

fn pool_mode(config: &[Vec<Option<String>>]) -> String {
    let line = config.iter().find(|line| line[0].as_deref() == Some("pool_mode")).unwrap();
    line[1].clone().unwrap()
}

#[test]
fn killed_it_comes_back_on_its_port() {
    let mut postgres = Postgres::start().unwrap();
    let mut bouncer = PgBouncer::start(&postgres).unwrap();
    let address = bouncer.address();
    bouncer.kill().unwrap();
    assert!(matches!(bouncer.ask("postgres", "SELECT 1"), Err(RigError::Io { .. })));
    // Also before a PostgreSQL that is down.
    postgres.kill().unwrap();
    bouncer.start_again().unwrap();
    assert_eq!(bouncer.address(), address);
    postgres.start_again().unwrap();
    crate::until("it passes again", || bouncer.ask("postgres", "SELECT 1").is_ok());
    bouncer.pause().unwrap();
    bouncer.stop().unwrap();
}
