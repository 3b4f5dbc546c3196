//! `holdfast keys`: the API keys in the books, with or without a server running on them. A running server
//! knows a new key at once and forgets a revoked one within seconds.

use clap::{Args, Subcommand, ValueEnum};
use holdfast_engine::{
    clock::{Clock, SystemClock},
    ledger::{Role, StoredKey, embedded, postgres},
};
use holdfast_server::mint_key;
use serde_json::{Value, json};

use crate::{
    failure::{Exit, Failure},
    node::{cannot_open, in_postgres},
    settings::{Books, BooksArgs},
    term::Term,
};

/// Make, list and revoke API keys
#[derive(Debug, Args)]
pub struct KeysArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it, once: only its hash is kept
    Create {
        /// What it may do: `seller` holds and books for anyone, `admin` everything
        #[arg(long)]
        role: RoleName,
        #[command(flatten)]
        common: Common,
    },
    /// List the keys by their public prefix
    List {
        #[command(flatten)]
        common: Common,
    },
    /// End a key's life
    Revoke {
        /// The key's public prefix, as listed: the part between `hf_` and the next `_`
        prefix: String,
        #[command(flatten)]
        common: Common,
    },
}

#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    books: BooksArgs,
    /// For machines
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum RoleName {
    Seller,
    Admin,
}

impl KeysArgs {
    pub fn wants_json(&self) -> bool {
        let (Action::Create { common, .. } | Action::List { common } | Action::Revoke { common, .. }) =
            &self.action;
        common.json
    }
}

pub fn run(args: &KeysArgs) -> Result<Exit, Failure> {
    match &args.action {
        Action::Create { role, common } => create(*role, common),
        Action::List { common } => list(common),
        Action::Revoke { prefix, common } => revoke(prefix, common),
    }
}

fn create(role: RoleName, common: &Common) -> Result<Exit, Failure> {
    let role = match role {
        RoleName::Seller => Role::Seller,
        RoleName::Admin => Role::Admin,
    };
    let books = common.books.books()?;
    let (key, stored) = mint_key(role, SystemClock::new().now());
    match &books {
        Books::Folder(folder) => {
            embedded::keys::add(folder, &stored).map_err(|fault| cannot_open(&fault))?;
        }
        Books::Postgres(to) => in_postgres(to, postgres::keys::add(to, &stored))?,
    }
    if common.json {
        println!("{:#}", json!({"key": key, "prefix": stored.prefix, "role": role_name(role)}));
        return Ok(Exit::Done);
    }
    // The key alone on standard output, so that `KEY=$(holdfast keys create …)` is all a script needs.
    println!("{key}");
    let term = Term::stderr();
    eprintln!(
        "{}",
        term.dim(format!("A new key with the role {}. It is shown this once; keep it.", role_name(role)))
    );
    Ok(Exit::Done)
}

fn list(common: &Common) -> Result<Exit, Failure> {
    let keys = match &common.books.books()? {
        Books::Folder(folder) => embedded::keys::list(folder).map_err(|fault| cannot_open(&fault))?,
        Books::Postgres(to) => in_postgres(to, postgres::keys::list(to))?,
    };
    if common.json {
        println!("{:#}", json!({"data": keys.iter().map(as_json).collect::<Vec<_>>()}));
        return Ok(Exit::Done);
    }
    if keys.is_empty() {
        println!("No keys yet; make one with `holdfast keys create --role seller`.");
        return Ok(Exit::Done);
    }
    let mut table = Term::stdout().table(&["Prefix", "Role", "Made", "Revoked"]);
    for key in &keys {
        let revoked = key.revoked_at.map_or_else(|| "–".to_owned(), |at| at.to_string());
        table.add_row([key.prefix.as_str(), role_name(key.role), &key.created_at.to_string(), &revoked]);
    }
    println!("{table}");
    Ok(Exit::Done)
}

fn as_json(key: &StoredKey) -> Value {
    json!({"prefix": key.prefix, "role": role_name(key.role), "created_at": key.created_at.to_string(),
        "revoked_at": key.revoked_at.map(|at| at.to_string())})
}

fn revoke(prefix: &str, common: &Common) -> Result<Exit, Failure> {
    let books = common.books.books()?;
    // People paste whole keys; the secret part is of no use here.
    let prefix = prefix.strip_prefix("hf_").and_then(|rest| rest.split('_').next()).unwrap_or(prefix);
    let now = SystemClock::new().now();
    let revoked = match &books {
        Books::Folder(folder) => {
            embedded::keys::revoke(folder, prefix, now).map_err(|fault| cannot_open(&fault))?
        }
        Books::Postgres(to) => in_postgres(to, postgres::keys::revoke(to, prefix, now))?,
    };
    if !revoked {
        let what = format!("there is no living key with the prefix {prefix:?} in {books}");
        return Err(Failure::usage(what, "`holdfast keys list` shows them all"));
    }
    match common.json {
        true => println!("{:#}", json!({"prefix": prefix, "revoked": true})),
        false => println!("Revoked {prefix}. A running server stops accepting it within a few seconds."),
    }
    Ok(Exit::Done)
}

const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Admin => "admin",
        Role::Seller => "seller",
    }
}
