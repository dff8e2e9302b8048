//! `/api/stats`, and `/api/tools/errors`, `regression` and `resources`: how healthy tools are, in the contract's form.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::Caller;
use toolcrib_ledger::{
    ClearedFigures, ErrorsOfTool, ErrorsReport, RegressionOfTool, RegressionsReport,
    ResourcesOfTool, ResourcesReport, ToolStats,
};

use super::access::AccessRight;
use super::blocking::blocking;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::statistics_source::{RebuiltStats, ReportError, ReportKind};
use crate::reply::ApiError;

/// The operations about the health of tools.
pub(super) fn operations() -> Vec<Operation> {
    let errors = KindPaths {
        kind: ReportKind::Errors,
        all: ("/api/tools/errors", "errors", "Reports the errors of all tools."),
        one: ("/api/tools/errors/{tool}", "tool_errors", "Reports the errors of one tool."),
        one_in_catalogue: ("/api/tools/errors/{catalogue}/{tool}", "tool_errors_by_full_name"),
        clear: ("/api/tools/errors/{tool}/clear", "clear_errors", "Clears the errors of one tool."),
        clear_in_catalogue: (
            "/api/tools/errors/{catalogue}/{tool}/clear",
            "clear_errors_by_full_name",
        ),
    };
    let regression = KindPaths {
        kind: ReportKind::Regression,
        all: ("/api/tools/regression", "regressions", "Reports which tools got worse."),
        one: (
            "/api/tools/regression/{tool}",
            "tool_regression",
            "Reports whether a tool got worse.",
        ),
        one_in_catalogue: (
            "/api/tools/regression/{catalogue}/{tool}",
            "tool_regression_by_full_name",
        ),
        clear: (
            "/api/tools/regression/{tool}/clear",
            "clear_regression",
            "Makes the current figures of one tool its new baseline.",
        ),
        clear_in_catalogue: (
            "/api/tools/regression/{catalogue}/{tool}/clear",
            "clear_regression_by_full_name",
        ),
    };
    let resources = KindPaths {
        kind: ReportKind::Resources,
        all: ("/api/tools/resources", "resources", "Reports what all tools use."),
        one: ("/api/tools/resources/{tool}", "tool_resources", "Reports what one tool uses."),
        one_in_catalogue: (
            "/api/tools/resources/{catalogue}/{tool}",
            "tool_resources_by_full_name",
        ),
        clear: (
            "/api/tools/resources/{tool}/clear",
            "clear_resources",
            "Clears the resource figures of one tool.",
        ),
        clear_in_catalogue: (
            "/api/tools/resources/{catalogue}/{tool}/clear",
            "clear_resources_by_full_name",
        ),
    };
    let stats = Operation::get("/api/stats", "stats", figures)
        .about(AccessRight::Inspect, "Returns the figures of every tool that was called.")
        .replies::<StatsReply>();
    let mut all = errors.operations::<ErrorsReport, ErrorsOfTool>();
    all.extend(regression.operations::<RegressionsReport, RegressionOfTool>());
    all.extend(resources.operations::<ResourcesReport, ResourcesOfTool>());
    all.push(stats);
    all.push(
        Operation::post("/api/stats/rebuild", "rebuild_stats", rebuild)
            .about(AccessRight::Administer, "Computes all figures again from the record.")
            .replies::<RebuiltReply>(),
    );
    all
}

/// The figures of all tools.
#[derive(Serialize, JsonSchema)]
struct StatsReply {
    ok: bool,
    tools: Vec<ToolStats>,
}

/// The figures were computed again.
#[derive(Serialize, JsonSchema)]
struct RebuiltReply {
    ok: bool,
    #[serde(flatten)]
    rebuilt: RebuiltStats,
}

/// The paths of one kind of report, each with the name of its operation and what it does.
struct KindPaths {
    kind: ReportKind,
    all: (&'static str, &'static str, &'static str),
    one: (&'static str, &'static str, &'static str),
    one_in_catalogue: (&'static str, &'static str),
    clear: (&'static str, &'static str, &'static str),
    clear_in_catalogue: (&'static str, &'static str),
}

impl KindPaths {
    fn operations<All: JsonSchema, One: JsonSchema>(&self) -> Vec<Operation> {
        let kind = self.kind;
        let of_one = |operation: Operation, about: &'static str| {
            operation
                .about(AccessRight::Inspect, about)
                .replies::<One>()
                .fails(StatusCode::NOT_FOUND, "There is no such tool, or it was never called.")
        };
        let of_clear = |operation: Operation| {
            operation
                .about(AccessRight::Administer, self.clear.2)
                .replies::<ClearedFigures>()
                .fails(StatusCode::NOT_FOUND, "There is no such tool, or it was never called.")
        };
        let all = move |State(api): State<Arc<Api>>| report(api, kind, None);
        let one = move |State(api): State<Arc<Api>>, Path(tool): Path<String>| {
            report(api, kind, Some(tool))
        };
        let one_in_catalogue = move |State(api): State<Arc<Api>>, Path(name): FullName| {
            report(api, kind, Some(format!("{}/{}", name.0, name.1)))
        };
        let clear_one = move |State(api): State<Arc<Api>>, caller: By, Path(tool): Path<String>| {
            clear(api, kind, caller, tool)
        };
        let clear_in_catalogue =
            move |State(api): State<Arc<Api>>, caller: By, Path(name): FullName| {
                clear(api, kind, caller, format!("{}/{}", name.0, name.1))
            };
        vec![
            Operation::get(self.all.0, self.all.1, all)
                .about(AccessRight::Inspect, self.all.2)
                .replies::<All>(),
            of_one(Operation::get(self.one.0, self.one.1, one), self.one.2),
            of_one(
                Operation::get(self.one_in_catalogue.0, self.one_in_catalogue.1, one_in_catalogue),
                self.one.2,
            ),
            of_clear(Operation::post(self.clear.0, self.clear.1, clear_one)),
            of_clear(Operation::post(
                self.clear_in_catalogue.0,
                self.clear_in_catalogue.1,
                clear_in_catalogue,
            )),
        ]
    }
}

type By = Extension<Caller>;
type FullName = Path<(String, String)>;

async fn report(api: Arc<Api>, kind: ReportKind, tool: Option<String>) -> Reply {
    reply(blocking(move || api.ports.statistics.report(kind, tool.as_deref())).await?)
}

async fn clear(api: Arc<Api>, kind: ReportKind, caller: By, tool: String) -> Reply {
    reply(blocking(move || api.ports.statistics.clear(kind, &tool, &caller.principal)).await?)
}

async fn figures(State(api): State<Arc<Api>>) -> Reply {
    let tools = blocking(move || api.ports.statistics.all()).await?;
    reply(tools.map(|tools| StatsReply { ok: true, tools }))
}

async fn rebuild(State(api): State<Arc<Api>>) -> Reply {
    let rebuilt = blocking(move || api.ports.statistics.rebuild()).await?;
    reply(rebuilt.map(|rebuilt| RebuiltReply { ok: true, rebuilt }))
}

fn reply(report: Result<impl Serialize, ReportError>) -> Reply {
    JsonReply::ok(&report.map_err(report_error)?)
}

/// Says why there is no report.
pub(super) fn report_error(err: ReportError) -> ApiError {
    let status = match err {
        ReportError::NotFound(_) | ReportError::NeverCalled(_) => StatusCode::NOT_FOUND,
        ReportError::Ambiguous(_) => StatusCode::BAD_REQUEST,
        ReportError::Unreadable(message) => return ApiError::unavailable(message),
    };
    ApiError::new(status, err.code(), err.message())
}
