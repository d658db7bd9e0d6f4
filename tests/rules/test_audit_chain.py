"""The chain of hashes: whatever is done to stored entries is found, except that its end is cut off."""

import hashlib
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from bot.rules.audit_chain import (
    GENESIS,
    MEANING,
    EntryKind,
    Link,
    as_markdown,
    at_text,
    content,
    faults,
    hash_of,
    missing,
    overall,
)

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
FACTS = st.tuples(
    st.none() | TEXTS, st.none() | TEXTS, st.sampled_from(EntryKind), st.dictionaries(TEXTS, VALUES, max_size=4),
    st.integers(0, 10**9),
)  # fmt: skip


def chain(facts, thread_id="t1") -> list[Link]:
    """Entries as the database would write them."""
    links: list[Link] = []
    for n, (run_id, request_id, kind, body, microseconds) in enumerate(facts, 1):
        before = links[-1].hash if links else GENESIS
        at = NOON + timedelta(microseconds=microseconds)
        link = Link(thread_id, n, run_id, request_id, kind.value, body, before, "", at)
        links.append(replace(link, hash=hash_of(link)))
    return links


CHAINS = st.lists(FACTS, min_size=1, max_size=6).map(chain)


def changed(link: Link, name: str, draw) -> Link:
    """The entry with another value in one of its columns."""
    was = getattr(link, name)
    others = {
        "seq": st.integers(1, 100), "body": st.dictionaries(TEXTS, VALUES, max_size=4),
        "recorded_at": st.integers(0, 10**9).map(lambda us: NOON + timedelta(microseconds=us)),
        "run_id": st.none() | TEXTS, "request_id": st.none() | TEXTS,
    }.get(name, TEXTS)  # fmt: skip
    # Python takes 1 for true; the database and the hash do not.
    return replace(link, **{name: draw(others.filter(lambda new: new != was))})


@given(CHAINS)
def test_a_chain_that_nobody_touched_has_no_fault(links):
    assert faults(links) == []


@given(CHAINS, st.sampled_from([field.name for field in fields(Link)]), st.data())
def test_a_change_of_any_column_of_any_entry_is_found(links, name, data):
    at = data.draw(st.integers(0, len(links) - 1))

    links[at] = changed(links[at], name, data.draw)

    assert faults(links)


@given(st.lists(FACTS, min_size=2, max_size=6).map(chain), st.data())
def test_an_entry_that_was_taken_out_is_found_unless_it_was_the_last(links, data):
    gone = links.pop(data.draw(st.integers(0, len(links) - 2)))

    found = faults(links)

    assert found
    assert found[0].seq == gone.seq + 1


@given(st.lists(FACTS, min_size=2, max_size=6).map(chain), st.data(), st.booleans())
def test_two_entries_that_changed_places_are_found_whether_or_not_their_numbers_did(links, data, renumbered):
    one, other = data.draw(st.lists(st.integers(0, len(links) - 1), min_size=2, max_size=2, unique=True))

    first, second = links[one], links[other]
    if renumbered:
        first, second = replace(first, seq=second.seq), replace(second, seq=first.seq)
    links[one], links[other] = second, first

    assert faults(links)


@given(CHAINS, FACTS, st.data())
def test_an_entry_that_was_put_in_is_found_even_with_a_hash_of_its_own(links, fact, data):
    at = data.draw(st.integers(0, len(links) - 1))
    before = links[at - 1].hash if at else GENESIS
    (alone,) = chain([fact])
    forged = replace(alone, seq=at + 1, prev_hash=before)
    forged = replace(forged, hash=hash_of(forged))

    moved = [replace(link, seq=link.seq + 1) for link in links[at:]]

    assert faults([*links[:at], forged, *moved])
    assert faults([*links[:at], forged, *links[at:]])


@given(CHAINS)
def test_the_end_that_was_cut_off_is_found_by_the_hash_that_was_kept(links):
    kept = links[-1].hash

    left = links[:-1]

    assert faults(left) == []
    assert missing([kept], {link.hash for link in left}) == [kept]
    assert missing([kept], {link.hash for link in links}) == []


def test_an_entry_cannot_be_moved_to_another_thread():
    (link,) = chain([(None, None, EntryKind.STARTED, {}, 0)])

    assert faults([replace(link, thread_id="t2")])


def test_the_hash_is_sha_256_over_the_hash_before_and_a_json_list():
    (link,) = chain([("r1", "q1", EntryKind.STARTED, {"b": 1, "a": "é"}, 7)])

    said = '[1,"2026-12-01T12:00:00.000007Z","t1","r1","q1","started",{"a":"é","b":1}]'

    assert link.hash == hashlib.sha256((GENESIS + said).encode()).hexdigest()


def test_a_moment_is_spelled_alike_in_every_zone():
    east = timezone(timedelta(hours=5, minutes=30))

    assert at_text(NOON.astimezone(east)) == at_text(NOON) == "2026-12-01T12:00:00.000000Z"


def test_texts_that_could_be_mistaken_for_each_other_are_told_apart():
    assert content("t", "a", None, "k", {}) != content("t", None, "a", "k", {})
    assert content("t", "null", None, "k", {}) != content("t", None, None, "k", {})


@given(st.lists(st.tuples(TEXTS, st.integers(1, 9), st.sampled_from(["a" * 64, "b" * 64])), max_size=5), st.randoms())
def test_the_hash_over_all_chains_does_not_depend_on_their_order(heads, random):
    mixed = list(heads)
    random.shuffle(mixed)

    assert overall(mixed) == overall(heads)


def test_the_hash_over_all_chains_changes_when_one_is_gone_or_shorter():
    both = [("t1", 3, "a" * 64), ("t2", 1, "b" * 64)]

    assert len({overall(both), overall(both[:1]), overall([("t1", 2, "c" * 64), both[1]])}) == 3


def test_every_kind_of_entry_is_explained():
    assert set(MEANING) == set(EntryKind)
    assert all(f"| {kind} |" in as_markdown()["audit_entries"] for kind in EntryKind)
