//! The rooms as the server meets them: desks, copies, tokens and the file.

use std::{path::Path, sync::Arc};

use holdfast_domain::{HolderId, OfferId};

use super::{at, plan};
use crate::{
    admission::waiting_room::{
        Denied, Method, Plan, RoomState, Rooms, Settings, TicketState,
        store::{FileStore, RoomStore},
    },
    clock::ManualClock,
    ledger::{
        Answer,
        embedded::{self, EmbeddedLedger, Storage},
    },
};

fn hall() -> OfferId {
    OfferId::new("hall").unwrap()
}

fn holder(name: &str) -> HolderId {
    HolderId::new(name).unwrap()
}

async fn open(store: Arc<dyn RoomStore>, clock: &Arc<ManualClock>) -> Arc<Rooms> {
    let words = Arc::new(|_: &crate::ledger::Outcome| Answer { status: 200, body: Default::default() });
    let books = embedded::Settings::new(Storage::Memory, clock.clone(), words);
    let ledger = Arc::new(EmbeddedLedger::open(books).unwrap());
    Rooms::open(store, ledger, clock.clone(), [5; 32], Settings::default()).await.unwrap()
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::at(at(0)))
}

#[tokio::test]
async fn the_whole_way_in() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    let (hall, alice, bob) = (hall(), holder("alice"), holder("bob"));
    assert!(matches!(rooms.admit(&hall, &alice, []).await, Ok(None)), "no room, no pass");
    assert_eq!(rooms.join(&hall, &alice, []).await.unwrap().token, None);

    rooms.plan(&hall, plan(Method::Fifo, 1)).await.unwrap();
    assert!(matches!(rooms.admit(&hall, &alice, []).await, Err(Denied::NoTicket)));
    let first = rooms.join(&hall, &alice, []).await.unwrap().token.unwrap();
    let second = rooms.join(&hall, &bob, []).await.unwrap().token.unwrap();
    let again = rooms.join(&hall, &bob, [second.as_str()]).await.unwrap();
    assert_eq!((again.token.as_ref(), again.fresh), (Some(&second), false), "joining is idempotent");
    let forgot = rooms.join(&hall, &bob, []).await.unwrap();
    assert_eq!(
        (forgot.token.as_ref(), forgot.fresh),
        (Some(&second), false),
        "also for one who lost the cookie"
    );
    rooms.turn(&hall).await.unwrap();

    assert!(matches!(rooms.enter(&hall, &bob, [second.as_str()]).await, Err(Denied::NotYet(_))));
    assert!(matches!(rooms.enter(&hall, &bob, [first.as_str()]).await, Err(Denied::NoTicket)), "another's");
    let pass = rooms.enter(&hall, &alice, [first.as_str()]).await.unwrap().token.unwrap();
    assert!(rooms.admit(&hall, &alice, [pass.as_str()]).await.unwrap().is_some());
    assert!(
        matches!(rooms.admit(&hall, &bob, [pass.as_str()]).await, Err(Denied::NoTicket)),
        "a shared pass"
    );
    assert!(
        matches!(rooms.admit(&hall, &alice, [first.as_str()]).await, Err(Denied::NoTicket)),
        "a ticket is no pass"
    );

    rooms.leave(&hall, &alice, [first.as_str()]).await.unwrap();
    assert!(matches!(rooms.admit(&hall, &alice, [pass.as_str()]).await, Err(Denied::Ended)), "out is out");
    assert!(matches!(rooms.enter(&hall, &alice, [first.as_str()]).await, Err(Denied::Ended)));
    rooms.turn(&hall).await.unwrap();
    assert_eq!(
        rooms.standing(&hall, &bob, [second.as_str()]).await.unwrap().unwrap().state,
        TicketState::Ready
    );
}

#[tokio::test]
async fn a_follower_hears_of_its_turn() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    let (hall, alice, bob) = (hall(), holder("alice"), holder("bob"));
    rooms.plan(&hall, plan(Method::Fifo, 1)).await.unwrap();
    let first = rooms.join(&hall, &alice, []).await.unwrap().token.unwrap();
    rooms.turn(&hall).await.unwrap();
    rooms.enter(&hall, &alice, [first.as_str()]).await.unwrap();
    let second = rooms.join(&hall, &bob, []).await.unwrap().token.unwrap();
    let mut following = rooms.follow(&hall, &bob, [second.as_str()]).await.unwrap().unwrap();
    assert_eq!(following.next().await.unwrap().state, TicketState::Waiting);
    rooms.leave(&hall, &alice, [first.as_str()]).await.unwrap();
    while following.next().await.unwrap().state != TicketState::Ready {}
}

