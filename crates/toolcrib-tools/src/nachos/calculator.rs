//! `calculator`: evaluates an arithmetic expression.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::arithmetic::evaluate;

pub(crate) struct Calculator;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// Mathematical expression to evaluate
    #[schemars(example = "2 + 2", example = "10 * (5 + 3)")]
    expression: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    expression: String,
    #[schemars(with = "f64")]
    answer: Value,
}

static DECLARATION: Declaration = Declaration {
    name: "calculator",
    summary: "Perform arithmetic calculations. An expression has numbers, + - * / % ^ and parentheses. Returns: {success, \
              result{expression, answer}, metadata{duration}}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Decimal fractions are exact.",
            files: &[],
            before: &[],
            args: r#"{"expression": "0.1 + 0.2"}"#,
            reply: r#"{"success": true, "result": {"expression": "0.1 + 0.2", "answer": 0.3},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "The arguments may include the ids of the session and the call.",
            files: &[],
            before: &[],
            args: r#"{"sessionId": "test", "callId": "test", "expression": "10 * 5"}"#,
            reply: r#"{"success": true, "result": {"expression": "10 * 5", "answer": 50},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "Only numbers and operators are allowed.",
            files: &[],
            before: &[],
            args: r#"{"expression": "evil()"}"#,
            reply: r#"{"success": false, "error": {"code": "VALIDATION_ERROR",
                "message": "expression must contain only numbers and operators",
                "details": {"kind": "bad_args"}}, "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "The expression must be a string.",
            files: &[],
            before: &[],
            args: r#"{"expression": 5}"#,
            reply: r#"{"success": false, "error": {"code": "VALIDATION_ERROR",
                "message": "expression must be a string",
                "details": {"kind": "bad_args",
                    "reason": "`expression` must be a string, not the number 5"}},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
        Example {
            about: "An expression without a value is an error.",
            files: &[],
            before: &[],
            args: r#"{"expression": "1 / 0"}"#,
            reply: r#"{"success": false, "error": {"code": "EXECUTION_ERROR",
                "message": "division by zero", "details": {"kind": "failed"}},
                "metadata": {"duration": 0}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for Calculator {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, _: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let known = |c: char| c.is_ascii_digit() || ". +-*/%^()".contains(c);
        let what = if args.expression.is_empty() {
            "expression must be a string"
        } else if !args.expression.chars().all(known) {
            "expression must contain only numbers and operators"
        } else {
            return Ok(Plan::default());
        };
        Err(ToolError::new(ErrorKind::BadArgs, what))
    }

    async fn run(&self, _: &Ctx, args: Args) -> Result<Reply, ToolError> {
        match evaluate(&args.expression) {
            Ok(answer) => Ok(Reply { expression: args.expression, answer }),
            Err(err) => Err(ToolError::new(ErrorKind::Failed, err.to_string())),
        }
    }
}
