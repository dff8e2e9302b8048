//! Secrets are redacted, and texts that only look like secrets are mostly left alone: both kinds of mistake are counted.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use serde_json::{Value, json};
use toolcrib_core::{CallId, Caller, Durability, Effect, Event, Moment, Recorder, SessionId};
use toolcrib_ledger::{Previews, RecordWriter, Redactor, StateFolder, is_secret_name};

/// Records a call with these arguments and returns its line.
fn kept(redactor: Redactor, conversation: &str, args: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let state = StateFolder::open(&folder.path().join("state")).unwrap();
    let event = Event {
        at: "2025-11-04T12:34:56.789Z".parse().unwrap(),
        call: &CallId("01A".to_owned()),
        session: &SessionId(conversation.to_owned()),
        trace: None,
        tool: &"wink/read_file".into(),
        moment: Moment::Asked {
            args,
            digest: "d".to_owned(),
            effect: Effect::Read,
            caller: &Caller::at_terminal("user 0"),
        },
    };
    let recorder = RecordWriter::new(&state, Previews::On, redactor, &json!({}));
    recorder.record(&event, Durability::Written).unwrap();
    drop(recorder);
    let path = state.folder().join("context_log/ctx-20251104-12.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

/// Returns what the line of a call shows of these arguments.
fn shown(redactor: Redactor, args: &str) -> String {
    kept(redactor, "conv", args)["args_preview"].as_str().unwrap().to_owned()
}

/// Texts, each with the secret in it. They are put together here, so that no secret stands in this file as one.
fn secrets() -> Vec<(String, String)> {
    let random = "q7Rk2Lm9Xw4Tz8Vb3Nc6Yd1Hf5Jg0PsAeUoI";
    let of = |start: &str, size: usize| format!("{start}{}", &random[..size]);
    let hex = |size: usize| "0123456789abcdef".repeat(8)[..size].to_owned();
    let keys = [
        "AKIA".to_owned() + "IOSFODNN7EXAMPLE",
        of("ghp_", 36),
        of("github_pat_", 30),
        of("glpat-", 20),
        of("sk-proj-", 30),
        of("sk-ant-api03-", 30),
        of("sk_live_", 24),
        "sk_live_".to_owned() + "abcdefghijklmnopqrstuvwx",
        "rk_test_".to_owned() + "abcdefghijklmnopqrstuvwx",
        "sk-live-".to_owned() + "AAAABBBBCCCC",
        of("xoxb-", 30),
        of("AIza", 35),
        of("ya29.", 30),
        of("npm_", 36),
        of("hf_", 34),
        "dop_v1_".to_owned() + &hex(64),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.".to_owned() + &random[..30],
        of("gsk_", 36) + &random[..10],
        "glsa_".to_owned() + &random[..32] + "_1a2b3c4d",
        "dapi".to_owned() + &hex(32),
        of("ATATT3xFfGF0", 30),
        of("nvapi-", 36) + &random[..10],
        of("r8_", 34),
        "rubygems_".to_owned() + &hex(48),
        of("sq0csp-", 36),
        "key-".to_owned() + "3ax6xnjp29jd6fds4gc373sgvjxteol0",
        "110201543:AA".to_owned() + &random[..33],
    ];
    let mut all = Vec::new();
    for key in keys {
        for frame in ["use KEY now", "{\"command\":\"deploy --with KEY\"}", "KEY"] {
            all.push((frame.replace("KEY", &key), key.clone()));
        }
    }
    for (frame, secret) in FRAMES {
        all.push((frame.replace('§', secret), (*secret).to_owned()));
    }
    all
}

/// Texts, each with the secret that stands at `§`.
const FRAMES: &[(&str, &str)] = &[
    ("curl -H \"Authorization: Bearer §\" https://x", "abc123def456"),
    ("{\"command\":\"curl -H \\\"Authorization: Basic §\\\" x\"}", "dXNlcjpwYXNz"),
    ("authorization=§", "a1b2c3d4e5"),
    ("git clone https://user:§@example.com/r.git", "hunter2"),
    ("postgres://app:§@db:5432/x", "s3cr-et"),
    ("postgres://app:§@db:5432/x", "p@ss/w0rd"),
    ("curl -s https://hooks.slack.com/services/§", "T0123/B0456/abcDEF123ghi"),
    ("https://discord.com/api/webhooks/123456/§", "abcDEF123ghi456JKL"),
    ("https://x.blob.core.windows.net/c?sv=1&sig=§", "abcDEF123ghi456JKL%3D"),
    ("curl -H 'Cookie: §' https://x", "session=abc; theme=dark"),
    ("{\"headers\":{\"Cookie\":\"§\"}}", "sid=0a1b2c3d4e"),
    ("Set-Cookie: §", "sid=31d4d96e407aad42; Path=/"),
    ("curl -su ada:§ https://x", "letmein"),
    ("curl --user 'ada:§' https://x", "let/me:in"),
    ("mysql -u root -p§ shop", "letmein"),
    ("mysqldump -p§ shop", "letmein"),
    ("sshpass -p '§' ssh host", "letmein"),
    ("curl -u 'admin:§' https://x", "sword fish1"),
    ("openssl enc -pass pass:§ -in a", "swordfish77"),
    ("redis-cli -a § ping", "swordfish77"),
    ("<db><password>§</password></db>", "tiger99X"),
    ("SECRET_KEY = 'django-insecure-§'", "k3y!@#4v5^&*8s9d0f"),
    ("{\"dbPassword\":\"§\"}", "swordfishword"),
    ("{\"user\":\"a\",\"pass\":\"§\"}", "swordfish99"),
    ("tool --password § --host x", "letmein"),
    ("tool --passphrase=§", "plainwords"),
    ("PGPASSWORD=§ psql", "letmein"),
    ("jdbc:x://h/db?user=ada&password=§", "letmein"),
    ("{\"user\":\"ada\",\"password\":\"§\"}", "correct horse"),
    ("{\"client_secret\":\"§\"}", "plain words here"),
    ("PASSWORD=§ make deploy", "hunter2x"),
    ("export DB_PASSWORD='§'", "p4ssw0rd!"),
    ("mysql --password=§", "tr0ub4dor"),
    ("api_key: §", "9f8e7d6c5b4a39281706"),
    ("AWS_SECRET_ACCESS_KEY=§", "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"),
    ("AWS_SECRET_ACCESS_KEY=§", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    ("token = \"§\"", "a8f5f167f44f4964e6c998dee827110c"),
    ("curl -H 'Authorization: Bot §' https://x", "plainlyabot"),
    ("{\"headers\":{\"Authorization\":\"SigningKey §\"}}", "name0:worda b"),
    ("{\"headers\":\"{\\\"Authorization\\\":\\\"SigningKey §\\\"}\"}", "name0:worda"),
    (
        "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"Authorization\\\\\\\":\\\\\\\"SigningKey §\\\\\\\"}\\\"}\"}",
        "name0:worda",
    ),
    ("Authorization: SSWS §", "00QCjAl4MlV-WPXM"),
    ("Authorization: Splunk §\nnext", "0a1b2c3d-0a1b"),
    ("Authorization: Bearer §", "$ecretPw12"),
    ("Authorization: Bearer §", "{hunter2hunter2"),
    ("proxy-authorization: §", "Custom a=b1; c=d2, e"),
    ("authorization: § (expires soon) [200]", "a1b2c3d4e5"),
    ("{\"authorization\":\"Basic §\",\"next\":\"x\"}", "abcdefgh="),
    (
        "Authorization: Digest §",
        "username=\"ada\", nonce=\"dcd98b7102dd\", response=\"6629fae49393\"",
    ),
    (
        "{\"command\":\"curl -H 'Authorization: Digest §' x\"}",
        "username=\\\"ada\\\", nc=01, response=\\\"6629fae49393\\\"",
    ),
    ("git clone https://§@github.com/a/b", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"),
    ("https://§:x-oauth-basic@github.com/a/b", "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"),
    ("https://§:@api.example.com/v1", "rk4Tz8Vb3Nc6Yd1Hf5Jg0"),
    ("https://user:§@host/x", "$ecretPw12"),
    ("https://user:§@host/x", "%24ecretPw12"),
    ("https://user:§@host/x", "p#ss?w0/rd@1"),
    ("redis://:§@host:6379", "{hunter2hunter2"),
    ("export DB_PASSWORD='§'", "{hunter2 hunter2"),
    ("tool --password=§", "*hunter2*"),
    ("PASSWORD=§ make", "abcdefghijklmn...opqrstu1"),
    ("{\"password\": §, \"next\": 1}", "12345678901"),
    ("{\"db_password\":§}", "123456"),
    ("{\"body\":\"{\\\"password\\\": §}\"}", "12345678901"),
    ("{\"db_password\":\"§\"}", "correct horse battery"),
    ("{\"app.client-secret\":\"§\"}", "correct horse battery"),
    ("{\"stripe_api_key\":\"§\",\"next\":\"x\"}", "correct \\\"horse\\\" battery \\\\"),
    ("{\"body\":\"{\\\"db_token\\\":\\\"§\\\",\\\"b\\\":1}\"}", "a \\\\\\\"quoted\\\\\\\" word"),
    ("secretkey = §", "a8f5f167f44f4964e6c998dee827110c"),
    ("authTokenValue: §", "a8f5f167f44f4964e6c998dee827110c"),
    ("token: §", "v1-2022-11-28-a8f5f167f4"),
    ("PWD=§ make", "/hunT3r/pAssw0rd"),
    ("-----BEGIN RSA PRIVATE KEY-----\n§\n-----END RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA"),
    ("DB_SECRET=§", "Xy7#kP2$wQ9!zR4mN8"),
    ("SECRET=§ ./run", "hunter2hunter2"),
    ("ENCRYPTION_KEY=§", "0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
    ("SIGNING_KEY: §", "a8Kd93jfLs02mXc7"),
    ("https://api.x/v1?access_token=§", "abcdefghijklmnopqrstuvwx"),
    ("https://api.x/?key=§", "AbCd1234EfGh5678IjKl"),
    ("x-api-key:§", "abcdefghijklmnop"),
    ("psql 'host=db user=app password=§'", "swordfish"),
    ("db_password: §", "swordfish"),
    ("wget --http-password=§ https://x", "swordfish"),
    ("machine api.x login ada password §", "swordfish"),
    ("docker login -u ada -p § reg.example.com", "S3cretPw9!"),
    ("mongosh -u ada -p §", "S3cretPw9x"),
    ("http -a ada:§ https://x", "S3cretPw9"),
    ("curl -b 'sessionid=§' https://x", "38afes7a8b1c9d2e3f4a5b6c7d"),
    ("smbclient -U ada%§ //h/s", "S3cretPw9"),
    ("htpasswd -b f ada §", "S3cretPw9!x"),
    ("echo 'ada:§' | chpasswd", "S3cretPw9!"),
    ("openssl enc -aes-256-cbc -k §", "S3cretPw9x"),
    ("export DB_PASS=§", "hunter2pass"),
    ("{\"command\":\"export SMTP_PASS=\\\"§\\\" && ./send\"}", "plainwords"),
    ("MYSQL_PWD=§ mysql shop", "swordfish"),
    ("GH_PAT='§' gh pr list", "plainlytoken"),
    ("psql 'host=db user=app db_pass=§'", "hunter2pass"),
    ("PASS=§ ./run", "hunter2pass"),
];

/// Texts from everyday arguments and replies.
const HARMLESS: &[&str] = &[
    "fn token(&mut self) -> Option<Token> {",
    "let tokens = tokenizer.next_token_after(position);",
    "password: string",
    "def set_password(self, password):",
    "if password == confirm_password:",
    "secret = os.environ['SECRET_NAME']",
    "const apiKey = process.env.API_KEY;",
    "api_key = get_api_key()",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "password = <your password here>",
    "PASSWORD=********",
    "TOKEN=xxxxxxxxxxxxxxxx",
    "git log --format=%H 55c570190d11c8beb58cba3a770a72daf2588b55",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "https://example.com:8080/path?token=",
    "http://localhost:3000/@vite/client",
    "git@github.com:owner/repo.git",
    "http://localhost:3000/src/@vite/client",
    "curl https://example.com/get-menu https://example.com/b",
    "curl -u ada https://example.com",
    "curl --user-agent Mozilla https://example.com",
    "mysql -u root -p shop",
    "mysql --port=3306 --protocol=tcp",
    "connect(user=user, password=None, host=host)",
    "DB_PASSWORD=os.getenv(\"DB_PASSWORD\")",
    "tool --password-file /run/secrets/db",
    "def set_cookie(self, cookie: str = None):",
    "Cookie: $COOKIES",
    "https://example.com/a?size=large&signal=none",
    "ssh://git@host:22/repo",
    "npm install sk-learn-something-long-enough",
    "class=\"sk-loading-indicator-large-blue\"",
    "the authorization header is missing",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "bearer of bad news everywhere",
    "cargo test token_is_refreshed",
    "src/auth/token_store.rs:120: fn token_for(user: &User)",
    "{\"max_tokens\": 4096, \"token_count\": 17}",
    "{\"token\": null, \"password\": \"\"}",
    "private key files are not committed",
    "01M7G6B1KTW6AXVWXSGMQ5P2HQ",
    "550e8400-e29b-41d4-a716-446655440000",
    "key = value",
    "keyboard shortcuts: ctrl+k",
    "monkey patching considered harmful",
    "auth = AuthenticationService(config)",
    "credentials: include",
    "use serde::de::Deserializer; // token stream",
    "primary_key = 'customer_identifier'",
    "foreign key (customer_id) references customers",
    "The secret of getting ahead is getting started.",
    "PWD=/home/ada/src1",
    "OLDPWD=/Users/Ada/src-2/My_project.d",
    "pwd /home/user1",
    "tokenizer: tiktoken-cl100k_base2023",
    "class=\"sk-button-primary-2\"",
    "sk-fading-circle sk-circle12-of-many",
    "auth_version = 'oauth2-2022-11-28'",
    "Authorization: required",
    "Authorization: Required for all routes, see below.",
    "authorization = check_authorization(user)",
    "const authorization = req.headers.authorization;",
    "let authorization = process.env.AUTH_TOKEN;",
    "authorization: Optional[str] = None",
    "fn sign(authorization: &str, body: &[u8])",
    "if authorization == request.authorization:",
    "\"Authorization\": \"Bearer \" + token",
    "headers: { Authorization: `Bearer ${token}` }",
    "f\"Authorization: Bearer {self.token}\"",
    "Authorization: Bearer ${{ secrets.GITHUB_TOKEN }}",
    "curl -H \"Authorization: token $(cat token)\" x",
    "Authorization: Basic realm and other words",
    "f\"postgres://{user}:{password}@{host}:5432/db\"",
    "format!(\"postgres://{}:{}@{}\", a, b, c)",
    "\"mysql://%s:%s@%s/%s\" % parts",
    "mysql://%(user)s:%(password)s@host/db",
    "https://user:$PASSWORD@host https://user:${PW}@host https://$user:$pass@host",
    "https://user:[REDACTED]@host https://user:***@host https://user:%PW%@host",
    "curl -u ada:$PW; curl -u \"$USER:${PW}\" https://x",
    "{\"token\": 4096, \"password\": 0, \"secret\": true}",
    "{\"eos_token\": \"<|endoftext|>\", \"mask_token\": \"[MASK]\"}",
    "{\"db_password\": \"${DB_PASSWORD}\", \"api_key\": \"{{ key }}\"}",
    "{\"tokens\": 1234567, \"token_count\": 1234567, \"secret_count\": 1234567}",
    "API_KEY=sk-... and TOKEN=abcd...wxyz",
    "pub pw_passwd: *const c_char,",
    "auth = base64.b64encode(user_passwd.encode()).decode('ascii')",
    "password = base64.b16encode(random_bytes[8:])",
    "_ => Authorization::Deny,",
    "RFC6749#Authorization: https://tools.ietf.org/html/rfc6749#section-3.1",
    "for 'authorization: basic ...'",
    NEEDLESS[0],
    NEEDLESS[1],
    "connect(host=host, password=password, timeout=3)",
    "password=None, user=args.user",
    "db_password: string",
    "user_password: required",
    "SORT_KEY=name PRIMARY_KEY=user_id",
    "PUBLIC_KEY: ~/.ssh/id_ed25519.pub",
    "docker ps -p 8080",
    "http://localhost:8080/login -a",
    "GET /items?key=name&order=asc",
    "monkey-patching the key-value store",
    "openssl version -a",
    "git clone git@github.com:ada/engine.git && ssh root@build.example.com",
    "cp icon@2x.png icon@3x.png out/",
    "systemctl status getty@tty1.service",
    "npm install left-pad@1.3.0 lodash@latest @types/node@22.1.0-rc.next react@1.0.0-beta.rc",
    "@app.route('/x') and a decorator@ without a host",
    "TWO_PASS=true RENDER_PASS=none DEPLOY_PWD=/srv/app passes=12345 bypass=12a45b78",
    "login as ada, then change your password",
];

/// Texts that look so much like secrets that they are redacted too.
const NEEDLESS: [&str; 2] = [
    "pub const X509AuthNone: X509EnrollmentAuthFlags = 0i32;",
    "with the --username and --password options",
];

#[test]
fn secrets_go_and_the_rest_stays() {
    let redactor = Redactor::default();
    let mut missed = Vec::new();
    let secrets = secrets();
    for (text, secret) in &secrets {
        let clean = redactor.clean(text);
        // No large part of the secret may stay either.
        let size = secret.len().min(6);
        let mut parts = (0..=secret.len() - size).filter_map(|at| secret.get(at..at + size));
        if parts.any(|part| clean.contains(part)) {
            missed.push(format!("{text} > {clean}"));
        }
        assert_eq!(redactor.clean(&clean), clean, "once is enough");
        if text.starts_with('{') {
            let parsed = serde_json::from_str::<Value>(&clean);
            assert!(parsed.is_ok(), "{clean}");
        }
    }
    let wrong: Vec<&str> =
        HARMLESS.iter().copied().filter(|text| redactor.clean(text) != *text).collect();
    assert!(missed.is_empty(), "{} of {}: {missed:#?}", missed.len(), secrets.len());
    assert_eq!(wrong, NEEDLESS, "{} of {}", wrong.len(), HARMLESS.len());
}

#[test]
fn names_of_variables_tell() {
    for name in [
        "GITHUB_TOKEN",
        "DB_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "OPENAI_API_KEY",
        "STRIPE_KEY",
        "GH_PAT",
        "DB_PASS",
        "MYSQL_PWD",
        "AZURE_CREDENTIAL",
        "SERVICE_CREDENTIALS",
        "REGISTRY_AUTH",
    ] {
        assert!(is_secret_name(name), "{name}");
    }
    for name in [
        "PATH",
        "HOME",
        "LANG",
        "KEYBOARD",
        "TERM",
        "EDITOR",
        "PWD",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "SSH_ASKPASS",
        "COMPASS",
    ] {
        assert!(!is_secret_name(name), "{name}");
    }
}

/// Returns the processor time that cleaning a text of this many parts takes, in nanoseconds. Processor time, because a
/// busy machine makes every other clock wrong.
fn cleaning_time(parts: usize) -> i64 {
    let used = || {
        let used = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        used.tv_sec * 1_000_000_000 + used.tv_nsec
    };
    let text = "token = a password: b secret=c ".repeat(parts);
    let start = used();
    let _ = Redactor::default().clean(&text);
    used() - start
}

#[test]
fn the_time_of_cleaning_grows_with_the_text_and_not_with_its_square() {
    // What others do on the machine only ever adds to the time.
    let least = |parts| (0..5).map(|_| cleaning_time(parts)).min().unwrap_or_default();
    let (short, long) = (least(5_000), least(80_000));
    // Sixteen times the text: 16 times the time if it grows with the text, 256 times if with its square.
    assert!(long < 64 * short, "{short} ns, and {long} ns for sixteen times the text");
}

#[test]
fn values_are_found_however_json_spells_them() {
    let value = "pa\"ss\\wo\nrd\t/\u{1b}12";
    let redactor = || Redactor::new([format!("{value}\n")]);
    let once = json!({"command": format!("login {value} now")}).to_string();
    let twice = json!({"body": once}).to_string();
    for text in [&format!("login {value} now"), &once, &once.replace('/', "\\/"), &twice] {
        let clean = redactor().clean(text).into_owned();
        assert!(clean.contains("login [REDACTED] now"), "{clean}");
        assert!(!text.starts_with('{') || serde_json::from_str::<Value>(&clean).is_ok(), "{clean}");
    }
    assert_eq!(shown(redactor(), &once), r#"{"command":"login [REDACTED] now"}"#);
    let other = once.replace("12", "13");
    assert_eq!(shown(redactor(), &other), other, "another value stays");
}

#[test]
fn a_long_value_at_the_cut_is_not_shown_in_part() {
    let value: Vec<String> = (0..900).map(|number| format!("{number:04}")).collect();
    let value = value.concat();
    let args = format!("{}{value} and {}", "x".repeat(2000), "y".repeat(5000));
    let clean = shown(Redactor::new([value.clone()]), &args);
    assert!(!clean.contains("0000"), "{clean}");
    assert!(clean.contains("x[REDACTED] [TRUNCATED] (10605 bytes)"), "{clean}");
    assert!(shown(Redactor::default(), &args).contains("x00000001"), "unknown, it stays");
}

#[test]
fn what_is_taken_out_makes_no_room_for_what_was_not_looked_at() {
    let value = "long value of a variable ".repeat(40);
    // Wherever the preview ends, a key is cut there.
    let args = format!("{value}{}", " AKIAIOSFODNN7EXAMPLE".repeat(300));
    let clean = shown(Redactor::new([value]), &args);
    assert!(clean.starts_with("[REDACTED]  [REDACTED]") && !clean.contains("AK"), "{clean}");
}

#[test]
fn names_of_conversations_are_cleaned() {
    let name = |redactor: Redactor, name: &str| kept(redactor, name, "{}")["conv_id"].clone();
    let own = || Redactor::new(["correct horse".to_owned()]);
    assert_eq!(name(own(), "of correct horse, AKIAIOSFODNN7EXAMPLE"), "of [REDACTED], [REDACTED]");
    let long = format!("{}AKIAIOSFODNN7EXAMPLE", "x ".repeat(125));
    assert_eq!(name(own(), &long), format!("{}[REDACTED]", "x ".repeat(125)));
    for plain in ["cli-01M7G6B1KTW6AXVWXSGMQ5P2HR", "550e8400-e29b-41d4-a716-446655440000"] {
        assert_eq!(name(own(), plain), plain);
    }
    assert_eq!(name(own(), &"y".repeat(300)), "y".repeat(256));
}
