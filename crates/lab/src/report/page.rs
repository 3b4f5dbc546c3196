//! The report as one HTML file that needs nothing else: style and script are in it, the data is in it as JSON, and
//! its policy lets it run exactly that script and load nothing at all. It opens from a disk, a mail or a server.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Report;

const TEMPLATE: &str = include_str!("assets/report.html");
const STYLE: &str = include_str!("assets/report.css");

/// In the order in which they lean on each other.
const SCRIPTS: [&str; 7] = [
    include_str!("assets/base.js"),
    include_str!("assets/lanes.js"),
    include_str!("assets/replay.js"),
    include_str!("assets/scoreboard.js"),
    include_str!("assets/contention.js"),
    include_str!("assets/faults.js"),
    include_str!("assets/report.js"),
];

/// A page and the policy under which all of it works and nothing else does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub html: String,
    /// For the header `Content-Security-Policy`, where a server sends it.
    pub policy: String,
}

/// The report as a file.
pub fn html(report: &Report) -> String {
    page(report, None).html
}

/// The report as a page; `home` is the address its heading leads to.
pub fn page(report: &Report, home: Option<&str>) -> Page {
    let script = SCRIPTS.concat();
    let policy = policy(STYLE, Some(&script));
    let home = home.map(|home| format!("<p><a href=\"{home}\">All races and reports</a></p>"));
    let html = filled(
        TEMPLATE,
        &[
            ("policy", &policy),
            ("title", "Holdfast lab"),
            ("style", STYLE),
            ("home", &home.unwrap_or_default()),
            ("data", &json(report)),
            ("script", &script),
        ],
    );
    Page { html, policy }
}

/// Nothing but the style and script with these contents.
fn policy(style: &str, script: Option<&str>) -> String {
    let script = script.map_or("'none'".to_owned(), hash);
    format!(
        "default-src 'none'; style-src {}; script-src {script}; form-action 'self'; base-uri 'none'",
        hash(style)
    )
}

fn hash(content: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(content)))
}

/// JSON that can stand within a script element: no `<` can end it.
fn json(data: &impl Serialize) -> String {
    serde_json::to_string(data).expect("a report is plain data").replace('<', "\\u003c")
}

/// The template with each `{{name}}` replaced once. Values are not searched again, so none can smuggle a name in.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let mut text =
        String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").expect("the template closes what it opens");
        let (_, value) =
            values.iter().find(|(known, _)| *known == name).expect("the template names known values");
        text.push_str(before);
        text.push_str(value);
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::Skipped;

    fn spiteful() -> Report {
        let why = "</script><script>alert(1)</script> {{policy}}".to_owned();
        let skipped = vec![Skipped { strategy: "naive".into(), scenario: "one_seat".into(), why }];
        Report { version: "1".into(), skipped, ..Report::default() }
    }

    #[test]
    fn nothing_in_the_data_can_become_markup() {
        let text = html(&spiteful());
        assert_eq!(text.matches("</script>").count(), 2, "the data's and the script's own ends");
        assert!(text.contains("\\u003c/script>\\u003cscript>alert(1)"), "kept as it was said");
        assert!(text.contains("{{policy}}"), "what looks like a name in the data stays what it is");
    }

    #[test]
    fn the_policy_allows_this_style_and_script_and_nothing_else() {
        let Page { html, policy } = page(&spiteful(), None);
        let between =
            |from: &str, to: &str| html.split_once(from).unwrap().1.split_once(to).unwrap().0.to_owned();
        assert!(policy.contains(&format!("style-src {}", hash(&between("<style>", "</style>")))));
        assert!(
            policy
                .contains(&format!("script-src {}", hash(&between("<script type=\"module\">", "</script>"))))
        );
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        assert!(html.contains(&format!("content=\"{policy}\"")));
    }

    #[test]
    fn the_file_needs_no_other() {
        let text = html(&spiteful());
        for reaching in ["src=", "@import", "url(", "fetch(", "import("] {
            // A pattern's or clip's own address within the page is the one use of `url(`.
            let elsewhere = text.match_indices(reaching).any(|(at, _)| !text[at..].starts_with("url(#"));
            assert!(!elsewhere, "{reaching} leads out of the file");
        }
    }

    #[test]
    fn the_data_comes_back_as_it_went_in() {
        let text = html(&spiteful());
        let data = text.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        assert_eq!(serde_json::from_str::<Report>(data).unwrap(), spiteful());
    }
}
