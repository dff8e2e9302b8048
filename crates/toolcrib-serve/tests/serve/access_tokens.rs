//! Access tokens of an authorization server, each beside one that is good.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use toolcrib_serve::PublishedKeys;

use crate::authority::{Authority, TestKey, encode};
use crate::oauth_rig::{AUDIENCE, ISSUER, OAuthRig, good, with};
use crate::rig::{AGENT, Rig, bearer};
use crate::set_clock::NOW;

#[test]
fn a_token_of_each_algorithm_names_its_owner() {
    let keys = [TestKey::rsa("r"), TestKey::p256("e"), TestKey::ed25519("d")];
    let authority = Authority::start(&keys.each_ref());
    let rig = OAuthRig::new(&authority);
    for key in &keys {
        let caller = rig.ask(&key.token(&good())).is_ok()["caller"].clone();
        let owner = json!({"name": "oauth:login.example.org#ada", "role": "agent"});
        assert_eq!((&caller["principal"], &caller["door"]), (&owner, &json!("http")));
        // One key of each kind leaves no choice, so its id need not be named.
        let unnamed = json!({"alg": key.algorithm(), "typ": "JWT"}).to_string();
        rig.ask(&key.token_of(&unnamed, &good().to_string())).is_ok();
    }
    // Our own tokens count as before.
    let own = rig.ask(AGENT).is_ok();
    assert_eq!(own["caller"]["principal"]["name"], "coder");
    assert_eq!(authority.requests(), 1);
}

#[test]
fn clients_are_told_where_to_get_a_token() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    let root = "/.well-known/oauth-protected-resource";
    for path in [root.to_owned(), format!("{root}/mcp")] {
        let reply = rig.rig.ask(rig.rig.request(&format!("GET {path}"), "", ""));
        let expected = json!({
            "resource": AUDIENCE,
            "authorization_servers": [ISSUER],
            "scopes_supported": ["toolcrib:agent", "toolcrib:approver", "toolcrib:admin"],
            "bearer_methods_supported": ["header"],
        });
        assert_eq!(reply.is_ok(), expected);
        let posted = rig.rig.ask(rig.rig.request(&format!("POST {path}"), "", ""));
        posted.is_error(405, "method_not_allowed");
    }
    let challenge = "Bearer scope=\"toolcrib:agent\", resource_metadata=\"https://tools.example.org/.well-known/oauth-protected-resource/mcp\"";
    let good = bearer(&key.token(&good()));
    for headers in [String::new(), format!("{good}{good}"), "Authorization: Basic YTpi\r\n".into()]
    {
        let reply = rig.rig.ask(rig.rig.request("GET /echo", &headers, ""));
        reply.is_error(401, "unauthorized");
        assert_eq!(reply.header("www-authenticate"), Some(challenge));
    }
    // Without an authorization server, there is nothing to tell.
    let plain = Rig::new();
    let reply = plain.ask(plain.request(&format!("GET {root}"), "", ""));
    reply.is_error(401, "unauthorized");
    assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
    plain.ask(plain.agents(&format!("GET {root}"), "", "")).is_error(404, "not_found");
}

#[test]
fn a_token_in_the_address_is_refused() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    let token = key.token(&good());
    rig.ask(&token).is_ok();
    let runs = rig.rig.runs();
    for name in ["access_token", "%61ccess_token", "a=b&access_token"] {
        for headers in [String::new(), bearer(&token)] {
            let line = format!("GET /echo?{name}={token}");
            let reply = rig.rig.ask(rig.rig.request(&line, &headers, ""));
            let message = reply.is_error(400, "bad_request");
            assert!(message.contains("`Authorization: Bearer TOKEN`"), "{message}");
        }
    }
    assert_eq!(rig.rig.runs(), runs);
}

