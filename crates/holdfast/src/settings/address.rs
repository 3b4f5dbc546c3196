//! Addresses that may carry a password, and how they are shown: without it.

/// What stands where something secret was.
pub const HIDDEN: &str = "********";

/// The address, or several with commas between them, as anybody may see it. When in doubt it hides too much: a text
/// that is no address at all may be a password that somebody put in the wrong place.
pub fn without_password(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    // Several addresses are parted before they are judged, or the password of the last would hide the first.
    while let Some(next) = rest.find(",redis://").or_else(|| rest.find(",rediss://")) {
        shown += &one(&rest[..next]);
        shown.push(',');
        rest = &rest[next + 1..];
    }
    shown + &one(rest)
}

fn one(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return if address.contains(['@', '=', ':']) { HIDDEN.into() } else { address.into() };
    };
    // A password may contain anything, an @ included: only what follows the last one is surely none of it.
    let (login, place) = rest.rsplit_once('@').map_or((None, rest), |(login, place)| (Some(login), place));
    let login = match login.map(|login| login.split_once(':').map_or((login, None), |(a, b)| (a, Some(b)))) {
        Some((user, Some(_))) => format!("{user}:{HIDDEN}@"),
        Some((user, None)) => format!("{user}@"),
        None => String::new(),
    };
    format!("{scheme}://{login}{}", without_options(place))
}

/// An address may say its password after the question mark, too.
fn without_options(place: &str) -> String {
    let Some((place, options)) = place.split_once('?') else { return place.to_owned() };
    let shown = options.split('&').map(|option| match option.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("password") => format!("{name}={HIDDEN}"),
        _ => option.to_owned(),
    });
    format!("{place}?{}", shown.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        let shown = [
            "postgres://u:secret@h:5432/db",
            "postgres://u:se@cr/et@h1,h2/db?sslmode=disable",
            "postgres://h/db?user=u&password=secret&sslmode=prefer",
            "redis://:secret@a:1,redis://user:secret@b:2",
            "redis+sentinel://:secret@a,b/main",
            "host=h password=secret",
            "u:secret@h",
        ]
        .map(without_password);
        assert_eq!(
            shown,
            [
                "postgres://u:********@h:5432/db",
                "postgres://u:********@h1,h2/db?sslmode=disable",
                "postgres://h/db?user=u&password=********&sslmode=prefer",
                "redis://:********@a:1,redis://user:********@b:2",
                "redis+sentinel://:********@a,b/main",
                "********",
                "********",
            ]
        );
    }

    #[test]
    fn what_has_none_stays_as_it_is() {
        for plain in ["postgres://u@h/db", "postgres://h:5432/db", "redis://a:1,redis://b:2", "nonsense", ""]
        {
            assert_eq!(without_password(plain), plain);
        }
    }
}