#[tokio::test]
async fn a_restart_keeps_the_queue_the_seed_and_who_is_inside() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let on = |folder: &Path| -> Arc<dyn RoomStore> { Arc::new(FileStore::open(folder).unwrap()) };
    let (hall, alice, bob) = (hall(), holder("alice"), holder("bob"));
    let by_lot = Plan { opens_at_ms: Some(at(10).ms()), ..plan(Method::Lottery, 1) };
    let (tokens, before) = {
        let rooms = open(on(folder.path()), &clock).await;
        rooms.plan(&hall, by_lot).await.unwrap();
        let alices = rooms.join(&hall, &alice, []).await.unwrap().token.unwrap();
        let bobs = rooms.join(&hall, &bob, []).await.unwrap().token.unwrap();
        ([alices, bobs], rooms.board(&hall).await.unwrap().unwrap())
    };
    assert_eq!((before.state, before.issued), (RoomState::Scheduled, 2));
    let rooms = open(on(folder.path()), &clock).await;
    assert_eq!(rooms.board(&hall).await.unwrap().unwrap(), before);
    clock.advance_ms(10_000);
    rooms.turn(&hall).await.unwrap();
    // The draw has settled, and whoever is there has had time to say so.
    clock.advance_ms(10_000);
    let mut ready = 0;
    for (who, token) in [(&alice, &tokens[0]), (&bob, &tokens[1])] {
        rooms.standing(&hall, who, [token.as_str()]).await.unwrap();
        rooms.turn(&hall).await.unwrap();
        let standing = rooms.standing(&hall, who, [token.as_str()]).await.unwrap().unwrap();
        ready += usize::from(standing.state == TicketState::Ready);
    }
    assert_eq!(ready, 1, "one inside at once");
    let carol = rooms.join(&hall, &holder("carol"), []).await.unwrap().standing.unwrap();
    assert_eq!(carol.number, 3, "no number is given twice");
}

/// Numbers in the hands of one session must not be worth more than one.
#[tokio::test]
async fn before_the_draw_a_session_has_one_number_however_often_it_leaves() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    let (hall, alice) = (hall(), holder("alice"));
    let by_lot = Plan { opens_at_ms: Some(at(10).ms()), ..plan(Method::Lottery, 1) };
    rooms.plan(&hall, by_lot).await.unwrap();
    let first = rooms.join(&hall, &alice, []).await.unwrap();
    let token = first.token.clone().unwrap();
    for with_ticket in [true, false, true] {
        rooms.leave(&hall, &alice, with_ticket.then_some(token.as_str())).await.unwrap();
        let again = rooms.join(&hall, &alice, []).await.unwrap();
        assert_eq!((again.token, again.fresh), (first.token.clone(), false));
    }
    assert_eq!(rooms.board(&hall).await.unwrap().unwrap().issued, 1);
}

#[tokio::test]
async fn who_left_before_the_draw_is_not_there_until_they_come_back() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    let (hall, alice, bob) = (hall(), holder("alice"), holder("bob"));
    let by_lot = Plan { opens_at_ms: Some(at(10).ms()), ..plan(Method::Lottery, 2) };
    rooms.plan(&hall, by_lot).await.unwrap();
    let alices = rooms.join(&hall, &alice, []).await.unwrap().token.unwrap();
    let bobs = rooms.join(&hall, &bob, []).await.unwrap().token.unwrap();
    // One says so with the ticket, one without: both are away.
    rooms.leave(&hall, &alice, [alices.as_str()]).await.unwrap();
    rooms.leave(&hall, &bob, []).await.unwrap();
    clock.advance_ms(10_000);
    rooms.turn(&hall).await.unwrap();
    clock.advance_ms(4_000);
    rooms.turn(&hall).await.unwrap();
    assert_eq!(rooms.board(&hall).await.unwrap().unwrap().serving, 0, "nobody is called who is not there");
    rooms.standing(&hall, &bob, [bobs.as_str()]).await.unwrap();
    rooms.turn(&hall).await.unwrap();
    let back = rooms.standing(&hall, &bob, [bobs.as_str()]).await.unwrap().unwrap();
    assert_eq!(back.state, TicketState::Ready, "and the lot was kept");
}

