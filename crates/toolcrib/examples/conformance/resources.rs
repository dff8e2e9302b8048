//! The resources that the suite expects.

use toolcrib_core::material::{CatalogueResource, ResourceContent};

use crate::content_tools::PICTURE;

pub(crate) static RESOURCES: [CatalogueResource; 5] = [
    CatalogueResource {
        uri: "test://static-text",
        name: "static_text",
        about: "A text that stays the same",
        kind: "text/plain",
        content: |_| ResourceContent::Text("This is the content of the static text.".to_owned()),
    },
    CatalogueResource {
        uri: "test://static-binary",
        name: "static_binary",
        about: "A picture that stays the same",
        kind: "image/png",
        content: |_| ResourceContent::Base64(PICTURE.to_owned()),
    },
    CatalogueResource {
        uri: "test://example-resource",
        name: "example",
        about: "A text for prompts",
        kind: "text/plain",
        content: |_| ResourceContent::Text("An example.".to_owned()),
    },
    CatalogueResource {
        uri: "test://watched-resource",
        name: "watched",
        about: "A text that clients subscribe to",
        kind: "text/plain",
        content: |_| ResourceContent::Text("It is watched.".to_owned()),
    },
    CatalogueResource {
        uri: "test://template/{id}/data",
        name: "template",
        about: "A text for each id",
        kind: "application/json",
        content: |id| {
            ResourceContent::Text(serde_json::json!({"id": id, "templateTest": true}).to_string())
        },
    },
];
