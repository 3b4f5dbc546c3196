//! Form-encoded parameters with nested names, `metadata[booking]=bk_1`, as Stripe's libraries send them.

use std::collections::BTreeMap;

use crate::answer::Refused;

/// The parameters of a call, by their whole name, in order of it: two calls are the same when these are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Form(BTreeMap<String, String>);

impl Form {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        // An empty value unsets a parameter.
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(crate) fn required(&self, name: &'static str) -> Result<&str, Refused> {
        self.text(name).ok_or_else(|| Refused::missing(name))
    }

    pub(crate) fn amount(&self, name: &'static str) -> Result<Option<u64>, Refused> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let whole = text.parse().ok().filter(|&amount: &u64| (1..=99_999_999).contains(&amount));
        whole.map(Some).ok_or_else(|| Refused::invalid_integer(name, text))
    }

    pub(crate) fn flag(&self, name: &'static str) -> Result<bool, Refused> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refused::invalid(name, format!("Invalid boolean: {name}"))),
        }
    }

    pub(crate) fn limit(&self) -> Result<usize, Refused> {
        match self.text("limit").map(str::parse) {
            None => Ok(10),
            Some(Ok(limit @ 1..=100)) => Ok(limit),
            Some(_) => Err(Refused::invalid("limit", "limit must be an integer from 1 to 100")),
        }
    }

    /// `metadata[booking]=bk_1` is `booking` of `metadata`.
    pub(crate) fn map(&self, name: &str) -> BTreeMap<String, String> {
        let inner =
            |full: &str| full.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']').map(str::to_owned);
        self.0.iter().filter_map(|(full, value)| Some((inner(full)?, value.clone()))).collect()
    }

    /// `expand[]=a` or `expand[0]=a`.
    pub(crate) fn list_has(&self, name: &str, value: &str) -> bool {
        self.map(name).values().any(|listed| listed == value)
    }

    /// Stripe refuses what it does not know; so a misspelt parameter is found here and not in production.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Refused> {
        let top = |full: &String| full.split('[').next().unwrap_or_default().to_owned();
        match self.0.keys().map(top).find(|name| name != "expand" && !known.contains(&name.as_str())) {
            Some(stranger) => Err(Refused::unknown_parameter(&stranger)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_names_are_found_however_they_are_escaped() {
        let form =
            Form::parse(b"amount=4500&metadata[booking]=bk_1&metadata%5Bhold%5D=h+1&expand[0]=latest_charge");
        assert_eq!(form.amount("amount").unwrap(), Some(4500));
        let metadata = form.map("metadata");
        assert_eq!((metadata["booking"].as_str(), metadata["hold"].as_str()), ("bk_1", "h 1"));
        assert!(form.list_has("expand", "latest_charge"));
        assert!(form.only(&["amount", "metadata"]).is_ok());
        assert!(form.only(&["amount"]).is_err());
    }

    #[test]
    fn amounts_are_whole_and_positive() {
        for bad in ["0", "-1", "4.5", "100000000", "x"] {
            assert!(Form::parse(format!("amount={bad}").as_bytes()).amount("amount").is_err(), "{bad}");
        }
    }
}
