//! An index from disk: as true as a new one, whatever happened meanwhile.

use std::fs;
use std::time::Duration;

use toolcrib_search::Phase;

use crate::ask::{any_question, check, check_names};
use crate::chance::Chance;
use crate::ground::{Field, ROOMY};
use crate::wild;

/// Makes a field with a kept index of a tree that is old enough for its stamps to be trusted.
fn kept(chance: &mut Chance) -> Field {
    let field = Field::new(ROOMY);
    let root = field.root();
    for number in 0..400 {
        let folder = root.join(format!("d{}", number % 20));
        fs::create_dir_all(&folder).unwrap();
        wild::put(&folder.join(format!("f{number}")), &wild::text(chance));
    }
    crate::rg::give_all(&root);
    // Files that changed in the last two seconds are read again whatever their stamps say.
    std::thread::sleep(Duration::from_millis(2100));
    field.settle();
    let start = std::time::Instant::now();
    while field.index.statuses()[0].1.saving.saved_bytes == 0 {
        assert!(start.elapsed() < Duration::from_mins(1), "never kept");
        std::thread::sleep(Duration::from_millis(2));
    }
    field
}

#[test]
fn what_changed_while_nobody_watched_is_seen() {
    let mut chance = Chance::new(7);
    let mut field = kept(&mut chance);
    let root = field.root();
    field.restart(ROOMY);
    let status = field.settle();
    assert!(status.progress.to_do < 100, "the kept index was not used: {status:?}");
    // Nobody watches now.
    field.index = toolcrib_search::Engine::new(Vec::new());
    let edited = root.join("d1/f1");
    let before = fs::metadata(&edited).unwrap();
    let mut content = fs::read(&edited).unwrap();
    content.iter_mut().take(5).for_each(|byte| *byte = b'q');
    fs::write(&edited, content).unwrap();
    // Same size, same time of change: only the kernel's own stamp tells.
    let file = fs::File::options().write(true).open(&edited).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    fs::remove_file(root.join("d2/f2")).unwrap();
    fs::rename(root.join("d3"), root.join("moved")).unwrap();
    wild::put(&root.join("d4/new"), b"a new alpha\n");
    wild::put(&root.join(".ignore"), b"d5/\n");
    field.restart(ROOMY);
    for round in 0..40 {
        let ask = any_question(&mut chance);
        check(&field.index, &root, &ask, &mut chance, &format!("round {round}"));
        if round == 10 {
            field.settle();
            check_names(&field.index, &root, None, "after a restart");
        }
    }
}

#[test]
fn a_damaged_index_is_made_anew() {
    let mut chance = Chance::new(8);
    let mut field = kept(&mut chance);
    let folder = field.folder.path().join("kept");
    field.index = toolcrib_search::Engine::new(Vec::new());
    let mut bytes = fs::read(folder.join("index")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(folder.join("index"), bytes).unwrap();
    field.restart(ROOMY);
    let status = field.settle();
    assert!(status.progress.to_do >= 400, "a damaged index was used: {status:?}");
    let ask = any_question(&mut chance);
    check(&field.index, &field.root(), &ask, &mut chance, "after damage");
}

#[test]
fn a_tree_over_the_ceiling_is_scanned() {
    let mut chance = Chance::new(9);
    let field = kept(&mut chance);
    for memory in [1 << 20, 3 << 20] {
        let workspace = crate::ground::workspace(&field.root());
        let engine = crate::ground::engine(&workspace, memory, None);
        engine.start();
        let status = crate::ground::settle(&engine);
        assert!(status.memory.total <= memory, "{status:?}");
        assert!(status.phase == Phase::Ready || matches!(status.phase, Phase::Off(_)));
        for round in 0..10 {
            let ask = any_question(&mut chance);
            check(&engine, &field.root(), &ask, &mut chance, &format!("{memory}, round {round}"));
        }
    }
}
