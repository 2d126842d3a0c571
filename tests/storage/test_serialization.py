from __future__ import annotations

import json
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoprog.storage.serialization import pack_risks, proposal_from_json, proposal_to_json, unpack_risks
from tests.storage.support import make_proposal


@settings(deadline=None)
@given(st.lists(st.floats(0, 1, width=32), max_size=50))
def test_risks_come_back_to_the_bit(values: list[float]) -> None:
    risks = np.array(values, dtype=np.float32)
    unpacked = unpack_risks(pack_risks(risks))
    assert unpacked.dtype == np.float32
    assert unpacked.tobytes() == risks.tobytes()


def test_risks_may_be_changed_after_they_were_read() -> None:
    risks = unpack_risks(pack_risks(np.ones(3, dtype=np.float32)))
    risks[0] = 0.5
    assert risks.tolist() == [0.5, 1.0, 1.0]


def test_packed_risks_are_the_same_on_every_machine() -> None:
    big_endian = np.array([0.25, 1.0], dtype=">f4")
    np.testing.assert_array_equal(unpack_risks(pack_risks(big_endian)), np.array([0.25, 1.0], dtype=np.float32))


def test_curves_come_back_in_their_shape() -> None:
    curves = np.random.default_rng(0).random((7, 3)).astype(np.float32)
    np.testing.assert_array_equal(unpack_risks(pack_risks(curves)), curves)


def test_risks_are_read_that_an_earlier_version_wrote() -> None:
    risks = np.array([0.25, 0.5, 1.0], dtype="<f4")
    np.testing.assert_array_equal(unpack_risks(zlib.compress(risks.tobytes())), risks)


@pytest.mark.parametrize("batch", [0, 7])
def test_a_proposal_survives_its_way_through_json(batch: int) -> None:
    proposal = make_proposal(batch)
    again = proposal_from_json(batch, json.loads(json.dumps(proposal_to_json(proposal))))
    assert again == proposal
    assert [c.key for c in again.configurations] == [c.key for c in proposal.configurations]
    assert list(again.state["labels"]) == ["b", "a"]


def test_a_proposal_of_an_earlier_version_is_read() -> None:
    document = proposal_to_json(make_proposal(3))
    del document["final"]
    assert proposal_from_json(3, document) == make_proposal(3)