#[test]
fn only_the_three_algorithms_count_each_with_its_own_key() {
    let keys = [TestKey::rsa("r"), TestKey::p256("e"), TestKey::ed25519("d")];
    let authority = Authority::start(&keys.each_ref());
    let rig = OAuthRig::new(&authority);
    let [rsa, p256, _] = &keys;
    let (header, claims) = (|alg: &str| json!({"alg": alg, "typ": "at+jwt", "kid": "r"}), good());
    let message = |alg: &str| {
        let header = encode(header(alg).to_string().as_bytes());
        format!("{header}.{}", encode(claims.to_string().as_bytes()))
    };
    // Without a signature, or with one that anybody can make who knows the public key.
    let public = rsa.jwk()["n"].as_str().unwrap().as_bytes().to_vec();
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &public);
    for alg in ["none", "None", "NONE", "HS256", "HS384", "hs256", "RS384", "PS256", "ES384", ""] {
        let message = message(alg);
        let signed = encode(ring::hmac::sign(&secret, message.as_bytes()).as_ref());
        for signature in ["", &signed, &encode(&rsa.sign(message.as_bytes()))] {
            rig.refuses(&format!("{message}.{signature}"), "RS256, ES256 or EdDSA");
        }
    }
    // An algorithm of another key of the set.
    let mixed = json!({"alg": "ES256", "typ": "at+jwt", "kid": "r"}).to_string();
    rig.refuses(&p256.token_of(&mixed, &claims.to_string()), "does not publish the key");
    let mixed = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": "d"}).to_string();
    rig.refuses(&rsa.token_of(&mixed, &claims.to_string()), "signature");
    for key in &keys {
        rig.ask(&key.token(&claims)).is_ok();
    }
}

#[test]
fn a_token_that_was_changed_is_refused() {
    let keys = [TestKey::rsa("r"), TestKey::p256("e"), TestKey::ed25519("d")];
    let authority = Authority::start(&keys.each_ref());
    let rig = OAuthRig::new(&authority);
    for key in &keys {
        let token = key.token(&good());
        rig.ask(&token).is_ok();
        let parts: Vec<&str> = token.split('.').collect();
        let [header, payload, signature] = parts[..] else { panic!("{token}") };
        let admin = encode(with("scope", "toolcrib:admin".into()).to_string().as_bytes());
        rig.refuses(&format!("{header}.{admin}.{signature}"), "signature");
        let other = TestKey::p256(key.id).token(&good());
        let other = other.rsplit_once('.').unwrap().1.to_owned();
        rig.refuses(&format!("{header}.{payload}.{other}"), "signature");
        rig.refuses(&format!("{header}.{payload}."), "signature");
        // A part more or less, and other ways to write the same bytes.
        for wrong in [
            format!("{header}.{payload}"),
            format!("{token}.{signature}"),
            format!(".{token}"),
            format!("{token}="),
            format!("{header}=.{payload}.{signature}"),
            format!("{header}.{payload}.{signature}\u{7e}"),
            format!("{header} .{payload}.{signature}"),
            format!("{header}.{payload}. {signature}"),
            "..".to_owned(),
            ".".to_owned(),
        ] {
            rig.refuses(&wrong, "well-formed");
        }
        rig.refuses(header, "wrong or revoked");
    }
    let key = &keys[1];
    rig.refuses(&format!("{}.{}", key.token(&good()), "A".repeat(17 << 10)), "too long");
    let large = with("groups", "g".repeat(8 << 10).into());
    rig.ask(&key.token(&large)).is_ok();
}

#[test]
fn every_changed_character_is_noticed() {
    let keys = [TestKey::rsa("r"), TestKey::p256("e"), TestKey::ed25519("d")];
    let authority = Authority::start(&keys.each_ref());
    let rig = OAuthRig::new(&authority);
    for key in &keys {
        let token = key.token(&good());
        for at in 0..token.len() {
            for other in ["A", "-", "="] {
                let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
                let is_same = changed == token;
                assert_eq!(rig.ask(&changed).status == 200, is_same, "{changed}");
            }
        }
        rig.ask(&token).is_ok();
    }
}

