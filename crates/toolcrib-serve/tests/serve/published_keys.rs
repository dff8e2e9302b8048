//! The keys of an authorization server: when they are loaded, which of them count, and what happens without them.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_serve::PublishedKeys;

use crate::authority::{Authority, TestKey};
use crate::oauth_rig::{OAuthRig, good};
use crate::rig::AGENT;

#[test]
fn keys_are_loaded_again_for_a_new_one_and_not_too_often() {
    let (old, new) = (TestKey::p256("old"), TestKey::ed25519("new"));
    let authority = Authority::start(&[&old]);
    let rig = OAuthRig::new(&authority);
    let token = |key: &TestKey| key.token(&good());
    rig.ask(&token(&old)).is_ok();
    authority.publish(&[&old, &new]);
    // Whoever makes up keys cannot make us ask the authorization server each time.
    for _ in 0..20 {
        rig.refuses(&token(&new), "does not publish the key");
    }
    assert_eq!(authority.requests(), 1);
    rig.pass(10);
    rig.ask(&token(&new)).is_ok();
    rig.ask(&token(&old)).is_ok();
    assert_eq!(authority.requests(), 2);
    // A key that is withdrawn counts until the keys are loaded again.
    authority.publish(&[&new]);
    rig.pass(10);
    rig.refuses(&token(&TestKey::p256("other")), "does not publish the key");
    assert_eq!(authority.requests(), 3);
    rig.refuses(&token(&old), "does not publish the key");
    rig.ask(&token(&new)).is_ok();
}

#[test]
fn withdrawn_keys_stop_to_count_without_any_new_one() {
    let (old, new) = (TestKey::p256("old"), TestKey::p256("new"));
    let authority = Authority::start(&[&old, &new]);
    let keys = PublishedKeys::Url(authority.keys_url());
    let rig = OAuthRig::with(keys, |config| config.key_interval = Duration::from_millis(5));
    rig.ask(&old.token(&good())).is_ok();
    authority.publish(&[&new]);
    while rig.ask(&old.token(&good())).status == 200 {}
    rig.ask(&new.token(&good())).is_ok();
}

