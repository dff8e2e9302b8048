//! Every example of every tool, run through the real binary on real files.

use crate::scratch::{Scratch, assert_reply};
use toolcrib_tools::CATALOGUES;

#[test]
fn every_example_holds() {
    let mut count = 0;
    for catalogue in CATALOGUES {
        for tool in catalogue.tools {
            let declaration = tool.declaration();
            for example in declaration.examples {
                let name = format!("{}/{}", catalogue.name, declaration.name);
                let what = format!("{name}: {}", example.about);
                let scratch = Scratch::new();
                for (path, content) in example.files {
                    scratch.put(path, content);
                }
                let got = scratch.call(&name, example.args).json();
                assert_reply(got, serde_json::from_str(example.reply).unwrap(), &what);
                for (name, content) in example.leaves {
                    let path = scratch.work().join(name);
                    if name.ends_with('/') {
                        assert!(path.is_dir(), "{what}: {}", path.display());
                    } else {
                        let found = std::fs::read_to_string(&path).unwrap();
                        assert_eq!(found, *content, "{what}: {}", path.display());
                    }
                }
                count += 1;
            }
        }
    }
    assert!(count > 40, "only {count} examples");
}
