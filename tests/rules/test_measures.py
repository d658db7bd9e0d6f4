"""The catalogue of what is measured."""

from bot.rules import measures
from bot.rules.measures import MEASURES, Measure, Shape, as_markdown, exposed_name


def test_every_measure_of_the_module_is_in_the_catalogue_once():
    defined = [each for each in vars(measures).values() if isinstance(each, Measure)]

    assert sorted(each.name for each in defined) == sorted(each.name for each in MEASURES)
    assert len({each.name for each in MEASURES}) == len(MEASURES)


def test_every_name_says_whose_metric_it_is_and_only_a_counter_ends_in_total():
    names = {exposed_name(each): each.shape for each in MEASURES}

    assert all(name.startswith("steersman_") for name in names)
    assert {name for name in names if name.endswith("_total")} == {
        name for name, shape in names.items() if shape is Shape.COUNTER
    }


def test_a_length_of_time_says_its_unit():
    assert all(each.name.endswith("_seconds") for each in MEASURES if each.shape is Shape.HISTOGRAM)


def test_the_bounds_of_what_a_stop_is_promised_are_bounds_of_buckets():
    assert {0.1, 4.0, 5.0} <= set(measures.BUCKETS_S)
    assert list(measures.BUCKETS_S) == sorted(measures.BUCKETS_S)


def test_the_table_for_the_documents_has_a_row_for_each_measure():
    rows = as_markdown()["measures"].splitlines()[2:]

    assert [row.split("|")[1].strip().strip("`") for row in rows] == [exposed_name(each) for each in MEASURES]
