//! A message as the line that a client reads. A reply of one plain text is written here, and not by the SDK, which is
//! faster if it is long; the line is the same, byte for byte.

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, JsonRpcMessage, JsonRpcResponse, ServerResult};
use rmcp::service::TxJsonRpcMessage;
use toolcrib_core::json_text::{push_string, push_value};

/// Returns the line of a message, with its newline.
pub(super) fn message_line(message: &TxJsonRpcMessage<RoleServer>) -> serde_json::Result<Vec<u8>> {
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::CallToolResult(result) = &response.result
        && let [ContentBlock::Text(text)] = result.content.as_slice()
        && text.meta.is_none()
        && text.annotations.is_none()
    {
        return call_line(response, result, &text.text);
    }
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Returns the line of a reply to a call that is one text.
fn call_line(
    response: &JsonRpcResponse<ServerResult>,
    result: &CallToolResult,
    text: &str,
) -> serde_json::Result<Vec<u8>> {
    // The structured content is about as long as the text. More room would be taken while the line waits for its client.
    let mut line = String::with_capacity(2 * text.len() + text.len() / 4 + 512);
    line.push_str(r#"{"jsonrpc":"2.0","id":"#);
    line.push_str(&serde_json::to_string(&response.id)?);
    line.push_str(r#","result":{"#);
    if let Some(kind) = &result.result_type {
        line.push_str(r#""resultType":"#);
        push_string(&mut line, kind.as_str());
        line.push(',');
    }
    line.push_str(r#""content":[{"type":"text","text":"#);
    push_string(&mut line, text);
    line.push_str("}]");
    if let Some(content) = &result.structured_content {
        line.push_str(r#","structuredContent":"#);
        push_value(&mut line, content);
    }
    match result.is_error {
        Some(true) => line.push_str(r#","isError":true"#),
        Some(false) => line.push_str(r#","isError":false"#),
        None => {}
    }
    if let Some(meta) = &result.meta {
        line.push_str(r#","_meta":"#);
        line.push_str(&serde_json::to_string(meta)?);
    }
    line.push_str("}}\n");
    Ok(line.into_bytes())
}

#[cfg(test)]
mod tests {
    use rmcp::model::{Annotations, RequestId, TextContent};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_is_written_as_the_sdk_writes_it() {
        let text = |text: &str| ContentBlock::text(text);
        let with_data = |mut result: CallToolResult| {
            result.structured_content = Some(json!({"b": ["\"", 1.5, null], "a": {"é\n": true}}));
            result.meta = serde_json::from_value(json!({"dev.toolcrib/call": "1"})).unwrap();
            result
        };
        let without_type = |mut result: CallToolResult| {
            result.result_type = None;
            result.is_error = None;
            result
        };
        let mut annotated = TextContent::new("annotated");
        annotated.annotations = Some(Annotations::default());
        let results = [
            CallToolResult::success(vec![text("one\n\"two\"\\ \u{1} 文")]),
            CallToolResult::error(vec![text("")]),
            with_data(CallToolResult::success(vec![text("x")])),
            with_data(CallToolResult::error(vec![text("x")])),
            without_type(with_data(CallToolResult::success(vec![text("x")]))),
            CallToolResult::success(vec![]),
            CallToolResult::success(vec![text("one"), text("two")]),
            CallToolResult::success(vec![ContentBlock::Text(annotated)]),
        ];
        for result in results {
            for id in [RequestId::Number(7), RequestId::String("a\"b".into())] {
                let message = TxJsonRpcMessage::<RoleServer>::response(result.clone().into(), id);
                let expected = format!("{}\n", serde_json::to_string(&message).unwrap());
                let line = String::from_utf8(message_line(&message).unwrap()).unwrap();
                assert_eq!(line, expected);
            }
        }
    }
}
