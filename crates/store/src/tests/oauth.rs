//! Sign-ins under way, tokens, clients: each is there for whom it belongs to, once where it must be once.

use toolgrove_core::Secret;
use uuid::Uuid;

use super::place::{Place, pair, stored_instance};
use crate::db::Sql;
use crate::{DemandRow, NewToken, OauthClientRow, OauthTokenRow, PendingRow, Store, Wants, now};

on_both!(
    a_sign_in_is_good_once_and_for_its_person_also_after_a_restart,
    sign_ins_of_long_ago_are_forgotten,
    a_refresh_token_under_way_is_nobodys_until_its_answer_is_known,
    an_answer_that_comes_after_a_new_sign_in_changes_nothing,
    a_new_sign_in_replaces_the_old_one_and_makes_the_instance_ready,
    a_refused_refresh_leaves_the_words_and_no_token,
    tokens_go_with_their_instance,
    a_client_belongs_to_one_issuer_and_the_newest_counts,
    a_barred_instance_wants_its_first_sign_in_or_another,
    a_new_key_opens_every_token_also_one_under_way,
);

fn pending(person: Uuid, instance: Uuid, state: &str) -> PendingRow {
    PendingRow {
        state: state.into(),
        instance_id: instance,
        person_id: person,
        verifier: Secret::new("verifier-verifier"),
        redirect_uri: "http://127.0.0.1:7430/ui/auth/mcp/callback".into(),
        issuer: "https://a".into(),
        names_itself: true,
        token_endpoint: "https://a/token".into(),
        client_id: "c".into(),
        resource: "https://s/mcp".into(),
        scope: None,
        url: "https://a/authorize".into(),
        created_at: now(),
    }
}

fn token(instance: Uuid, access: &str, refresh: Option<&str>) -> OauthTokenRow {
    OauthTokenRow {
        instance_id: instance,
        issuer: "https://a".into(),
        client_id: "c".into(),
        token_endpoint: "https://a/token".into(),
        resource: "https://s/mcp".into(),
        access: Secret::new(access),
        refresh: refresh.map(Secret::new),
        taken_at: None,
        expires_at: Some(7),
        scope: Some("read".into()),
        problem: None,
        created_at: 1,
        updated_at: 1,
    }
}

fn renewed(access: &str, refresh: Option<&str>) -> NewToken {
    NewToken {
        access: Secret::new(access),
        refresh: refresh.map(Secret::new),
        expires_at: Some(9),
        scope: None,
    }
}

async fn signed_in(store: &Store) -> Uuid {
    let id = stored_instance(store, &pair(store).await, "w").await.id;
    assert!(store.put_oauth_token(&token(id, "access-1", Some("refresh-1"))).await.unwrap());
    id
}

/// Access token, refresh token, whether one is under way.
async fn held(store: &Store, id: Uuid) -> (String, Option<String>, bool) {
    let row = store.oauth_token_of(id).await.unwrap().unwrap();
    (row.access.reveal().into(), row.refresh.map(|it| it.reveal().into()), row.taken_at.is_some())
}

fn is(access: &str, refresh: Option<&str>, taken: bool) -> (String, Option<String>, bool) {
    (access.into(), refresh.map(Into::into), taken)
}

async fn a_sign_in_is_good_once_and_for_its_person_also_after_a_restart(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    let row = pending(pair.owner, id, "s1");
    store.add_pending(&row).await.unwrap();
    assert!(store.is_pending(id, "https://a", "c").await.unwrap());
    store.close().await;
    let store = place.store().await;
    assert_eq!(store.take_pending(pair.stranger, "s1").await.unwrap(), None, "somebody else's");
    assert_eq!(store.pending(pair.stranger, "s1").await.unwrap(), None);
    assert_eq!(store.pending(pair.owner, "s1").await.unwrap(), Some(row.clone()));
    let both = tokio::join!(store.take_pending(pair.owner, "s1"), store.take_pending(pair.owner, "s1"));
    let taken: Vec<_> = [both.0.unwrap(), both.1.unwrap()].into_iter().flatten().collect();
    assert_eq!(taken, [row]);
    assert!(!store.is_pending(id, "https://a", "c").await.unwrap());
    assert_eq!(store.take_pending(pair.owner, "unknown").await.unwrap(), None);
}

