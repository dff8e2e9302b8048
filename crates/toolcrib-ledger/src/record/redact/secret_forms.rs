//! The forms of secrets: how keys, tokens and passwords are written.

use regex::Regex;

use crate::record::redact::secret_checks::{
    is_anything, is_credential, is_credential_text, is_mailbox, is_mixed, is_password, is_random,
    is_setting, is_strong, is_token, is_userinfo, is_written_out, schemes,
};

/// One form of a secret.
pub(super) struct Form {
    /// Texts in lower case, of one byte or of three and more. A text that contains none of them has no secret of this
    /// form.
    pub(super) signs: &'static [&'static str],
    /// A regular expression. The secret is the first group that matched, or the whole match if there is no group.
    pub(super) pattern: &'static str,
    /// Decides whether what matched is a secret.
    pub(super) check: fn(&str) -> bool,
}

/// The beginning of a word.
const WORD: &str = r"(?-u:\b)";

/// The beginning of a word, also behind a line break or a tab as JSON writes them: the letter there is no part of the
/// word.
const WORD_IN_JSON: &str = r"(?:\\[nrtbf]|(?-u:\b))";

impl Form {
    /// Compiles the pattern so that it matches in plain text and in JSON.
    pub(super) fn compile(&self) -> Result<Regex, regex::Error> {
        let plain = Regex::new(self.pattern)?;
        let Some(rest) = self.pattern.strip_prefix(WORD) else { return Ok(plain) };
        // Without a group, the secret would begin with the backslash.
        let has_group = plain.captures_len() > 1;
        let secret = if has_group { rest.to_owned() } else { format!("({rest})") };
        Regex::new(&format!("{WORD_IN_JSON}{secret}"))
    }
}

/// The names of JSON members that hold secrets, and the endings of such names.
macro_rules! member {
    () => {
        "(?:[a-z0-9_.-]*[_.-])?(?:(?-i:[a-z0-9]*Password)|password|passwd|passphrase|pass|secret|token|api[_-]?key|(?:access|auth|refresh|id|session)[_-]?token|client[_-]?secret|(?:access|secret|private)[_-]?key)"
    };
}

/// Texts of which one occurs in the name of every JSON member that holds a secret.
const MEMBERS: &[&str] = &["pass", "secret", "token", "key"];

