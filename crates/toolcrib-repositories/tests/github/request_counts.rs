//! How many requests things cost.

use std::sync::Arc;

use toolcrib_core::{Cancel, Meter, Tree};

use crate::sample::Sample;
use crate::served::{Served, grep, list_all, many_files, read};

#[test]
fn everything_is_listed_with_one_request_and_a_file_is_read_with_one() {
    let served = Served::new(&many_files(20, 10));
    let repository = served.open();
    assert_eq!(served.taken(), 3, "the repository, the commit, its tree's id");
    assert_eq!(list_all(&repository), 200 + 20 + 3);
    assert_eq!(served.taken(), 1);
    for file in 0..5 {
        let path = format!("part1/dir1/f{file}.txt");
        assert_eq!(read(&repository, &path).unwrap(), format!("needle 1 {file}\n"));
    }
    assert_eq!(served.taken(), 5);
    assert_eq!(grep(&repository, "needle 7").unwrap(), 10);
    assert_eq!(served.taken(), 2, "where the archive is, and the archive");
    assert_eq!(repository.requests(), 11);
}

#[test]
fn nothing_is_asked_twice() {
    let served = Served::new(&many_files(20, 10));
    let repository = served.open();
    let work = || {
        list_all(&repository);
        assert_eq!(read(&repository, "part0/dir0/f0.txt").unwrap(), "needle 0 0\n");
        assert_eq!(grep(&repository, "needle").unwrap(), 200);
        assert_eq!(read(&repository, "part2/dir2/f9.txt").unwrap(), "needle 2 9\n");
    };
    work();
    assert!(served.taken() > 0);
    work();
    assert_eq!(served.taken(), 0);
}

#[test]
fn opening_again_costs_nothing_of_the_limit() {
    let served = Served::new(&many_files(3, 3));
    let repository = served.open();
    assert_eq!(grep(&repository, "needle").unwrap(), 9);
    let left = served.server.plan().left;
    served.taken();
    let again = repository.open_again(&Cancel::default()).unwrap();
    let seen = served.server.take_seen();
    assert!(seen.len() <= 3 && seen.iter().all(|it| it.status == 304), "{seen:?}");
    assert_eq!(served.server.plan().left, left);
    assert_eq!(grep(&again, "needle").unwrap(), 9);
    list_all(&again);
    assert_eq!(served.taken(), 0);
}

#[test]
fn a_cut_listing_costs_at_most_one_request_for_each_directory() {
    for most_entries in [1, 7, 60, 150] {
        let served = Served::new(&many_files(20, 10));
        served.server.plan().most_entries = most_entries;
        let repository = served.open();
        served.taken();
        assert_eq!(list_all(&repository), 223);
        let directories = 1 + 3 + 20;
        let seen = served.taken();
        // The listing that was cut is the one more; what is whole in it need not be asked for.
        let whole = usize::from(most_entries >= 20);
        assert!(seen <= directories + 1 - whole, "{most_entries} {seen}");
        assert_eq!(list_all(&repository), 223);
        assert_eq!(served.taken(), 0);
    }
}

#[test]
fn files_that_the_archive_leaves_out_are_searched_all_the_same() {
    let sample = Sample::default()
        .file(".gitattributes", "secret.txt export-ignore\nid.txt export-subst\n")
        .file("secret.txt", "needle of its own\n")
        .file("id.txt", "needle $Format:%H$\n")
        .file("plain.txt", "needle\n");
    let served = Served::new(&sample);
    let repository = served.open();
    assert_eq!(grep(&repository, "needle").unwrap(), 3);
    let blobs = served.server.take_seen();
    assert_eq!(blobs.iter().filter(|it| it.path.contains("/git/blobs/")).count(), 2);
}

#[test]
fn without_an_archive_files_are_searched_one_by_one_up_to_a_limit() {
    let mut served = Served::new(&many_files(4, 5));
    served.server.fail("/tarball/", usize::MAX, 404, r#"{"message": "Not Found"}"#);
    let repository = served.open();
    assert_eq!(grep(&repository, "needle").unwrap(), 20);
    assert!(repository.notices()[0].contains("one by one"), "{:?}", repository.notices());
    served.options.max_single_reads = 19;
    let repository = served.open();
    served.taken();
    let err = grep(&repository, "needle").unwrap_err();
    assert!(err.message.contains("20 files are too many"), "{err}");
    assert!(err.hint.unwrap().contains("connect a clone"));
    assert!(served.server.take_seen().iter().all(|it| !it.path.contains("/blobs/")));
}

#[test]
fn an_archive_that_is_too_large_or_broken_is_done_without() {
    for damage in ["large", "broken", "host"] {
        let mut served = Served::new(&many_files(2, 3));
        match damage {
            "large" => served.options.max_archive_bytes = 50,
            "broken" => served.server.fail("/legacy.tar.gz/", usize::MAX, 200, "no archive at all"),
            _ => served.server.fail("/legacy.tar.gz/", usize::MAX, 404, "gone"),
        }
        let repository = served.open();
        assert_eq!(grep(&repository, "needle").unwrap(), 6, "{damage}");
        assert!(repository.notices()[0].contains("one by one"), "{:?}", repository.notices());
    }
}

#[test]
fn what_is_sent_is_counted_for_the_call_that_it_is_sent_for() {
    let served = Served::new(&many_files(2, 2));
    let repository = served.open();
    let call = || {
        let meter = Meter::default();
        (meter.clone(), Cancel::default().counting(Arc::new(meter)))
    };
    let connections = |meter: &Meter| {
        let account = meter.network().unwrap_or_default();
        account.hosts.iter().map(|it| (it.connections, it.bytes_down > 0)).collect::<Vec<_>>()
    };
    let ((first, first_cancel), (second, second_cancel)) = (call(), call());
    let read = |cancel: &Cancel, path: &str| {
        repository.files_for(cancel).read(path, 1 << 20).unwrap();
    };
    // It was opened for no call.
    let (opening, opening_cancel) = call();
    repository.charge_background(&opening_cancel);
    assert_eq!(connections(&opening), [(3, true)]);
    // The listing and the file.
    read(&first_cancel, "part0/dir0/f0.txt");
    read(&second_cancel, "part0/dir0/f1.txt");
    read(&second_cancel, "part0/dir0/f0.txt");
    assert_eq!((connections(&first), connections(&second)), (vec![(2, true)], vec![(1, true)]));
    // The archive is for whoever searches, and is given to the call that asks for it.
    assert_eq!(grep(&repository, "needle").unwrap(), 4);
    let (third, third_cancel) = call();
    repository.charge_background(&third_cancel);
    repository.charge_background(&first_cancel);
    assert_eq!(connections(&third).iter().map(|it| it.0).sum::<u64>(), 2);
    assert_eq!(connections(&first), [(2, true)]);
}
