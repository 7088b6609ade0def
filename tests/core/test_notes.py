"""Sentences that programs can tell apart."""

from __future__ import annotations

import copy
import pickle

from manytruths.core.undefined import Note, code_of


def test_a_note_is_a_sentence_with_a_code():
    note = Note("nothing_marked", "B marked nothing")
    assert isinstance(note, str)
    for copied in (note, pickle.loads(pickle.dumps(note)), copy.deepcopy(note)):
        assert (copied, copied.code, code_of(copied)) == ("B marked nothing", "nothing_marked", "nothing_marked")
    assert code_of("B marked nothing") == ""
