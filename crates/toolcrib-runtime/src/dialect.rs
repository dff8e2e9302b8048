//! Declarations as model providers want them: one pure function for each wire format.

use serde_json::{Map, Value, json};
use toolcrib_core::Effect;
use toolcrib_core::toolset::Offer;

/// The wire formats that tools can be declared in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Function calling of `OpenAI`'s chat API.
    OpenAi,
    /// Tool use of Anthropic's messages API.
    Anthropic,
    /// Function declarations of the Gemini API.
    Gemini,
    /// `tools/list` of the Model Context Protocol.
    Mcp,
}

/// What tools are called in a declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// By their own names, which then must differ.
    Plain,
    /// With their catalogue before it: `wink__read_file`. Calls by that name are understood.
    Full,
}

impl Names {
    fn of(self, offer: &Offer) -> String {
        match self {
            Self::Plain => offer.full_name().tool().to_owned(),
            Self::Full => offer.full_name().without_slash(),
        }
    }
}

/// Declares tools in a dialect, as the value that goes into the request's `tools`.
pub fn declare(dialect: Dialect, names: Names, offers: &[Offer]) -> Value {
    let each = |declare: fn(&Offer, String) -> Value| -> Value {
        offers.iter().map(|offer| declare(offer, names.of(offer))).collect()
    };
    match dialect {
        Dialect::OpenAi => each(openai),
        Dialect::Anthropic => each(anthropic),
        Dialect::Gemini => json!([{"functionDeclarations": each(gemini)}]),
        Dialect::Mcp => json!({"tools": each(mcp)}),
    }
}

fn openai(offer: &Offer, name: String) -> Value {
    openai_function(&name, offer.tool.declaration().summary, offer.tool.schema())
}

/// Declares a function for `OpenAI`'s chat API.
pub fn openai_function(name: &str, summary: &str, mut schema: Value) -> Value {
    without(&mut schema, &["default", "examples"]);
    json!({
        "type": "function",
        "function": {
            "name": name,
            "description": summary,
            "parameters": schema,
        },
    })
}

fn anthropic(offer: &Offer, name: String) -> Value {
    let declaration = offer.tool.declaration();
    json!({
        "name": name,
        "description": declaration.summary,
        "input_schema": offer.tool.schema(),
    })
}

fn gemini(offer: &Offer, name: String) -> Value {
    let declaration = offer.tool.declaration();
    let mut schema = offer.tool.schema();
    without(&mut schema, &["default", "examples", "additionalProperties"]);
    typed(&mut schema);
    let mut function = Map::new();
    function.insert("name".to_owned(), name.into());
    function.insert("description".to_owned(), declaration.summary.into());
    // An object without properties is refused there: a tool without arguments has no parameters.
    if schema["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
        function.insert("parameters".to_owned(), schema);
    }
    Value::Object(function)
}

fn mcp(offer: &Offer, name: String) -> Value {
    let declaration = offer.tool.declaration();
    let is_write = declaration.effect == Effect::Write;
    let mut declared = json!({
        "name": name,
        "title": declaration.title(),
        "description": declaration.summary,
        "inputSchema": offer.tool.schema(),
        "annotations": {
            "readOnlyHint": !is_write,
            "destructiveHint": is_write,
            "openWorldHint": false,
        },
    });
    if let Some(schema) = object_schema((offer.catalogue.view.schema)(offer.tool.reply_schema())) {
        declared["outputSchema"] = schema;
    }
    declared
}

/// Returns the schema of a reply if the reply is always an object: MCP knows no others.
fn object_schema(mut schema: Value) -> Option<Value> {
    let is_object = |schema: &Value| schema["type"] == "object";
    let has_object_forms = schema["anyOf"]
        .as_array()
        .is_some_and(|forms| !forms.is_empty() && forms.iter().all(is_object));
    if has_object_forms {
        schema["type"] = "object".into();
    }
    is_object(&schema).then_some(schema)
}

/// Removes keywords that a provider's strict mode does not know, wherever a schema stands.
fn without(schema: &mut Value, keywords: &[&str]) {
    let Value::Object(object) = schema else { return };
    for keyword in keywords {
        object.remove(*keyword);
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(|property| without(property, keywords));
    }
    if let Some(items) = object.get_mut("items") {
        without(items, keywords);
    }
}

/// Gives every argument a type: one that may be anything is an object there.
fn typed(schema: &mut Value) {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut().filter_map(Value::as_object_mut) {
            property.entry("type").or_insert_with(|| "object".into());
        }
    }
}