#[test]
fn keys_stay_while_the_authorization_server_is_down_or_answers_nonsense() {
    let (old, new) = (TestKey::p256("old"), TestKey::p256("new"));
    let authority = Authority::start(&[&old]);
    let rig = OAuthRig::new(&authority);
    let (kept, unknown) = (old.token(&good()), new.token(&good()));
    rig.ask(&kept).is_ok();
    let other = Authority::start(&[&new]);
    let redirect = format!("302 Found\r\nLocation: {}", other.keys_url());
    let set = json!({"keys": [new.jwk()]}).to_string();
    let many = json!({"keys": vec![new.jwk(); 10_000]}).to_string();
    let over = json!({"keys": vec![json!({"kty": "oct"}); 101]}).to_string();
    let padded = format!("{set}{}", " ".repeat(256 << 10));
    for (at, (status, body)) in [
        (redirect.as_str(), set.as_str()),
        ("500 Internal Server Error", &set),
        ("404 Not Found", &set),
        ("204 No Content", ""),
        ("200 OK", "<html>"),
        ("200 OK", "{}"),
        ("200 OK", "[]"),
        ("200 OK", r#"{"keys":{}}"#),
        ("200 OK", r#"{"keys":[7]}"#),
        ("200 OK", r#"{"keys":[],"keys":[]}"#),
        ("200 OK", &many),
        ("200 OK", &over),
        ("200 OK", &padded),
    ]
    .into_iter()
    .enumerate()
    {
        authority.answer_with(status, body);
        rig.pass(10);
        rig.refuses(&unknown, "does not publish the key");
        assert_eq!(authority.requests(), at + 2, "{status}");
        rig.ask(&kept).is_ok();
    }
    assert_eq!(other.requests(), 0);
    let address = authority.address;
    drop(authority);
    rig.pass(10);
    rig.refuses(&unknown, "does not publish the key");
    rig.ask(&kept).is_ok();
    let _back = Authority::start_at(address, &[&new]);
    rig.pass(10);
    rig.ask(&unknown).is_ok();
    rig.refuses(&kept, "does not publish the key");
}

#[test]
fn a_server_starts_without_the_authorization_server_and_finds_it_later() {
    let key = TestKey::p256("k");
    let reserved = Authority::start(&[&key]);
    let address = reserved.address;
    let keys = PublishedKeys::Url(reserved.keys_url());
    drop(reserved);
    let rig = OAuthRig::with(keys, |_| {});
    let token = key.token(&good());
    let reply = rig.ask(&token);
    // The token may be good, so its client keeps it.
    let message = reply.is_error(503, "unavailable");
    assert!(message.contains("cannot be loaded"), "{message}");
    assert_eq!(reply.header("retry-after"), Some("10"));
    rig.ask(AGENT).is_ok();
    rig.refuses("nonsense", "wrong or revoked");
    rig.refuses("non.sense.", "well-formed");
    let _back = Authority::start_at(address, &[&key]);
    rig.pass(10);
    rig.ask(&token).is_ok();
}

#[test]
fn keys_that_are_weak_or_for_something_else_do_not_count() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    let publish = |jwk: Value| {
        authority.answer_with("200 OK", &json!({"keys": [jwk, key.jwk()]}).to_string());
        rig.pass(10);
    };
    // A key of 1024 bits, and a token that it has signed.
    let weak = "yfqo8xdnsbAtl-YgTz1nUMMe3OYlhIYYMGNLb5wzvhgK0TLZhN558Un5sA0w-JNdnFpU3mEueOIYln70HMgnDgz1OXSchXoR7TnNz96SOsEL1oAWYtl5escAD-GTdYVAR4ecm1FLg-G3ykbnY__0Y3HmIKOIDqi8NYt_CKcQ3AM";
    let token = "eyJhbGciOiAiUlMyNTYiLCAidHlwIjogImF0K2p3dCIsICJraWQiOiAid2VhayJ9.eyJpc3MiOiAiaHR0cHM6Ly9sb2dpbi5leGFtcGxlLm9yZyIsICJhdWQiOiAiaHR0cHM6Ly90b29scy5leGFtcGxlLm9yZy9tY3AiLCAic3ViIjogImV2ZSIsICJzY29wZSI6ICJ0b29sY3JpYjphZG1pbiIsICJleHAiOiA0MTAyNDQ0ODAwfQ.m_w4O1AvBc9qgCxPdstJz0mku5YPMR5obqPCXBH7REF8Bm-_Dhwe1snLNkmDZIhq9CbWXbWRIvzzmwyuL682bBLVQMb7hIrEPTbjQXB1Cs566ZjXTXN5qn3iGaxIDAAkult7YPTCnkrO2RcFY6zcJTRp4A2N-SYObbLYGPf-CRU";
    publish(json!({"kty": "RSA", "kid": "weak", "n": weak, "e": "AQAB"}));
    rig.refuses(token, "does not publish the key");
    // The same key with a field that makes it unusable, beside one that does not.
    let strong = TestKey::rsa("r");
    let token = strong.token(&good());
    for (field, value) in [
        ("use", json!("enc")),
        ("use", json!(7)),
        ("alg", json!("RS512")),
        ("alg", json!("HS256")),
        ("alg", json!("ES256")),
        ("alg", json!(null)),
        ("key_ops", json!(["encrypt"])),
        ("key_ops", json!("verify")),
        ("e", json!("AQ")),
        ("e", json!("AQAB=")),
        ("kty", json!("oct")),
        ("kid", json!(7)),
    ] {
        let mut jwk = strong.jwk();
        jwk[field] = value.clone();
        publish(jwk);
        rig.refuses(&token, "does not publish the key");
    }
    for (field, value) in [("key_ops", json!(["verify"])), ("x5t", json!("x"))] {
        let mut jwk = strong.jwk();
        jwk[field] = value;
        publish(jwk);
        rig.ask(&token).is_ok();
    }
    let mut short = key.jwk();
    short["kid"] = "r".into();
    short["x"] = "AAAA".into();
    publish(short);
    rig.ask(&key.token(&good())).is_ok();
    // Two keys with one id leave a choice, and so does a token without an id.
    let twin = TestKey::p256("twin");
    authority.publish(&[&twin, &TestKey::p256("twin"), &key]);
    rig.pass(10);
    rig.refuses(&twin.token(&good()), "does not publish the key");
    let unnamed = json!({"alg": "ES256", "typ": "at+jwt"}).to_string();
    rig.refuses(&key.token_of(&unnamed, &good().to_string()), "does not publish the key");
}
