from __future__ import annotations

from importlib.resources import files

from autoprog.cohort import cleveland, read_cohort


def test_source_and_licence_travel_with_the_data() -> None:
    text = (files("autoprog.cohort") / "data" / "heart_cleveland.txt").read_text("utf-8")
    for words in ("UCI Machine Learning Repository", "Detrano", "CC BY 4.0"):
        assert words in text


def test_every_feature_of_the_file_is_declared() -> None:
    content, spec = cleveland()
    assert {feature.name for feature in read_cohort(content, spec).cohort.features} == set(spec.features)
