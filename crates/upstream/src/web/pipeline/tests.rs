//! What an answer must look like, and what a server is learned to be. What is sent is under test in `tests/it`.

use tokio::time::Instant;

use super::habit::Habit;
use super::pipe::{Ended, next};
use super::*;

const PLAIN: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\ncontent-length: 7\r\n\r\n{\"a\":1}";

#[test]
fn answers_are_read_one_by_one_however_they_arrive() {
    let two = PLAIN.repeat(2);
    for first in 0..=two.len() {
        let (mut seen, mut bodies) = (BytesMut::new(), Vec::new());
        for piece in [&two[..first], &two[first..]] {
            seen.put_slice(piece.as_bytes());
            while let Some(body) = next(&mut seen).unwrap() {
                bodies.push(body);
            }
        }
        assert_eq!((bodies, seen.len()), (vec![Bytes::from_static(b"{\"a\":1}"); 2], 0), "{first}");
    }
    let cut = &PLAIN[..PLAIN.len() - 1];
    assert_eq!(next(&mut BytesMut::from(cut)), Ok(None));
}

#[test]
fn what_others_could_not_follow_or_is_no_json_ends_the_connection() {
    let changes = [
        ("HTTP/1.1", "HTTP/1.0"),
        ("200 OK", "202 Accepted"),
        ("200 OK", "401 Unauthorized"),
        ("application/json", "text/event-stream"),
        ("content-length: 7", "transfer-encoding: chunked"),
        ("content-length: 7", "transfer-encoding: chunked\r\ncontent-length: 7"),
        ("content-length: 7", "content-length: 7\r\ncontent-length: 8"),
        ("content-length: 7", "content-length: +7"),
        ("content-length: 7", "content-length: -7"),
        ("content-length: 7", "content-length: 7, 7"),
        ("content-length: 7", "content-length: 99999999999999999999999"),
        ("content-length: 7", "content-length: 262145"),
        ("content-length: 7", "content-length: 7\r\nconnection: close"),
        ("content-length: 7", "content-length: 7\r\ncontent-encoding: gzip"),
        ("content-length: 7\r\n", ""),
        ("HTTP/1.1 200", "HTTP/2 200"),
        ("HTTP/1.1 200", "\u{0}"),
    ];
    for (from, to) in changes {
        let odd = PLAIN.replacen(from, to, 1);
        assert_ne!(odd, PLAIN);
        assert_eq!(next(&mut BytesMut::from(odd.as_str())), Err(Ended), "{odd}");
    }
    let endless = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(100_000));
    assert_eq!(next(&mut BytesMut::from(endless.as_str())), Err(Ended));
    let many = PLAIN.replacen("content-length", &format!("{}content-length", "x: y\r\n".repeat(100)), 1);
    assert_eq!(next(&mut BytesMut::from(many.as_str())), Err(Ended));
}

#[test]
fn no_byte_in_any_place_makes_reading_fail_otherwise() {
    for place in 0..PLAIN.len() {
        for byte in 0..=u8::MAX {
            let mut seen = BytesMut::from(PLAIN);
            seen[place] = byte;
            let _ = next(&mut seen);
        }
    }
}

const MS: Duration = Duration::from_millis(1);

/// A server that has answered so often, in this time, while so many were under way.
fn known(answers: u32, took: Duration, under_way: usize) -> Habit {
    let mut habit = Habit::default();
    for _ in 0..answers {
        habit.heard_alone(took, under_way);
    }
    habit
}

#[test]
fn a_server_is_known_after_many_quick_and_plain_answers() {
    let now = Instant::now();
    assert_eq!(known(64, MS, 8).depth(now), Some(2));
    assert_eq!(known(63, MS, 8).depth(now), None);
    assert_eq!(known(64, 13 * MS, 8).depth(now), None);
    assert_eq!(known(64, 60 * MS, 1000).depth(now), Some(2), "many at once take long");
    assert_eq!(known(64, 100 * MS, 1000).patience(), 200 * MS);
    assert_eq!(known(64, MS, 8).patience(), 150 * MS);
    let mut habit = known(64, MS, 8);
    habit.heard_otherwise();
    assert_eq!(habit.depth(now), None);
    let mut habit = known(64, MS, 8);
    habit.give_up();
    assert_eq!(habit.depth(now), None);
}