/// The first to come after the opening is also the first whom the room hears of since.
#[tokio::test]
async fn who_joins_at_the_opening_is_not_in_the_draw() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    let by_lot = Plan { opens_at_ms: Some(at(10).ms()), ..plan(Method::Lottery, 1) };
    rooms.plan(&hall(), by_lot).await.unwrap();
    for early in ["alice", "bob"] {
        rooms.join(&hall(), &holder(early), []).await.unwrap();
    }
    clock.advance_ms(10_000);
    rooms.join(&hall(), &holder("carol"), []).await.unwrap();
    let drawn = rooms.board(&hall()).await.unwrap().unwrap().lottery.unwrap().drawn;
    assert_eq!(drawn, Some(2));
}

#[tokio::test]
async fn leaving_without_the_ticket_leaves_with_it() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    let (hall, alice) = (hall(), holder("alice"));
    rooms.plan(&hall, plan(Method::Fifo, 1)).await.unwrap();
    let first = rooms.join(&hall, &alice, []).await.unwrap().token.unwrap();
    rooms.leave(&hall, &alice, []).await.unwrap();
    let second = rooms.join(&hall, &alice, []).await.unwrap();
    assert_eq!((second.standing.unwrap().number, second.fresh), (2, true), "at the end");
    let before = rooms.standing(&hall, &alice, [first.as_str()]).await.unwrap().unwrap();
    assert_eq!(before.state, TicketState::Ended, "never two that are good");
}

/// Two nodes on one store, and a restart: what one gave, the others know.
#[tokio::test]
async fn a_session_has_one_ticket_at_all_nodes_together() {
    let (folder, clock) = (tempfile::tempdir().unwrap(), clock());
    let by_lot = Plan { opens_at_ms: Some(at(10).ms()), ..plan(Method::Lottery, 1) };
    let (hall, alice) = (hall(), holder("alice"));
    let first = {
        let store: Arc<dyn RoomStore> = Arc::new(FileStore::open(folder.path()).unwrap());
        let (one, other) = (open(Arc::clone(&store), &clock).await, open(store, &clock).await);
        one.plan(&hall, by_lot.clone()).await.unwrap();
        while other.board(&hall).await.unwrap().is_none() {
            tokio::task::yield_now().await;
        }
        let asks = (0..20).map(|n| [&one, &other][n % 2].join(&hall, &alice, []));
        let given = futures::future::join_all(asks).await;
        let tokens: std::collections::BTreeSet<_> =
            given.iter().map(|given| given.as_ref().unwrap().token.clone()).collect();
        assert_eq!(tokens.len(), 1, "{tokens:?}");
        let fresh = given.iter().filter(|given| given.as_ref().unwrap().fresh).count();
        assert_eq!(fresh, 1, "given once");
        other.leave(&hall, &alice, []).await.unwrap();
        assert_eq!(one.join(&hall, &alice, []).await.unwrap().token, given[0].as_ref().unwrap().token);
        given[0].as_ref().unwrap().token.clone()
    };
    let rooms = open(Arc::new(FileStore::open(folder.path()).unwrap()), &clock).await;
    assert_eq!(rooms.join(&hall, &alice, []).await.unwrap().token, first, "and after a restart");
    rooms.plan(&hall, plan(Method::Fifo, 1)).await.unwrap();
    let anew = rooms.join(&hall, &alice, []).await.unwrap();
    assert_eq!((anew.standing.unwrap().number, anew.fresh), (1, true), "another run has tickets of its own");
}

#[tokio::test]
async fn five_hundred_at_once_have_five_hundred_numbers() {
    let clock = clock();
    let rooms = open(Arc::new(FileStore::in_memory()), &clock).await;
    rooms.plan(&hall(), plan(Method::Fifo, 1)).await.unwrap();
    let joins =
        (0..500).map(|n| {
            let rooms = Arc::clone(&rooms);
            async move {
                rooms.join(&hall(), &holder(&format!("s{n}")), []).await.unwrap().standing.unwrap().number
            }
        });
    let mut numbers = futures::future::join_all(joins).await;
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=500).collect::<Vec<_>>());
}
