//! A text that is longer than a reply has room for: its beginning is shown, and all of it is kept.

use toolcrib_core::Ctx;

/// Cuts a text to `room` bytes and keeps all of it. Returns a sentence about that; nothing if nothing was cut.
pub(crate) fn shorten(ctx: &Ctx, text: &mut String, room: usize) -> Option<String> {
    let (all, id) = (text.len(), &ctx.call.0);
    if all <= room {
        return None;
    }
    let rest = if ctx.commands.save_reply(id, text) {
        format!("read the rest with `toolcrib output {id}`")
    } else {
        "the rest could not be kept".to_owned()
    };
    let end = text.floor_char_boundary(room);
    // A line is not cut in its middle, if it has an end nearby.
    let end = text[..end].rfind('\n').filter(|at| *at > end / 2).unwrap_or(end);
    text.truncate(end);
    Some(format!("the text is cut: {end} of its {all} bytes are here; {rest}"))
}