#[test]
fn a_server_that_works_side_by_side_is_left_to_do_so() {
    let now = Instant::now();
    // Eight at once take no longer than one; on one connection they do.
    let mut habit = known(64, MS, 8);
    for answer in 1..=256 {
        assert_eq!(habit.depth(now), Some(2), "{answer}");
        habit.heard_together(2 * MS, 8, now);
    }
    assert_eq!(habit.depth(now), None);
}

#[test]
fn more_wait_on_one_connection_where_it_pays_also_when_more_come() {
    let now = Instant::now();
    let mut habit = known(64, MS, 8);
    let mut depths = Vec::new();
    for answer in 0..2000 {
        if answer % 256 == 0 {
            depths.extend(habit.depth(now));
        }
        habit.heard_together(8 * MS, 64, now);
    }
    assert_eq!(depths, [2, 4, 8, 16, 32, 32, 32, 32]);
    for _ in 0..1000 {
        habit.heard_together(16 * MS, 64, now);
    }
    assert_eq!(habit.depth(now), None, "it no longer pays");
}

#[test]
fn few_after_many_lose_nothing() {
    let now = Instant::now();
    let mut habit = known(64, 8 * MS, 64);
    for _ in 0..2000 {
        habit.heard_together(MS, 4, now);
    }
    assert_eq!(habit.depth(now), Some(32));
}

#[test]
fn the_few_of_a_wave_go_with_the_others_and_the_few_of_a_quiet_time_alone() {
    let pipeline = Arc::new(Pipeline::default());
    let ways = |count: usize| {
        let entered: Vec<_> = (0..count).map(|_| pipeline.enter()).collect();
        entered.iter().map(|it| it.way).collect::<Vec<_>>()
    };
    let (few, alone, together) = (Way::Few, Way::Alone, Way::Together(2));
    assert_eq!(ways(5), [few, few, few, alone, alone], "nothing is known of the server");
    pipeline.lock().habit = known(64, MS, 8);
    assert_eq!(ways(5), [together; 5]);
    for _ in 1..NEXT {
        assert_eq!(ways(1), [together]);
    }
    assert_eq!(ways(5), [few, few, few, together, together]);
}

#[test]
fn who_goes_alone_beside_others_is_nothing_to_compare_with() {
    let pipeline = Arc::new(Pipeline::default());
    pipeline.lock().habit = known(64, 8 * MS, 64);
    let rush: Vec<_> = (0..64).map(|_| pipeline.enter()).collect();
    for entered in rush.iter().cycle().take(2000) {
        entered.learn(MS, Some(2));
        pipeline.heard_together(8 * MS, 64, Instant::now());
    }
    assert_eq!(pipeline.lock().habit.depth(Instant::now()), Some(32));
}

#[test]
fn what_did_not_pay_is_tried_again_less_and_less_often_unless_it_paid_for_long() {
    let learn = |habit: &mut Habit| (0..64).for_each(|_| habit.heard_alone(MS, 8));
    let (mut habit, mut now) = (known(64, MS, 8), Instant::now());
    let mut paused = Vec::new();
    for _ in 0..15 {
        // Several connections may end for one reason.
        (0..8).for_each(|_| habit.pause(now));
        learn(&mut habit);
        let since = now;
        while habit.depth(now).is_none() {
            now += 100 * MS;
        }
        paused.push((now - since).as_millis());
    }
    assert_eq!(paused[..4], [100, 200, 400, 800]);
    assert_eq!(paused[13..], [600_000, 600_000]);

    now += Duration::from_secs(600 * 16);
    habit.pause(now);
    learn(&mut habit);
    assert_eq!(habit.depth(now), None);
    assert_eq!(habit.depth(now + 100 * MS), Some(2));
}