async fn sign_ins_of_long_ago_are_forgotten(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    let mut old = pending(pair.owner, id, "old");
    old.created_at -= 25 * 60 * 60 * 1000;
    store.add_pending(&old).await.unwrap();
    store.add_pending(&pending(pair.owner, id, "new")).await.unwrap();
    let states = Sql::new("SELECT state FROM oauth_pending").all(&store.db, |row| row.text("state"));
    assert_eq!(states.await.unwrap(), ["new"]);
}

async fn a_refresh_token_under_way_is_nobodys_until_its_answer_is_known(place: Place) {
    let store = place.store().await;
    let id = signed_in(&store).await;
    let taken = store.take_refresh(id).await.unwrap().unwrap();
    assert_eq!(held(&store, id).await, is("access-1", None, true));
    assert!(store.take_refresh(id).await.unwrap().is_none(), "there is nothing to take");
    // It was not used.
    store.return_refresh(taken).await.unwrap();
    assert_eq!(held(&store, id).await, is("access-1", Some("refresh-1"), false));
    // It was, and brought another.
    let taken = store.take_refresh(id).await.unwrap().unwrap();
    assert!(store.renew_oauth_token(taken, &renewed("access-2", Some("refresh-2"))).await.unwrap());
    assert_eq!(held(&store, id).await, is("access-2", Some("refresh-2"), false));
    // It was, and stays good.
    let taken = store.take_refresh(id).await.unwrap().unwrap();
    assert!(store.renew_oauth_token(taken, &renewed("access-3", None)).await.unwrap());
    assert_eq!(held(&store, id).await, is("access-3", Some("refresh-2"), false));
    assert_eq!(
        store.oauth_token_of(id).await.unwrap().unwrap().scope.as_deref(),
        Some("read"),
        "what was not said stays"
    );
    // Nobody came back to say.
    store.take_refresh(id).await.unwrap().unwrap();
    store.close().await;
    assert_eq!(held(&place.store().await, id).await, is("access-3", None, true));
}

async fn an_answer_that_comes_after_a_new_sign_in_changes_nothing(place: Place) {
    let store = place.store().await;
    let id = signed_in(&store).await;
    let late = store.take_refresh(id).await.unwrap().unwrap();
    store.put_oauth_token(&token(id, "access-new", Some("refresh-new"))).await.unwrap();
    assert!(!store.renew_oauth_token(late, &renewed("access-late", Some("refresh-late"))).await.unwrap());
    assert_eq!(held(&store, id).await, is("access-new", Some("refresh-new"), false));
}

async fn a_new_sign_in_replaces_the_old_one_and_makes_the_instance_ready(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    store.set_status(id, "needs_reauth", Some("why")).await.unwrap();
    for access in ["one", "two"] {
        assert!(store.put_oauth_token(&token(id, access, None)).await.unwrap());
    }
    let rows = Sql::new("SELECT access_enc FROM oauth_tokens").all(&store.db, |row| row.text("access_enc"));
    let rows = rows.await.unwrap();
    assert!(rows.len() == 1 && rows[0].starts_with("v1."), "one row, sealed: {rows:?}");
    let instance = store.instance(pair.owner, id).await.unwrap().unwrap();
    assert_eq!((instance.status.as_str(), instance.auth_type.as_str()), ("ready", "oauth"));
    assert_eq!(instance.last_error, None);
    assert!(!store.put_oauth_token(&token(Uuid::now_v7(), "x", None)).await.unwrap(), "nobody's instance");
}

async fn a_refused_refresh_leaves_the_words_and_no_token(place: Place) {
    let store = place.store().await;
    let id = signed_in(&store).await;
    let taken = store.take_refresh(id).await.unwrap().unwrap();
    store.end_oauth_token(taken, "it was revoked").await.unwrap();
    let row = store.oauth_token_of(id).await.unwrap().unwrap();
    assert_eq!((row.refresh, row.taken_at, row.problem.as_deref()), (None, None, Some("it was revoked")));
    let left =
        Sql::new("SELECT taken_enc FROM oauth_tokens").first(&store.db, |row| row.maybe_text("taken_enc"));
    assert_eq!(left.await.unwrap(), Some(None), "what is of no use is not kept");
}

