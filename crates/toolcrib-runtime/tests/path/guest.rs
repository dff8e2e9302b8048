//! The tools that misbehave, as loaded ones.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    AnyTool, Catalogue, Ctx, Declared, LoadedTool, LoadedTools, Permit, Plan, Prepared, Shelf,
    ShelvedTool, ToolError, ToolHandle, ToolKind,
};

use crate::harness::{COMPILED, TOOLS, Wild, catalogue};

static GUEST: Catalogue = catalogue("guest", &[]);

/// A tool that does what a compiled one does, and can leave again.
pub(crate) struct Guest {
    tool: &'static Wild,
    version: String,
}

impl LoadedTool for Guest {
    fn kind(&self) -> ToolKind {
        ToolKind::Module
    }

    fn declaration(&self) -> Declared<'_> {
        self.tool.0.declared()
    }
    fn schema(&self) -> Value {
        AnyTool::schema(self.tool)
    }
    fn version(&self) -> &str {
        &self.version
    }
    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        let prepared = self.tool.parse(args)?;
        Ok(Box::new(GuestCall { guest: self, prepared }))
    }
}

/// A call that adds the version which answers it to its reply.
struct GuestCall {
    guest: Arc<Guest>,
    prepared: Box<dyn Prepared>,
}

impl Prepared for GuestCall {
    fn check(&self, ctx: &Ctx) -> Result<Plan, ToolError> {
        self.prepared.check(ctx)
    }
    fn run(self: Box<Self>, permit: Permit, ctx: Ctx) -> ReplyFuture {
        Box::pin(async move {
            let mut reply = self.prepared.run(permit, ctx).await?;
            if let Some(reply) = reply.as_object_mut() {
                reply.insert("version".to_owned(), json!(self.guest.version));
            }
            Ok(reply)
        })
    }
}

/// Returns a shelf with the compiled tools, and with all of them once more as loaded ones of a version.
pub(crate) fn shelf(version: &str) -> Shelf {
    let guests = TOOLS.iter().map(|tool| ShelvedTool {
        catalogue: &GUEST,
        tool: ToolHandle::Loaded(Arc::new(Guest { tool, version: version.to_owned() })),
    });
    let loaded = LoadedTools { catalogues: vec![&GUEST], tools: guests.collect() };
    Shelf::from(COMPILED).with(loaded).unwrap()
}
