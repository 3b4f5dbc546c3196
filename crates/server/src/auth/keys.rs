//! API keys: `hf_<prefix>_<secret>`. The prefix is public and finds the key; of the rest only a hash is kept.

use std::{collections::HashMap, sync::Arc};

use holdfast_domain::Moment;
use holdfast_engine::{
    ledger::{Ledger, LedgerError, Role, StoredKey},
    mint,
};
use parking_lot::Mutex;
use subtle::ConstantTimeEq;

use crate::settings::KeyHash;

/// The public name of the key that comes from the settings.
const BOOTSTRAP: &str = "bootstrap";
const PREFIX_LEN: usize = 12;

/// A new key, to be shown once, and what is kept of it.
pub fn mint(role: Role, now: Moment) -> (String, StoredKey) {
    let digits = |id: holdfast_domain::HoldId| id.to_string()["hold_".len()..].to_owned();
    let random = digits(mint::hold_id());
    let prefix = random[random.len() - PREFIX_LEN..].to_owned();
    let key = format!("hf_{prefix}_{}", digits(mint::hold_id()));
    let hash = KeyHash::of(&key).0;
    (key, StoredKey { prefix, hash, role, created_at: now, revoked_at: None })
}

/// Who a key is: its public name and what it may do.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub name: Arc<str>,
    pub role: Role,
}

/// Recognises keys. Asks the ledger, and remembers the answer for a moment: a revoked key may live that long. A key that
/// cannot be asked about is believed a little longer: whoever confirms while the ledger is busy is no stranger.
#[derive(Debug)]
pub(crate) struct Keys {
    ledger: Arc<dyn Ledger>,
    bootstrap: Option<(KeyHash, Known)>,
    recent: Mutex<Recents>,
}

/// What the ledger said of a prefix: `None` where it does not know it, for guessing must not cost it a read each time.
type Told = Option<(KeyHash, Known)>;

#[derive(Debug, Default)]
struct Recents(HashMap<Box<str>, Recent>);

#[derive(Debug)]
struct Recent {
    told: Told,
    told_at: Moment,
    /// Until then nobody asks again.
    until: Moment,
}

/// What is remembered of a prefix.
#[derive(Debug)]
enum Found {
    Fresh(Told),
    /// Ask, and if nobody answers believe this.
    Old(Told),
}

const REMEMBERED_MS: i64 = 4_000;
/// Whoever asks again asks for all others, who go by what was told before meanwhile.
const ASKING_MS: i64 = 1_000;
/// How long a key is believed that cannot be asked about.
const BELIEVED_MS: i64 = 60_000;
const MAX_REMEMBERED: usize = 1_024;

impl Recents {
    fn find(&mut self, prefix: &str, now: Moment) -> Found {
        let Some(recent) = self.0.get_mut(prefix) else { return Found::Old(None) };
        if now < recent.until {
            return Found::Fresh(recent.told.clone());
        }
        recent.until = now.plus_ms(ASKING_MS);
        Found::Old(recent.told.clone().filter(|_| now < recent.told_at.plus_ms(BELIEVED_MS)))
    }

    fn put(&mut self, prefix: &str, told: Told, now: Moment) {
        if self.0.len() >= MAX_REMEMBERED {
            self.0.retain(|_, recent| now < recent.until);
        }
        // Still full: someone is guessing prefixes. Known keys are asked for again soon enough.
        if self.0.len() >= MAX_REMEMBERED {
            self.0.clear();
        }
        self.0.insert(prefix.into(), Recent { told, told_at: now, until: now.plus_ms(REMEMBERED_MS) });
    }
}

impl Keys {
    pub(crate) fn new(ledger: Arc<dyn Ledger>, bootstrap: Option<KeyHash>) -> Self {
        let admin = Known { name: BOOTSTRAP.into(), role: Role::Admin };
        Self { ledger, bootstrap: bootstrap.map(|hash| (hash, admin)), recent: Mutex::default() }
    }

