//! What is known of a setting, wherever it is said: its names, its default and how much of it may be seen.

use super::{address, table::SPECS};

/// One setting. Its flag and variable follow from its key.
#[derive(Debug)]
pub struct Spec {
    pub key: &'static str,
    pub heading: &'static str,
    /// What a value looks like, as shown in `--help`.
    pub value: &'static str,
    /// `None`: unset unless somebody sets it.
    pub default: Option<&'static str>,
    pub help: &'static str,
    pub shown: Shown,
    /// A value that works: the default, or what one looks like where there is none.
    pub example: &'static str,
}

/// What most people set, and `-h` shows; `--help` has all of them.
pub const COMMON: &[&str] = &[
    "listen",
    "data",
    "ledger",
    "gate",
    "strategy",
    "admin_key",
    "secure_cookies",
    "trusted_proxies",
    "stripe_secret_key",
    "log",
];

/// How much of a value may be seen, in `holdfast config`, in errors and in logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    All,
    /// An address that may carry a password.
    WithoutPassword,
    Never,
}

impl Spec {
    pub fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    pub fn variable(&self) -> String {
        format!("HOLDFAST_{}", self.key.to_ascii_uppercase())
    }

    /// The value as anybody may see it.
    pub fn show(&self, text: &str) -> String {
        match self.shown {
            Shown::All => text.to_owned(),
            Shown::WithoutPassword => address::without_password(text),
            Shown::Never => address::HIDDEN.to_owned(),
        }
    }
}

pub(super) const fn setting(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    default: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: Some(default), help, shown: Shown::All, example: default }
}

pub(super) const fn optional(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    example: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: None, help, shown: Shown::All, example }
}

pub(super) const fn address(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    example: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: None, help, shown: Shown::WithoutPassword, example }
}

pub(super) const fn secret(
    heading: &'static str,
    key: &'static str,
    value: &'static str,
    example: &'static str,
    help: &'static str,
) -> Spec {
    Spec { key, heading, value, default: None, help, shown: Shown::Never, example }
}

pub fn find(key: &str) -> Option<&'static Spec> {
    SPECS.iter().find(|spec| spec.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_explained_on_one_line() {
        for (at, spec) in SPECS.iter().enumerate() {
            assert!(SPECS[..at].iter().all(|earlier| earlier.key != spec.key), "{} stands twice", spec.key);
            assert!(spec.help.len() <= 100 && !spec.help.ends_with('.'), "{}: {}", spec.key, spec.help);
        }
    }
}