#[test]
fn what_a_header_brings_along_does_not_count() {
    let (known, own) = (TestKey::p256("k"), TestKey::p256("mine"));
    let authority = Authority::start(&[&known]);
    let mine = Authority::start(&[&own]);
    let rig = OAuthRig::new(&authority);
    let claims = good().to_string();
    let header = |more: Value| {
        let mut header = json!({"alg": "ES256", "typ": "at+jwt", "kid": "mine"});
        header.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        header.to_string()
    };
    for more in [
        json!({"jwk": own.jwk()}),
        json!({"jku": mine.keys_url()}),
        json!({"x5u": mine.keys_url(), "x5c": ["AAAA"]}),
        json!({"kid": "../../../../dev/null"}),
        json!({"kid": mine.keys_url()}),
        json!({"kid": "k' OR '1'='1"}),
        json!({"kid": ""}),
    ] {
        rig.refuses(&own.token_of(&header(more), &claims), "does not publish the key");
    }
    rig.refuses(
        &own.token_of(&header(json!({"kid": "k", "jwk": own.jwk()})), &claims),
        "signature",
    );
    rig.refuses(&own.token_of(&header(json!({"kid": 7})), &claims), "well-formed");
    assert_eq!(mine.requests(), 0);
    // They do not matter beside a good signature either.
    let harmless = header(json!({"kid": "k", "jku": mine.keys_url(), "jwk": own.jwk()}));
    rig.ask(&known.token_of(&harmless, &claims)).is_ok();
    assert_eq!(mine.requests(), 0);
    let critical = header(json!({"kid": "k", "crit": ["b64"], "b64": true}));
    rig.refuses(&known.token_of(&critical, &claims), "critical");
    rig.refuses(&known.token_of(&header(json!({"kid": "k", "crit": []})), &claims), "critical");
    for typ in ["at+jwt", "AT+JWT", "application/at+jwt", "JWT"] {
        rig.ask(&known.token_of(&header(json!({"kid": "k", "typ": typ})), &claims)).is_ok();
    }
    for typ in [json!("logout+jwt"), json!("dpop+jwt"), json!(""), json!(null), json!(1)] {
        rig.refuses(&known.token_of(&header(json!({"kid": "k", "typ": typ})), &claims), "typ");
    }
    let untyped = json!({"alg": "ES256", "kid": "k"}).to_string();
    rig.refuses(&known.token_of(&untyped, &claims), "typ");
    let twice = r#"{"alg":"ES256","alg":"none","typ":"at+jwt","kid":"k"}"#;
    rig.refuses(&known.token_of(twice, &claims), "well-formed");
}

#[test]
fn a_token_counts_only_from_its_issuer_for_this_server_and_in_its_time() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    for (name, value, words) in [
        ("iss", json!("https://login.example.org/"), "another issuer"),
        ("iss", json!("https://evil.example.org"), "another issuer"),
        ("iss", json!(null), "another issuer"),
        ("iss", json!([ISSUER]), "well-formed"),
        ("aud", json!("https://tools.example.org/mcp/"), "another server"),
        ("aud", json!("https://tools.example.org"), "another server"),
        ("aud", json!("https://other.example.org/mcp"), "another server"),
        ("aud", json!([]), "another server"),
        ("aud", json!(null), "another server"),
        ("aud", json!([AUDIENCE, 7]), "well-formed"),
        ("aud", json!({"a": AUDIENCE}), "well-formed"),
        ("aud", json!(7), "well-formed"),
        ("exp", json!(NOW - 30), "expired"),
        ("exp", json!(0), "expired"),
        ("exp", json!(NOW as f64 - 30.5), "expired"),
        ("exp", json!(null), "well-formed"),
        ("exp", json!(-1), "well-formed"),
        ("exp", json!((NOW + 300).to_string()), "well-formed"),
        ("exp", json!(1e300), "well-formed"),
        ("exp", json!(u64::MAX), "well-formed"),
        ("exp", json!(i64::MAX), "well-formed"),
        ("exp", json!(true), "well-formed"),
        ("nbf", json!(NOW + 31), "not valid yet"),
        ("nbf", json!("now"), "well-formed"),
        ("nbf", json!(1e300), "well-formed"),
        ("cnf", json!({"jkt": "x"}), "bound to a key"),
        ("sub", json!(null), "does not name its owner"),
        ("sub", json!(""), "does not name its owner"),
        ("sub", json!("a b"), "does not name its owner"),
        ("sub", json!("a\nb"), "does not name its owner"),
        ("sub", json!("ad\u{430}"), "does not name its owner"),
        ("sub", json!("a".repeat(256)), "does not name its owner"),
        ("sub", json!(["ada"]), "well-formed"),
        ("sub", json!("revoked"), "was revoked"),
        ("sub", json!("unknown"), "was revoked"),
    ] {
        rig.refuses(&key.token(&with(name, value)), words);
    }
    for (name, value) in [
        ("aud", json!(["https://other.example.org", AUDIENCE])),
        ("exp", json!(NOW - 29)),
        ("exp", json!(NOW as f64 + 0.5)),
        ("nbf", json!(NOW + 30)),
        ("sub", json!("auth0|5f7c8ec7c33c6c004bbafe82")),
        ("sub", json!("a".repeat(255))),
    ] {
        rig.ask(&key.token(&with(name, value.clone()))).is_ok();
    }
    for twice in [r#""sub":"eve","#, r#""exp":9999999999,"#, r#""aud":"x","#] {
        let claims = good().to_string().replacen('{', &format!("{{{twice}"), 1);
        rig.refuses(&key.token_of(&key.header().to_string(), &claims), "well-formed");
    }
    for claims in ["[]", "7", "\"a\"", "{", "", "{\"exp\":1e400}", "\u{feff}{}"] {
        rig.refuses(&key.token_of(&key.header().to_string(), claims), "well-formed");
    }
    let deep = format!("{}{}", "[".repeat(4000), "]".repeat(4000));
    let claims = good().to_string().replacen('{', &format!("{{\"x\":{deep},"), 1);
    rig.refuses(&key.token_of(&key.header().to_string(), &claims), "well-formed");
    // The same token later.
    let token = key.token(&good());
    rig.ask(&token).is_ok();
    rig.clock.now.store(NOW + 330, Ordering::SeqCst);
    rig.refuses(&token, "expired");
}

