//! `holdfast config`: every setting in force and where it came from, or a documented file to start from.

use clap::Args;
use holdfast_engine::mint;

use crate::{
    failure::{Exit, Failure},
    settings::{Flags, Raw, SPECS, Settings, Spec},
    term::Term,
};

/// Show every setting in force and where it comes from
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// Print a settings file with every setting explained, at its default
    #[arg(long)]
    default: bool,
    /// For machines
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    settings: Flags,
}

pub fn run(args: &ConfigArgs) -> Result<Exit, Failure> {
    if args.default {
        print!("{}", default_file());
        return Ok(Exit::Done);
    }
    let raw = args.settings.gather()?;
    match args.json {
        true => println!("{:#}", as_json(&raw)),
        false => show(&raw),
    }
    // Shown first, so that whoever has a fault to correct sees where each value came from.
    Settings::check(&raw)?;
    Ok(Exit::Done)
}

fn show(raw: &Raw) {
    let term = Term::stdout();
    let mut table = term.table(&["Setting", "Value", "From", "What it is"]);
    for spec in SPECS {
        table.add_row([spec.key, &shown(spec, raw), &raw.get(spec.key).source.to_string(), spec.help]);
    }
    println!("{table}");
    for stranger in &raw.strangers {
        println!("{} {stranger} looks like a setting and is none", term.warn("note:"));
    }
}

fn shown(spec: &Spec, raw: &Raw) -> String {
    raw.get(spec.key).text.as_deref().map_or_else(|| "–".into(), |text| spec.show(text))
}

fn as_json(raw: &Raw) -> serde_json::Value {
    let setting = |spec: &Spec| {
        let given = raw.get(spec.key);
        let value = given.text.as_ref().map(|_| shown(spec, raw));
        let described = serde_json::json!({"value": value, "from": given.source.to_string(), "default": spec.default,
            "flag": format!("--{}", spec.flag()), "variable": spec.variable(), "help": spec.help});
        (spec.key.to_owned(), described)
    };
    serde_json::json!({"settings": SPECS.iter().map(setting).collect::<serde_json::Map<_, _>>(),
        "unknown_variables": raw.strangers})
}

/// Every line a comment, so that an untouched file changes nothing when a default improves.
fn default_file() -> String {
    let mut text = String::from(
        "# Holdfast's settings. Flags and HOLDFAST_* variables win over what stands here.\n\
         # Uncomment a line to change it; `holdfast config --config FILE` shows what is then in force.\n",
    );
    let mut heading = "";
    for spec in SPECS {
        if spec.heading != heading {
            heading = spec.heading;
            text += &format!("\n## {heading}\n");
        }
        let unset = if spec.default.is_some() { "" } else { " Not set; an example:" };
        text += &format!("\n# {}.{unset}\n# {} = {:?}\n", spec.help, spec.key, example(spec));
    }
    text
}

/// An admin key is another one each time: an example that everybody has would open every shop that took it.
fn example(spec: &Spec) -> String {
    match spec.key {
        "admin_key" => format!("{:032x}", mint::random_bits()),
        _ => spec.example.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_default_file_names_every_setting_and_is_valid_when_uncommented() {
        let uncommented: String = default_file()
            .lines()
            .filter_map(|line| line.strip_prefix("# ").filter(|line| line.contains(" = ")))
            .map(|line| format!("{line}\n"))
            .collect();
        let table: toml::Table = toml::from_str(&uncommented).unwrap();
        assert!(SPECS.iter().all(|spec| table.contains_key(spec.key)));
        assert_eq!(table.len(), SPECS.len());
    }

    /// Each by itself, beside what it belongs to. Whether a file is there depends on the machine.
    #[test]
    fn every_line_is_valid_when_uncommented() {
        let of = |key: &str| SPECS.iter().find(|spec| spec.key == key).map(|spec| (spec.key, spec.example));
        for spec in SPECS.iter().filter(|spec| spec.key != "gate_ca") {
            let belongs_to = match spec.key {
                "gate" | "strategy" => of("ledger"),
                "stripe_webhook_secret" | "stripe_publishable_key" => of("stripe_secret_key"),
                _ => None,
            };
            let given = belongs_to.into_iter().chain([(spec.key, spec.example)]);
            let given = given.map(|(key, text)| (key, text.to_owned())).collect();
            let raw = Raw::gather(&Flags { config: None, given }, &BTreeMap::new()).unwrap();
            Settings::check(&raw).unwrap_or_else(|faults| panic!("{}: {faults:?}", spec.key));
        }
    }
}
