//! An index loaded from disk: as right as a new one, whatever changed meanwhile.

use std::fs;
use std::time::Duration;

use toolcrib_search::Phase;

use crate::fixture::{AMPLE_MEMORY, Fixture};
use crate::question::{check, check_names, random_question};
use crate::random::Random;
use crate::random_tree;

/// Makes a tree with a saved index. The tree is old enough for its stamps to be trusted.
fn saved(random: &mut Random) -> Fixture {
    let fixture = Fixture::new(AMPLE_MEMORY);
    let root = fixture.root();
    for number in 0..400 {
        let folder = root.join(format!("d{}", number % 20));
        fs::create_dir_all(&folder).unwrap();
        random_tree::put(&folder.join(format!("f{number}")), &random_tree::text(random));
    }
    crate::ripgrep::give_all_to_reader(&root);
    // Files that changed in the last two seconds are read again whatever their stamps say.
    std::thread::sleep(Duration::from_millis(2100));
    fixture.wait_until_ready();
    let start = std::time::Instant::now();
    while fixture.index.statuses()[0].1.saving.saved_bytes == 0 {
        assert!(start.elapsed() < Duration::from_mins(1), "never saved");
        std::thread::sleep(Duration::from_millis(2));
    }
    fixture
}

#[test]
fn what_changed_while_nobody_watched_is_seen() {
    let mut random = Random::new(7);
    let mut fixture = saved(&mut random);
    let root = fixture.root();
    fixture.restart(AMPLE_MEMORY);
    let status = fixture.wait_until_ready();
    assert!(status.progress.to_do < 100, "the saved index was not used: {status:?}");
    // Nobody watches now.
    fixture.index = toolcrib_search::Engine::new(Vec::new());
    let edited = root.join("d1/f1");
    let before = fs::metadata(&edited).unwrap();
    let mut content = fs::read(&edited).unwrap();
    content.iter_mut().take(5).for_each(|byte| *byte = b'q');
    fs::write(&edited, content).unwrap();
    // The size and the modification time are the same: only the change time shows the edit.
    let file = fs::File::options().write(true).open(&edited).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    fs::remove_file(root.join("d2/f2")).unwrap();
    fs::rename(root.join("d3"), root.join("moved")).unwrap();
    random_tree::put(&root.join("d4/new"), b"a new alpha\n");
    random_tree::put(&root.join(".ignore"), b"d5/\n");
    fixture.restart(AMPLE_MEMORY);
    for round in 0..40 {
        let ask = random_question(&mut random);
        check(&fixture.index, &root, &ask, &mut random, &format!("round {round}"));
        if round == 10 {
            fixture.wait_until_ready();
            check_names(&fixture.index, &root, None, "after a restart");
        }
    }
}

#[test]
fn a_damaged_index_is_made_anew() {
    let mut random = Random::new(8);
    let mut fixture = saved(&mut random);
    let folder = fixture.folder.path().join("kept");
    fixture.index = toolcrib_search::Engine::new(Vec::new());
    let mut bytes = fs::read(folder.join("index")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(folder.join("index"), bytes).unwrap();
    fixture.restart(AMPLE_MEMORY);
    let status = fixture.wait_until_ready();
    assert!(status.progress.to_do >= 400, "a damaged index was used: {status:?}");
    let ask = random_question(&mut random);
    check(&fixture.index, &fixture.root(), &ask, &mut random, "after damage");
}

#[test]
fn a_tree_over_the_memory_limit_is_scanned() {
    let mut random = Random::new(9);
    let fixture = saved(&mut random);
    for memory in [1 << 20, 3 << 20] {
        let workspace = crate::fixture::workspace(&fixture.root());
        let engine = crate::fixture::engine(&workspace, memory, None);
        engine.start();
        let status = crate::fixture::wait_until_ready(&engine);
        assert!(status.memory.total <= memory, "{status:?}");
        assert!(status.phase == Phase::Ready || matches!(status.phase, Phase::Off(_)));
        for round in 0..10 {
            let ask = random_question(&mut random);
            check(&engine, &fixture.root(), &ask, &mut random, &format!("{memory}, round {round}"));
        }
    }
}