#[test]
fn scopes_give_roles() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    for (scope, role) in [
        (json!("toolcrib:agent"), "agent"),
        (json!("toolcrib:approver profile"), "approver"),
        (json!("toolcrib:agent toolcrib:approver"), "approver"),
        (json!("toolcrib:admin toolcrib:agent"), "admin"),
        (json!(["toolcrib:agent", "b"]), "agent"),
    ] {
        let reply = rig.ask(&key.token(&with("scope", scope))).is_ok();
        assert_eq!(reply["caller"]["principal"]["role"], role);
    }
    for scope in [json!(null), json!(""), json!("agent"), json!("toolcrib:agents TOOLCRIB:AGENT")] {
        let reply = rig.ask(&key.token(&with("scope", scope)));
        reply.is_error(403, "insufficient_scope");
        let challenge = reply.header("www-authenticate").unwrap();
        let start =
            "Bearer error=\"insufficient_scope\", scope=\"toolcrib:agent\", resource_metadata=\"";
        assert!(challenge.starts_with(start), "{challenge}");
    }
    rig.refuses(&key.token(&with("scope", json!({"toolcrib:agent": true}))), "well-formed");
    // Other claims can have the name and the scopes.
    let keys = PublishedKeys::Url(authority.keys_url());
    let other = OAuthRig::with(keys, |config| {
        config.name_claim = "client_id".to_owned();
        config.scope_claim = "scp".to_owned();
        config.audience = "https://tools.example.org".to_owned();
    });
    let mut claims = with("scp", json!(["toolcrib:approver"]));
    for audience in ["https://tools.example.org", "https://tools.example.org/"] {
        claims["aud"] = audience.into();
        let reply = other.ask(&key.token(&claims)).is_ok();
        let expected = json!({"name": "oauth:login.example.org#app", "role": "approver"});
        assert_eq!(reply["caller"]["principal"], expected);
    }
    other.refuses(&key.token(&good()), "another server");
}

#[test]
fn guesses_are_limited_and_tokens_that_were_good_once_are_told_so() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    let forged = TestKey::p256("k").token(&good());
    while rig.ask(&forged).status != 429 {}
    rig.ask(&key.token(&good())).is_ok();
    rig.refuses(&key.token(&with("exp", json!(NOW - 100))), "expired");
    assert_eq!(rig.ask(&forged).status, 429);
}

#[test]
fn a_stream_ends_with_its_token_and_a_call_goes_on() {
    let key = TestKey::p256("k");
    let authority = Authority::start(&[&key]);
    let rig = OAuthRig::new(&authority);
    let (short, long) = (key.token(&good()), key.token(&with("exp", json!(NOW + 9000))));
    let mut call = rig.rig.begin_wait(&short);
    let begin = |token: &str| {
        let mut client = rig.rig.connect();
        let headers = format!("{}Connection: close\r\n", bearer(token));
        client.send(rig.rig.request("GET /stream", &headers, ""));
        rig.rig.wait_for_handler();
        assert_eq!(client.reply().status, 200);
        client
    };
    let (mut ends, mut stays) = (begin(&short), begin(&long));
    rig.clock.now.store(NOW + 330, Ordering::SeqCst);
    assert_eq!(ends.end(), b"0\r\n\r\n");
    rig.refuses(&short, "expired");
    // The one that began first gets the first permit.
    rig.rig.release();
    call.reply().is_ok();
    rig.rig.release();
    assert_eq!((stays.line().as_deref(), stays.line().as_deref()), (Some("1"), Some("x")));
}