async fn tokens_go_with_their_instance(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let id = stored_instance(&store, &pair, "w").await.id;
    store.put_oauth_token(&token(id, "a", None)).await.unwrap();
    store.add_pending(&pending(pair.owner, id, "s1")).await.unwrap();
    store.put_demand(id, &DemandRow { scope: Some("x".into()), ..DemandRow::default() }).await.unwrap();
    assert!(store.remove_instance(pair.owner, id).await.unwrap());
    assert_eq!(store.oauth_token_of(id).await.unwrap(), None);
    assert_eq!(store.take_pending(pair.owner, "s1").await.unwrap(), None);
    assert_eq!(store.demand_of(id).await.unwrap(), None);
}

async fn a_client_belongs_to_one_issuer_and_the_newest_counts(place: Place) {
    let store = place.store().await;
    let here = "http://127.0.0.1:1/ui/auth/mcp/callback";
    let mut rows = Vec::new();
    for (issuer, registration, client_id) in [
        ("https://a", "dynamic", "c1"),
        ("https://a", "dynamic", "c2"),
        ("https://b", "dynamic", "c3"),
        ("https://a", "preregistered", "c4"),
    ] {
        let mut row = OauthClientRow::new(issuer, registration, client_id);
        row.client_secret = Some(Secret::new(format!("secret-of-{client_id}")));
        row.redirect_uri = (registration == "dynamic").then(|| here.into());
        store.put_oauth_client(&row).await.unwrap();
        rows.push(row);
    }
    let found = store.oauth_client("https://a", "c1").await.unwrap().unwrap();
    assert_eq!(found.client_secret, rows[0].client_secret);
    assert_eq!(store.oauth_client("https://b", "c1").await.unwrap(), None);
    let newest =
        async || store.registered_oauth_client("https://a", here).await.unwrap().map(|it| it.client_id);
    assert_eq!(newest().await.as_deref(), Some("c2"));
    assert_eq!(store.registered_oauth_client("https://a", "http://elsewhere").await.unwrap(), None);
    let entered = store.entered_oauth_client("https://a").await.unwrap().map(|it| it.client_id);
    assert_eq!(entered.as_deref(), Some("c4"));
    assert_eq!(store.entered_oauth_client("https://b").await.unwrap(), None);
    rows[1].expires_at = Some(now() - 1);
    store.put_oauth_client(&rows[1]).await.unwrap();
    assert_eq!(newest().await.as_deref(), Some("c1"), "a secret that has ended is of no use");
    assert!(store.remove_oauth_client(rows[0].id).await.unwrap());
    assert_eq!(newest().await, None);
    assert_eq!(store.oauth_clients().await.unwrap().len(), 3);
}

async fn a_barred_instance_wants_its_first_sign_in_or_another(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let mut row = stored_instance(&store, &pair, "w").await;
    for (auth_type, has_token, wants, expected) in [
        ("public", false, Wants::SignIn, "not_ready"),
        ("public", false, Wants::Credentials, "needs_reauth"),
        ("header", false, Wants::SignIn, "needs_reauth"),
        ("oauth", false, Wants::Credentials, "not_ready"),
        ("oauth", true, Wants::SignIn, "needs_reauth"),
    ] {
        store.remove_oauth_token(row.id).await.unwrap();
        if has_token {
            store.put_oauth_token(&token(row.id, "a", None)).await.unwrap();
        }
        row.auth_type = auth_type.into();
        store.update_instance(&row).await.unwrap();
        assert!(store.bar_instance(row.id, "why", wants).await.unwrap());
        let found = store.instance(pair.owner, row.id).await.unwrap().unwrap();
        assert_eq!(found.status, expected, "{auth_type} {has_token} {wants:?}");
        assert_eq!(found.last_error.as_deref(), Some("why"));
    }
}

async fn a_new_key_opens_every_token_also_one_under_way(place: Place) {
    let store = place.store().await;
    let pair = pair(&store).await;
    let (one, two) =
        (stored_instance(&store, &pair, "a").await.id, stored_instance(&store, &pair, "b").await.id);
    for id in [one, two] {
        store.put_oauth_token(&token(id, "access", Some("refresh"))).await.unwrap();
    }
    store.add_pending(&pending(pair.owner, one, "s1")).await.unwrap();
    let taken = store.take_refresh(two).await.unwrap().unwrap();
    assert_eq!(store.rotate_key().await.unwrap().unreadable, 0);
    store.return_refresh(taken).await.unwrap();
    for id in [one, two] {
        assert_eq!(held(&store, id).await, is("access", Some("refresh"), false));
    }
    let verifier = store.take_pending(pair.owner, "s1").await.unwrap().unwrap().verifier;
    assert_eq!(verifier.reveal(), "verifier-verifier");
}
