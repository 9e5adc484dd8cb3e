import numpy as np
import pandas as pd
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from reproduction.data.encoding import Encoding
from reproduction.data.shifted import load_shifted


def test_vectors_are_those_of_scikit_learns_encoders(student):
    features = student.data.present.features
    numbers = list(student.encoding.numbers)
    codes = [name for name in features if name not in numbers]
    expected = np.hstack(
        [
            np.ones((len(features), 1)),
            MinMaxScaler().fit_transform(features[numbers]),
            OneHotEncoder(sparse_output=False).fit_transform(features[codes]),
        ]
    )
    np.testing.assert_allclose(student.encoding.encode(features), expected, atol=1e-12)


def test_a_row_comes_back_from_its_vector(student):
    features = student.data.present.features.head(30)
    points = student.encoding.encode(features)
    pd.testing.assert_frame_equal(student.encoding.decode(points, student.data.schema, features), features)


def test_decoding_rounds_to_what_columns_hold_and_takes_the_largest_category():
    data = load_shifted("german", "sound")
    encoding = Encoding.of(data.present.features)
    own = data.present.features.head(1)
    point = encoding.encode(own)
    amount, status = encoding.blocks["amount"][0], encoding.blocks["personal_status"]
    span = encoding.high[1] - encoding.low[1]
    point[0, amount] = (3333.0 - encoding.low[1]) / span
    point[0, status] = [0.1, 0.2, 0.6, 0.3]
    row = encoding.decode(point, data.schema, own).iloc[0]
    assert row["amount"] == 3350  # amounts go in steps of 50
    assert row["personal_status"] == dict(encoding.choices)["personal_status"][2]


def test_a_number_that_hardly_changes_keeps_the_value_it_has():
    data = load_shifted("german", "sound")
    encoding = Encoding.of(data.present.features)
    own = data.present.features.head(5)
    assert (own["amount"] % 50 != 0).any()
    points = encoding.encode(own) + np.array([0.0, 0.0, 1e-4, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert (encoding.decode(points, data.schema, own)["amount"] == own["amount"]).all()


def test_half_a_category_is_no_real_one_and_beyond_the_range_is_outside(german):
    point = german.origins[0].copy()
    assert german.encoding.real_categories(point)
    assert german.encoding.inside(point)
    half = point.copy()
    half[german.encoding.blocks["personal_status"]] = 0.25
    assert not german.encoding.real_categories(half)
    far = point.copy()
    far[1] = 1.2
    assert not german.encoding.inside(far)
