//! Several Redis servers that know each other.

use holdfast_rigs::{Redis, RedisCluster, Sentinel};

use crate::until;

fn text(server: &Redis, words: &[&str]) -> Option<String> {
    server.ask(words).unwrap().text().map(str::to_owned)
}

#[test]
fn a_cluster_shares_the_keys_and_heals() {
    let mut cluster = RedisCluster::start(3).unwrap();
    assert_eq!(cluster.urls().len(), 3);
    let keys: Vec<String> = (0..50).map(|n| format!("seat-{n}")).collect();
    let owners: Vec<usize> = keys.iter().map(|key| cluster.owner_of(key).unwrap()).collect();
    assert!((0..3).all(|node| owners.contains(&node)), "every node has some: {owners:?}");
    for (key, owner) in keys.iter().zip(&owners) {
        cluster.nodes()[*owner].ask(&["SET", key, "taken"]).unwrap();
        let moved = cluster.nodes()[(owner + 1) % 3].ask(&["GET", key]).unwrap_err();
        assert!(moved.to_string().contains("MOVED"), "{moved}");
    }
    // A node that was killed knows its place when it comes back.
    cluster.node_mut(0).kill().unwrap();
    cluster.node_mut(0).start_again().unwrap();
    cluster.settle().unwrap();
    let lost = keys.iter().zip(&owners).find(|(_, owner)| **owner == 0).unwrap().0;
    assert_eq!(text(&cluster.nodes()[0], &["GET", lost]), None);
    assert_eq!(cluster.owner_of(lost).unwrap(), 0);
}

#[test]
fn a_clusters_replica_takes_over() {
    let mut cluster = RedisCluster::with_replicas(3, 1).unwrap();
    let old = cluster.owner_of("seat").unwrap();
    assert!(old < 3);
    cluster.nodes()[old].ask(&["SET", "seat", "taken"]).unwrap();
    until("a replica has it", || {
        cluster.nodes()[3..].iter().any(|node| node.ask(&["DBSIZE"]).unwrap().integer() == Some(1))
    });
    cluster.node_mut(old).kill().unwrap();
    until("another answers for it", || cluster.owner_of("seat").unwrap() != old);
    let new = &cluster.nodes()[cluster.owner_of("seat").unwrap()];
    until("it is ready", || new.ask(&["GET", "seat"]).is_ok());
    assert_eq!(text(new, &["GET", "seat"]).as_deref(), Some("taken"));
    cluster.node_mut(old).start_again().unwrap();
    cluster.settle().unwrap();
}

#[test]
fn sentinels_switch_on_order_and_when_the_master_dies() {
    let mut group = Sentinel::start().unwrap();
    assert_eq!((group.addresses().len(), group.master()), (3, Some(0)));
    group.servers()[0].ask(&["SET", "seat", "taken"]).unwrap();
    // Redis answers before its replicas have heard, and a takeover in between would lose the write, as it should.
    until("both replicas have it", || {
        group.servers()[1..].iter().all(|replica| text(replica, &["GET", "seat"]).as_deref() == Some("taken"))
    });

    let second = group.failover().unwrap();
    assert_ne!(second, 0);
    group.settle().unwrap();
    assert_eq!(text(&group.servers()[second], &["GET", "seat"]).as_deref(), Some("taken"));
    let refused = group.servers()[0].ask(&["SET", "seat", "free"]).unwrap_err();
    assert!(refused.to_string().contains("READONLY"), "{refused}");

    let (old, third) = group.kill_master().unwrap();
    assert_eq!(old, second);
    group.servers()[third].ask(&["SET", "seat", "sold"]).unwrap();
    group.server_mut(old).start_again().unwrap();
    group.settle().unwrap();
    assert_eq!(text(&group.servers()[old], &["GET", "seat"]).as_deref(), Some("sold"), "it follows now");
}
