//! The forms that secrets have.

use super::{
    any, is_credential, is_mixed, is_no_name, is_no_port, is_no_prose, is_no_words, is_random,
    is_strong, is_written_out,
};

/// A form that secrets have.
pub(super) struct Form {
    /// Texts, in lower case, without one of which there is none.
    pub(super) signs: &'static [&'static str],
    /// The first of its groups that is there is the secret; all of it without one.
    pub(super) pattern: &'static str,
    pub(super) check: fn(&str) -> bool,
}

/// Names of JSON members that hold secrets, and what they end in.
macro_rules! member {
    () => {
        "(?:[a-z0-9_.-]*[_.-])?(?:(?-i:[a-z0-9]*Password)|password|passwd|passphrase|pass|secret|token|api[_-]?key|(?:access|auth|refresh|id|session)[_-]?token|client[_-]?secret|(?:access|secret|private)[_-]?key)"
    };
}

/// Schemes of authorization.
macro_rules! schemes {
    () => {
        "apikey|basic|bearer|bot|digest|geniekey|key|negotiate|ntlm|oauth|splunk|ssws|token"
    };
}

const MEMBERS: &[&str] = &["pass", "secret", "token", "key"];

pub(super) const FORMS: &[Form] = &[
    Form {
        signs: &["akia", "asia", "abia", "acca"],
        pattern: r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)",
        check: any,
    },
    Form {
        signs: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        check: any,
    },
    Form { signs: &["glpat-"], pattern: r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}", check: any },
    Form {
        signs: &["sk-", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        pattern: r"(?-u:\b)(?:sk-[A-Za-z0-9_-]{16,}|(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,})",
        check: is_no_words,
    },
    Form { signs: &["xox"], pattern: r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}", check: any },
    Form { signs: &["aiza"], pattern: r"(?-u:\b)AIza[A-Za-z0-9_-]{35}", check: any },
    Form { signs: &["ya29."], pattern: r"(?-u:\b)ya29\.[A-Za-z0-9_-]{20,}", check: any },
    Form {
        signs: &[
            "npm_",
            "hf_",
            "pypi-",
            "dop_v1_",
            "shpat_",
            "sg.",
            "gldt-",
            "glrt-",
            "gocspx-",
            "hvs.",
            "lin_api_",
            "dckr_pat_",
            "sbp_",
            "xapp-",
            "age-secret-key-",
        ],
        pattern: r"(?-u:\b)(?:npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}|dop_v1_[0-9a-f]{64}|shpat_[0-9a-f]{32}|SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{40,46}|gl[dr]t-[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|hvs\.[A-Za-z0-9_-]{20,}|lin_api_[A-Za-z0-9]{20,}|dckr_pat_[A-Za-z0-9_-]{20,}|sbp_[0-9a-f]{30,}|xapp-[A-Za-z0-9-]{20,}|AGE-SECRET-KEY-[A-Z0-9]{20,})",
        check: any,
    },
    Form {
        signs: &[
            "gsk_",
            "glsa_",
            "dapi",
            "atatt3x",
            "xai-",
            "nvapi-",
            "r8_",
            "rubygems_",
            "sq0",
            "pmak-",
            "key-",
            "eaac",
            ":aa",
        ],
        pattern: r"(?-u:\b)(?:gsk_[A-Za-z0-9]{40,}|glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|dapi[0-9a-f]{32}|ATATT3x[A-Za-z0-9_=-]{20,}|xai-[A-Za-z0-9]{40,}|nvapi-[A-Za-z0-9_-]{40,}|r8_[A-Za-z0-9]{30,}|rubygems_[0-9a-f]{40,}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,}|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|key-[0-9a-f]{32}|key-[0-9a-z]{32}|EAAC[A-Za-z0-9]{30,}|[0-9]{8,10}:AA[A-Za-z0-9_-]{30,})",
        check: is_mixed,
    },
    Form {
        signs: &["private-lines:"],
        pattern: r"Private-Lines:\s*[0-9]+((?:[A-Za-z0-9+/=\s]|\\+[nrt])+)",
        check: any,
    },
    Form {
        signs: &["eyj"],
        pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|eyJ[A-Za-z0-9_-]{8,})",
        check: any,
    },
    Form {
        signs: &["private key"],
        // Up to its end, or to what no key has: the text around it goes on.
        pattern: r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----((?:[A-Za-z0-9+/=:,.\s-]|\\+[nrt]){8,}?)(?:-----END|[^A-Za-z0-9+/=:,.\s\\-]|$)",
        check: any,
    },
    // Up to the last `@`: passwords have that, too, and slashes.
    Form { signs: &["://"], pattern: r#"://[^\s/?#"'\\@:\[]*:([^\s"'\\]+)@"#, check: is_no_port },
    Form {
        signs: &["://"],
        pattern: r#"://([^\s/?#"'\\@:]{20,})(?::[^\s/?#"'\\@]*)?@"#,
        check: is_random,
    },
    // Addresses that are secrets themselves.
    Form {
        signs: &["hooks.slack.com", "/api/webhooks/", "webhook.office.com", "api.telegram.org"],
        pattern: r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/[0-9]+/|webhook\.office\.com/webhookb2/|api\.telegram\.org/bot)([A-Za-z0-9@:/_-]{16,})",
        check: any,
    },
    Form {
        signs: &["sig=", "signature="],
        pattern: r"(?i)[?&](?:sig|(?:x-(?:amz|goog)-)?signature)=([A-Za-z0-9%+/_=-]{16,})",
        check: is_written_out,
    },
    Form {
        signs: &["cookie"],
        pattern: r#"(?i)cookie(?:\\?["'])?\s*:\s*(?:\\?["'])?([^\s"'\\=]+=[^\r\n"'\\]{4,})"#,
        check: is_written_out,
    },
    // What programs take as options.
    Form {
        signs: &["curl"],
        pattern: r#"(?-u:\b)curl\s(?:[^|;&\n]*?\s)?(?:-[A-Za-z]*u|--user|--proxy-user)[\s=]*(?:\\?["'])?[^\s:"'\\/]+:([^\s"'\\]+)"#,
        check: is_written_out,
    },
    Form {
        signs: &["curl"],
        pattern: r#"(?-u:\b)curl\s(?:[^|;&\n]*?\s)?(?:-[A-Za-z]*u|--user|--proxy-user)[\s=]*(?:\\?["'])[^\s:"'\\/]+:([^"'\\]+)(?:\\?["'])"#,
        check: is_written_out,
    },
    Form {
        signs: &["-pass ", "redis-cli"],
        pattern: r#"(?:-pass(?:in|out)?\s+pass:|(?-u:\b)redis-cli\s(?:[^|;&\n]*\s)?-a\s+)(?:\\?["'])?([^\s"'\\]{3,})"#,
        check: is_written_out,
    },
    Form {
        signs: &["login", "mongo", "smbclient", "htpasswd", "openssl"],
        pattern: r#"(?-u:\b)(?:(?:docker|podman|helm|skopeo|buildah)\s(?:[^|;&\n]*\s)?login\s(?:[^|;&\n]*\s)?-p\s*|mongo(?:sh|dump|restore|export|import)?\s(?:[^|;&\n]*\s)?-p\s*|smbclient\s(?:[^|;&\n]*\s)?-U\s*(?:\\?["'])?[^\s%"'\\]+%|htpasswd\s+-[A-Za-z]*b[A-Za-z]*\s+\S+\s+\S+\s+|openssl\s(?:[^|;&\n]*\s)?-k\s+)(?:\\?["'])?([^\s"'\\]{3,})"#,
        check: is_written_out,
    },
    Form {
        signs: &["http", "xh "],
        pattern: r#"(?-u:\b)(?:https?|xhs?)\s(?:[^|;&\n]*\s)?-a\s+(?:\\?["'])?[^\s:"'\\]+:([^\s"'\\]{3,})"#,
        check: is_written_out,
    },
    Form {
        signs: &["curl"],
        pattern: r#"(?-u:\b)curl\s(?:[^|;&\n]*?\s)?(?:-b|--cookie)[\s=]*(?:\\?["'])?[^\s"'\\=]+=([^\s"'\\]{4,})"#,
        check: is_written_out,
    },
    Form {
        signs: &["chpasswd"],
        pattern: r#"["'][^\s:"'\\]+:([^\s"'\\]{3,})\\?["']\s*\|\s*(?:sudo\s+)?chpasswd"#,
        check: is_written_out,
    },
    Form {
        signs: &["login "],
        pattern: r"(?-u:\b)login\s+\S+\s+password\s+([^\s\x22'\\]{3,})",
        check: is_written_out,
    },
    // Joined to its name without a blank, as in connection strings and options.
    Form {
        signs: &["password=", "passwd="],
        pattern: r#"(?i)(?:^|[\s"'?&;-])(?:[a-z0-9]+[_-])*passw(?:or)?d=([^\s"'\\,;&(){}<>\[\]$]{4,})(?:[\s"'\\;&|]|$)"#,
        check: is_no_name,
    },
    // In a list of settings.
    Form {
        signs: &["password:"],
        pattern: r#"(?i)(?:^|[\s"'])(?:[a-z0-9]+[_-])+password:\s+([^\s"'\\#,;(){}<>\[\]$]{4,})(?:\\n|[\s"']|$)"#,
        check: is_no_name,
    },
    Form {
        signs: &["x-api-key", "x-auth-token", "x-auth-key"],
        pattern: r#"(?i)x-(?:api|auth)-(?:key|token)(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?([^\s"'\\]{12,})"#,
        check: is_written_out,
    },
    Form {
        signs: &["token=", "key="],
        pattern: r"(?i)[?&](?:(?:access|auth|refresh|id)_token|token|api_?key|key)=([A-Za-z0-9._~+/-]{16,})",
        check: is_written_out,
    },
    // What is set in an environment, of whatever characters.
    Form {
        signs: &["token=", "secret=", "_key=", "_key:"],
        pattern: r#"(?-u:\b)[A-Z0-9_]*(?:TOKEN|SECRET)=(?:\\?["'])?([^\s"'\\;|()<>]{8,})"#,
        check: is_mixed,
    },
    Form {
        signs: &["_key=", "_key:"],
        pattern: r#"(?-u:\b)[A-Z0-9_]+_KEY(?:=|:\s+)(?:\\?["'])?([A-Za-z0-9+/=_.-]{16,})"#,
        check: is_random,
    },
    // The text of an element.
    Form {
        signs: &["password>", "passwd>", "secret>", "token>", "apikey>"],
        pattern: r"(?i)<[A-Za-z:]*(?:password|passwd|secret|token|apikey)>\s*([^<\s]{4,})\s*</",
        check: is_written_out,
    },
    // In quotes, of whatever characters.
    Form {
        signs: &["secret", "token", "password"],
        pattern: r#"(?i)(?:secret|token|password)[A-Za-z0-9_]{0,20}\s*[:=]\s*\\?["']([^\s"'\\]{16,})\\?["']"#,
        check: is_strong,
    },
    Form {
        signs: &["mysql", "mariadb", "sshpass"],
        pattern: r#"(?-u:\b)(?:(?:mysql[a-z]*|mariadb[a-z-]*)\s(?:[^|;&\n]*\s)?-p|sshpass\s+-p\s*)(?:\\?["'])?([^\s"'\\]{3,})"#,
        check: is_written_out,
    },
    Form {
        signs: &["--pass", "password=", "passwd="],
        pattern: r#"(?:--pass(?:word|wd|phrase)?[\s=]+|(?-u:\b)[A-Z0-9_]*PASSW(?:OR)?D=|[?&](?:password|passwd)=)(?:\\?["']([^\s"'\\,:)}\]][^"'\\\r\n]{3,})\\?["']|(?:\\?["'])?([^\s"'\\,;&(){}<>\[\]-][^\s"'\\,;&(){}<>\[\]]{3,})(?:[\s"'\\;&|]|$))"#,
        check: is_written_out,
    },
    // First in known schemes, whatever it is, so that the scheme stays to be read. What is quoted in it is part of it,
    // if it comes right behind `=` (and is not the end of the text around it).
    Form {
        signs: &["authorization"],
        pattern: concat!(
            r#"(?i)authorization(?:\\*["'`])?\s*[:=]\s*(?:\\*["'`])?(?:"#,
            schemes!(),
            r#")\s+((?:[a-z_-]+=(?:\\?"[^"\\\r\n,:}\]\s][^"\\\r\n]*\\?"|[^\s,"'`\\]+),\s*)+[a-z_-]+=\\?"[^"\\\r\n,:}\]\s][^"\\\r\n]*\\?"|[^"'`\\\r\n]+)"#
        ),
        check: is_no_prose,
    },
    Form {
        signs: &["authorization"],
        pattern: r#"(?i)authorization(?:\\*["'`])?\s*[:=]\s*(?:\\*["'`])?([^"'`\\\r\n]{4,})"#,
        check: is_credential,
    },
    Form {
        signs: &["bearer "],
        pattern: r"(?i)(?-u:\b)bearer\s+([A-Za-z0-9._~+/=-]{8,})",
        check: is_mixed,
    },
    // A JSON member of that very name, or one that ends in it: whatever is in it. Then the same in JSON in JSON, and
    // numbers.
    Form {
        signs: MEMBERS,
        pattern: concat!(r#"(?i)""#, member!(), r#""\s*:\s*"((?:[^"\\]|\\.){4,})"#),
        check: is_written_out,
    },
    Form {
        signs: MEMBERS,
        pattern: concat!(
            r#"(?i)\\""#,
            member!(),
            r#"\\"\s*:\s*\\"((?:[^"\\]|\\\\(?:[^"\\]|\\["\\])){4,})"#
        ),
        check: is_written_out,
    },
    Form {
        signs: MEMBERS,
        pattern: concat!(r#"(?i)""#, member!(), r#"\\*"\s*:\s*([0-9]{6,})(?:[\s,}\]\\]|$)"#),
        check: any,
    },
    // What is called, with `(` behind it, is a function.
    Form {
        signs: &["password", "passwd", "passphrase", "pwd"],
        pattern: r#"(?i)(?:password|passwd|passphrase|(?-u:\b)pwd)[A-Za-z0-9_-]{0,20}(?:\\?["'])?\s*(?:=>|:=|[:=]|\s)\s*(?:\\?["'])?([^\s"'\\,;&(){}<>\[\]]{6,})(?:[\s"'\\,;&){}<>\[\]]|$)"#,
        check: is_mixed,
    },
    // A name goes on with a new word (`token_2`, `authToken`), and `tokenizer` and `author` are others.
    Form {
        signs: &["secret", "token", "key", "credential", "auth"],
        pattern: r#"(?i)(?:secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|credential|auth)(?:s|id|key|code|data|hash|value|string|header)?(?-i:[A-Z0-9_-][A-Za-z0-9_-]{0,19})?(?:\\?["'])?\s*(?:=>|:=|[:=]|\s)\s*(?:\\?["'])?([A-Za-z0-9._~+/=-]{12,})(?:[^A-Za-z0-9._~+/=(-]|$)"#,
        check: is_random,
    },
];

/// The names of schemes of authorization.
pub(super) const SCHEMES: &str = schemes!();
