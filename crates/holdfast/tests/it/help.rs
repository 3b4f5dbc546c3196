use crate::support::run;

const COMMANDS: &[&str] = &[
    "demo",
    "serve",
    "race",
    "verify",
    "lab",
    "bench",
    "keys",
    "migrate",
    "payments",
    "room",
    "import",
    "export",
    "doctor",
    "config",
    "stripe-simulator",
    "completions",
];

#[test]
fn every_command_is_listed_and_explains_itself() {
    let help = run(&["--help"]).expect(0).out;
    for command in COMMANDS {
        assert!(help.contains(&format!("  {command} ")), "{command} is not in --help");
        let own = run(&[command, "--help"]).expect(0).out;
        assert!(own.contains("Usage: holdfast"), "{own}");
    }
}

#[test]
fn the_short_help_of_serve_fits_a_screen_and_the_long_one_has_everything() {
    let short = run(&["serve", "-h"]).expect(0).out;
    assert!(short.contains("--ledger") && !short.contains("--pg-tidy-slice"), "{short}");
    assert!(short.lines().count() < 50, "{short}");
    assert!(run(&["serve", "--help"]).expect(0).out.contains("--pg-tidy-slice"));
}

#[test]
fn exit_codes_are_documented() {
    let help = run(&["--help"]).expect(0).out;
    for line in
        ["0  done", "1  the check ran and failed", "2  the flags", "3  out of reach", "4  the server refused"]
    {
        assert!(help.contains(line), "{help}");
    }
}

#[test]
fn wrong_usage_ends_with_2() {
    run(&["sell"]).expect(2);
    run(&["race", "--buyers", "0"]).expect(2);
    run(&["serve", "--lisen", "x"]).expect(2);
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(run(&["completions", shell]).expect(0).out.contains("holdfast"));
    }
}
