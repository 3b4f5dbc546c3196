use super::*;

#[test]
fn the_front_centre_goes_first() {
    let hall = Drawing::new("S .......\n S .......");
    assert_eq!(hall.best(1), ("A-4".into(), vec![]));
    assert_eq!(hall.best(3), ("A-3 A-4 A-5".into(), vec![]));
}

#[test]
fn the_centre_of_the_next_row_is_nearer_than_the_end_of_this_one() {
    let hall = Drawing::new("S ..xxxxxxx..\n S ...........");
    assert_eq!(hall.best(2).0, "B-5 B-6");
}

#[test]
fn no_single_seat_is_left_alone_where_that_can_be_avoided() {
    // Three in the middle of row A: two of them would strand the third.
    let hall = Drawing::new("S xx...xx\n S xx..xxx");
    assert_eq!(hall.best(2), ("B-3 B-4".into(), vec![]));
    let full = Drawing::new("S xx...xx\n S xxxxxxx");
    assert_eq!(full.best(2), ("A-3 A-4".into(), vec![Relaxed::Orphan]));
}

#[test]
fn a_seat_that_was_alone_before_is_not_ours_to_worry_about() {
    let hall = Drawing::new("S .x....x.");
    assert_eq!(hall.best(2), ("A-3 A-4".into(), vec![]));
}

#[test]
fn a_group_too_wide_for_any_row_sits_in_neighbouring_rows_and_nobody_alone() {
    let hall = Drawing::new("S xxxx\n S x...\n S x...\n S x..x");
    let (seats, relaxed) = hall.best(5);
    assert_eq!(seats, "B-2 B-3 B-4 C-2 C-3");
    assert_eq!(relaxed, [Relaxed::Orphan, Relaxed::SplitRows]);
}

#[test]
fn rows_of_different_sections_are_not_neighbours() {
    let hall = Drawing::new("S xx..xx\n T xx..xx\n T xx..xx");
    assert_eq!(hall.best(4), ("B-3 B-4 C-3 C-4".into(), vec![Relaxed::SplitRows]));
}

#[test]
fn at_last_the_seats_are_wherever_they_are() {
    let hall = Drawing::new("S .xxxx.\n S xxxxxx\n S .xxxxx");
    let (seats, relaxed) = hall.best(3);
    assert_eq!((seats.as_str(), relaxed), ("A-1 A-6 C-1", vec![Relaxed::Scattered]));
    assert_eq!(best(&hall.plan, &hall, 4, None), None);
}

#[test]
fn a_category_is_kept_to() {
    let hall = Drawing::new("S ......\n T ......");
    let found = best(&hall.plan, &hall, 2, Some("T")).unwrap();
    assert_eq!(hall.keys(&found.units), "B-3 B-4");
    assert_eq!(best(&hall.plan, &hall, 7, Some("T")), None);
    assert_eq!(best(&hall.plan, &hall, 1, Some("U")), None);
}

#[test]
fn alternatives_are_the_nearest_and_do_not_overlap() {
    let hall = Drawing::new("S .......\n S ..xx...\n S .......");
    assert_eq!(hall.alternatives(&["B-3"]), ["B-2", "B-1", "B-5"], "a row counts two seats");
    assert_eq!(hall.alternatives(&["B-3", "B-4"]), ["B-1 B-2", "B-5 B-6", "A-3 A-4"]);
}

#[test]
fn alternatives_for_several_are_several_even_if_apart() {
    let hall = Drawing::new("S .x.x.");
    assert_eq!(hall.alternatives(&["A-2", "A-4"]), ["A-1 A-3"]);
    assert_eq!(hall.alternatives(&["A-1", "A-2", "A-3", "A-4"]), ["A-1 A-3 A-5"], "all that are free");
    assert!(Drawing::new("S xx").alternatives(&["A-1"]).is_empty());
}

#[test]
fn the_last_free_seat_is_an_alternative_however_far() {
    let full = ["S xxxxxxxxxx"; 20].join("\n");
    let hall = Drawing::new(&format!("{full}\nT xxxx."));
    assert_eq!(hall.alternatives(&["A-1"]), ["U-5"]);
}
