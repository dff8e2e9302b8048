//! `validate_output`: checks an output against the schema of its type.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::nearest::each;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

pub(crate) struct ValidateOutput;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Args {
    /// Type of the output, such as `domain_map`
    output_type: String,
    /// The output to validate
    // Outputs are objects. A schema without a type is one that some clients reject or drop. A registered type can still
    // be something else, so any value is parsed.
    #[schemars(with = "serde_json::Map<String, Value>")]
    data: Value,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    valid: bool,
    errors: Vec<String>,
    warnings: Vec<String>,
}

/// The most errors that are listed.
const MOST_LISTED_ERRORS: usize = 50;

static DECLARATION: Declaration = Declaration {
    name: "validate_output",
    summary: "Validate an output against its type: `domain_map`, or a type that the operator has \
              registered. Returns: {valid, errors[], warnings[]}",
    tier: Tier::Safe,
    effect: Effect::Compute,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "A domain map without domains is invalid.",
            files: &[],
            before: &[],
            args: r#"{"outputType": "domain_map", "data": {"domains": [], "layout": {}, "summary": {}}}"#,
            reply: r#"{"valid": false, "errors": ["Missing 'domains' array"], "warnings": []}"#,
            leaves: &[],
        },
        Example {
            about: "Validate a domain map.",
            files: &[],
            before: &[],
            args: r#"{"outputType": "domain_map", "data": {
                "domains": [{"name": "Auth", "weight": 1, "evidence": ["src/auth.ts", "src/login.ts"]}],
                "summary": {"totalDomains": 1}}}"#,
            reply: r#"{"valid": true, "errors": [], "warnings": []}"#,
            leaves: &[],
        },
        Example {
            about: "An unknown type is an error that lists the known ones.",
            files: &[],
            before: &[],
            args: r#"{"outputType": "poem", "data": {}}"#,
            reply: r#"{"error": "Unknown output type: poem; the known types are `domain_map`"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for ValidateOutput {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let registered = &ctx.settings.output_types;
        if args.output_type == "domain_map" || registered.contains_key(&args.output_type) {
            return Ok(Plan::default());
        }
        let mut known = vec!["domain_map"];
        known.extend(registered.keys().map(String::as_str));
        let shown: String = args.output_type.chars().take(100).collect();
        let message = format!("Unknown output type: {shown}; the known types are {}", each(&known));
        Err(ToolError::new(ErrorKind::BadArgs, message))
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let (errors, warnings) = match ctx.settings.output_types.get(&args.output_type) {
            Some(schema) => (against(schema, &args)?, Vec::new()),
            None => domain_map(&args.data),
        };
        Ok(Reply { valid: errors.is_empty(), errors, warnings })
    }
}

/// Returns the errors that an output has by its registered schema.
fn against(schema: &Value, args: &Args) -> Result<Vec<String>, ToolError> {
    let validator = jsonschema::validator_for(schema).map_err(|err| {
        let message = format!("the registered schema of `{}` is invalid: {err}", args.output_type);
        ToolError::new(ErrorKind::Failed, message)
            .hint("ask the operator to correct the setting `hikai.output_types`")
    })?;
    let errors = validator.iter_errors(&args.data).take(MOST_LISTED_ERRORS);
    Ok(errors
        .map(|error| format!("{}: {error}", place(&error.instance_path().to_string())))
        .collect())
}

/// Returns a JSON pointer for an error message; the empty pointer is the whole output.
fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "output" } else { pointer }
}

/// Returns the errors and warnings of a domain map.
fn domain_map(data: &Value) -> (Vec<String>, Vec<String>) {
    let (mut errors, mut warnings) = (Vec::new(), Vec::new());
    let domains = data["domains"].as_array().filter(|domains| !domains.is_empty());
    let Some(domains) = domains else {
        // Without domains there is nothing else to check.
        return (vec!["Missing 'domains' array".to_owned()], warnings);
    };
    for (index, domain) in domains.iter().enumerate().take(MOST_LISTED_ERRORS) {
        if domain["name"].as_str().is_none_or(|name| name.trim().is_empty()) {
            errors.push(format!("Domain {index}: missing 'name'"));
        }
        if domain["weight"].as_f64().is_none_or(|weight| !(0.0..=1.0).contains(&weight)) {
            errors.push(format!("Domain {index}: 'weight' must be a number from 0 to 1"));
        }
        match domain["evidence"].as_array().map(Vec::len) {
            None | Some(0) => errors.push(format!("Domain {index}: missing 'evidence' array")),
            Some(1) => warnings.push(format!("Domain {index}: only one piece of evidence")),
            Some(_) => {}
        }
    }
    match data["summary"]["totalDomains"].as_u64() {
        None => errors.push("Missing 'summary.totalDomains'".to_owned()),
        Some(total) if total != domains.len() as u64 => warnings.push(format!(
            "'summary.totalDomains' is {total}, but there are {} domains",
            domains.len()
        )),
        Some(_) => {}
    }
    (errors, warnings)
}
