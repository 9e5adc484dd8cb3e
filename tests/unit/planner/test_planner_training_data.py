import pytest

from copa.planner.training_data import fit_default_model
from unit.planner import loans


@pytest.mark.parametrize("text", [object, "string", "category"])
def test_a_default_model_knows_every_value_of_the_schema_however_text_is_held(text):
    people = loans.people(200, 0)
    table = people.astype({"job": text})
    seen = (people["job"] != "driver").to_numpy()
    model, accuracy = fit_default_model(table[seen], loans.outcomes(people)[seen], loans.SCHEMA)
    assert accuracy > 0.6
    assert model.predict(table).shape == (200,)