/// All forms.
pub(super) const FORMS: &[Form] = &[
    Form {
        signs: &["akia", "asia", "abia", "acca"],
        pattern: r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)",
        check: is_anything,
    },
    Form {
        signs: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        pattern: r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
        check: is_anything,
    },
    Form { signs: &["glpat-"], pattern: r"(?-u:\b)glpat-[A-Za-z0-9_-]{20,}", check: is_anything },
    Form { signs: &["sk-"], pattern: r"(?-u:\b)sk-[A-Za-z0-9_-]{16,}", check: is_token },
    Form {
        signs: &["sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"],
        pattern: r"(?-u:\b)(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9]{16,}",
        check: is_anything,
    },
    Form {
        signs: &["xox"],
        pattern: r"(?-u:\b)xox[abeoprs]-[A-Za-z0-9-]{10,}",
        check: is_anything,
    },
    Form { signs: &["aiza"], pattern: r"(?-u:\b)AIza[A-Za-z0-9_-]{35}", check: is_anything },
    Form { signs: &["ya29."], pattern: r"(?-u:\b)ya29\.[A-Za-z0-9_-]{20,}", check: is_anything },
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
        check: is_anything,
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
        check: is_anything,
    },
    Form {
        signs: &["eyj"],
        pattern: r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.(?:[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*|eyJ[A-Za-z0-9_-]{8,})",
        check: is_anything,
    },
    Form {
        signs: &["private key"],
        // The key goes up to its end mark, or to a character that no key has, because the text around it goes on.
        pattern: r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----((?:[A-Za-z0-9+/=:,.\s-]|\\+[nrt]){8,}?)(?:-----END|[^A-Za-z0-9+/=:,.\s\\-]|$)",
        check: is_anything,
    },
    // The password goes up to the last `@`, because passwords can contain `@` and slashes.
    Form { signs: &["://"], pattern: r#"://[^\s/?#"'\\@:\[]*:([^\s"'\\]+)@"#, check: is_userinfo },
    Form {
        signs: &["://"],
        pattern: r#"://([^\s/?#"'\\@:]{20,})(?::[^\s/?#"'\\@]*)?@"#,
        check: is_random,
    },
    // URLs that are secrets themselves.
    Form {
        signs: &["hooks.slack.com", "/api/webhooks/", "webhook.office.com", "api.telegram.org"],
        pattern: r"(?i)(?:hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/[0-9]+/|webhook\.office\.com/webhookb2/|api\.telegram\.org/bot)([A-Za-z0-9@:/_-]{16,})",
        check: is_anything,
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
    // Passwords in the options of programs.
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
    // A password joined to its name without a blank, as in connection strings and options.
    Form {
        signs: &["password=", "passwd="],
        pattern: r#"(?i)(?:^|[\s"'?&;-])(?:[a-z0-9]+[_-])*passw(?:or)?d=([^\s"'\\,;&(){}<>\[\]$]{4,})(?:[\s"'\\;&|]|$)"#,
        check: is_password,
    },
    // A variable whose name ends in a short word for a password.
    Form {
        signs: &["_pass=", "_pwd=", "_pat="],
        pattern: r#"(?-u:\b)(?:[A-Z0-9]+_)+(?:PASS|PWD|PAT)=(?:\\?["'])?([^\s"'\\,;&|(){}<>\[\]]{4,})"#,
        check: is_setting,
    },
    Form {
        signs: &["pass="],
        pattern: r#"(?i)(?:^|[\s"'?&;])(?:[a-z0-9]+[_-])*pass=(?:\\?["'])?([^\s"'\\,;&|(){}<>\[\]]{6,})"#,
        check: is_mixed,
    },
    // The local part of an e-mail address, which names a person. Names of files and services that look like an address
    // are matched first, as a whole, so that the check can tell them.
    Form {
        signs: &["@"],
        pattern: r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.(?:css|gif|git|gz|html|jpe?g|js|json|md|png|service|socket|svg|tgz|timer|toml|ts|webp|xml|ya?ml|zip)(?:[^A-Za-z0-9.-]|$)|(?:\\[nrtbf]|(?-u:\b))([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})@(?:(?:[A-Za-z][A-Za-z0-9-]*|[0-9][A-Za-z-]{2,}[A-Za-z0-9-]*)\.(?:[A-Za-z0-9-]+\.)*|[0-9]{2,}\.)[A-Za-z]{2,24}(?-u:\b)",
        check: is_mailbox,
    },
    // A password in a list of settings.
    Form {
        signs: &["password:"],
        pattern: r#"(?i)(?:^|[\s"'])(?:[a-z0-9]+[_-])+password:\s+([^\s"'\\#,;(){}<>\[\]$]{4,})(?:\\n|[\s"']|$)"#,
        check: is_password,
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
    // A variable that is set in an environment, with any characters in its value.
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
    // The text of an XML element.
    Form {
        signs: &["password>", "passwd>", "secret>", "token>", "apikey>"],
        pattern: r"(?i)<[A-Za-z:]*(?:password|passwd|secret|token|apikey)>\s*([^<\s\x22\\]{4,})\s*</",
        check: is_written_out,
    },
    // A secret in quotes, with any characters.
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
    // Known schemes come first and match any credential, so that the scheme stays readable. A quoted part belongs to
    // the credential if it follows `=` directly (and is not the end of the text around it).
    Form {
        signs: &["authorization"],
        pattern: concat!(
            r#"(?i)authorization(?:\\*["'`])?\s*[:=]\s*(?:\\*["'`])?(?:"#,
            schemes!(),
            r#")\s+((?:[a-z_-]+=(?:\\?"[^"\\\r\n,:}\]\s][^"\\\r\n]*\\?"|[^\s,"'`\\]+),\s*)+[a-z_-]+=\\?"[^"\\\r\n,:}\]\s][^"\\\r\n]*\\?"|[^"'`\\\r\n]+)"#
        ),
        check: is_credential_text,
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
    // A JSON member with such a name, or with a name that ends in it, whatever its value is. Then the same for JSON
    // within JSON, and for numbers.
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
        check: is_anything,
    },
    // A name followed by `(` is a function.
    Form {
        signs: &["password", "passwd", "passphrase", "pwd"],
        pattern: r#"(?i)(?:password|passwd|passphrase|(?-u:\b)pwd)[A-Za-z0-9_-]{0,20}(?:\\?["'])?\s*(?:=>|:=|[:=]|\s)\s*(?:\\?["'])?([^\s"'\\,;&(){}<>\[\]]{6,})(?:[\s"'\\,;&){}<>\[\]]|$)"#,
        check: is_mixed,
    },
    // A name may continue with a new word (`token_2`, `authToken`). `tokenizer` and `author` are other words.
    Form {
        signs: &["secret", "token", "key", "credential", "auth"],
        pattern: r#"(?i)(?:secret|token|api[_-]?key|access[_-]?key|private[_-]?key|account[_-]?key|credential|auth)(?:s|id|key|code|data|hash|value|string|header)?(?-i:[A-Z0-9_-][A-Za-z0-9_-]{0,19})?(?:\\?["'])?\s*(?:=>|:=|[:=]|\s)\s*(?:\\?["'])?([A-Za-z0-9._~+/=-]{12,})(?:[^A-Za-z0-9._~+/=(-]|$)"#,
        check: is_random,
    },
];