    pub(crate) async fn recognise(&self, presented: &str, now: Moment) -> Result<Option<Known>, LedgerError> {
        let hash = KeyHash::of(presented);
        if let Some((expected, known)) = &self.bootstrap
            && same(*expected, hash)
        {
            return Ok(Some(known.clone()));
        }
        let Some(prefix) = prefix_of(presented) else { return Ok(None) };
        let stored = self.stored(prefix, now).await?;
        Ok(stored.filter(|&(expected, _)| same(expected, hash)).map(|(_, known)| known))
    }

    /// The key of that public name, as long as it is one: for whoever has shown it before.
    pub(crate) async fn named(
        &self,
        name: &str,
        now: Moment,
    ) -> Result<Option<(KeyHash, Known)>, LedgerError> {
        match name {
            BOOTSTRAP => Ok(self.bootstrap.clone()),
            _ if is_prefix(name) => self.stored(name, now).await,
            _ => Ok(None),
        }
    }

    async fn stored(&self, prefix: &str, now: Moment) -> Result<Told, LedgerError> {
        let found = self.recent.lock().find(prefix, now);
        match found {
            Found::Fresh(told) => Ok(told),
            Found::Old(believed) => self.ask(prefix, now).await.or_else(|why| believed.map(Some).ok_or(why)),
        }
    }

    async fn ask(&self, prefix: &str, now: Moment) -> Result<Told, LedgerError> {
        let valid = |key: &StoredKey| key.revoked_at.is_none_or(|at| now < at);
        let stored = self.ledger.find_key(prefix).await?.filter(valid);
        let told = stored.map(|key| (KeyHash(key.hash), Known { name: key.prefix.into(), role: key.role }));
        self.recent.lock().put(prefix, told.clone(), now);
        Ok(told)
    }
}

fn prefix_of(key: &str) -> Option<&str> {
    let (prefix, _) = key.strip_prefix("hf_")?.split_once('_')?;
    is_prefix(prefix).then_some(prefix)
}

fn is_prefix(text: &str) -> bool {
    text.len() == PREFIX_LEN && text.bytes().all(|c| c.is_ascii_alphanumeric())
}

/// In constant time: how long a comparison takes must not say how much of a guess was right.
fn same(one: KeyHash, other: KeyHash) -> bool {
    one.0.ct_eq(&other.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minted_key_is_found_by_its_prefix_and_kept_as_a_hash() {
        let (key, stored) = mint(Role::Seller, Moment::from_ms(1));
        assert_eq!(prefix_of(&key), Some(stored.prefix.as_str()));
        assert_eq!(stored.hash, KeyHash::of(&key).0);
        assert_ne!(mint(Role::Seller, Moment::from_ms(1)).0, key);
    }

    #[test]
    fn one_asks_for_all_and_what_cannot_be_asked_is_believed_for_a_while() {
        let mut recents = Recents::default();
        let known = Known { name: "k".into(), role: Role::Seller };
        recents.put("k", Some((KeyHash([1; 32]), known)), Moment::from_ms(0));
        recents.put("guessed", None, Moment::from_ms(0));
        let mut at = |prefix, ms| recents.find(prefix, Moment::from_ms(ms));
        assert!(matches!(at("k", REMEMBERED_MS - 1), Found::Fresh(Some(_))));
        assert!(matches!(at("k", REMEMBERED_MS), Found::Old(Some(_))), "somebody asks");
        assert!(matches!(at("k", REMEMBERED_MS), Found::Fresh(Some(_))), "and the others need not");
        assert!(matches!(at("k", BELIEVED_MS - 1), Found::Old(Some(_))));
        assert!(matches!(at("k", 2 * BELIEVED_MS), Found::Old(None)));
        assert!(matches!(at("guessed", REMEMBERED_MS), Found::Old(None)), "a stranger stays one");
        assert!(matches!(at("new", 0), Found::Old(None)));
    }

    #[test]
    fn other_text_has_no_prefix() {
        for text in ["", "hf_", "hf__x", "hf_short_x", "sk_aaaaaaaaaaaa_x", "hf_aaaaaaaaaaa\u{e9}_x"] {
            assert_eq!(prefix_of(text), None, "{text}");
        }
    }
}
