from attending.parts.tagging.features import WordWindow, shape
from attending.specs import WordWindowFeatures


def test_shapes():
    assert shape("McArdle") == "XxXxxxx" and shape("T2N0") == "XdXd" and shape("2,5") == "d,d"


def test_a_word_and_its_neighbours():
    found = WordWindow(WordWindowFeatures(window=1, affixes=2))(["Chest", "pain", "!"])
    assert [len(x) == len(set(x)) for x in found] == [True] * 3
    assert {"w=chest", "S=Xxxxx", "s=Xx", "p=ch", "e=st", "-1edge", "1w=pain"} <= set(found[0])
    assert {"-1w=chest", "-1|0w=chest|pain", "1w=!", "e=in"} <= set(found[1])
    assert "1edge" in found[2] and not any(f.startswith("p=") for f in found[2])


def test_halves_of_characters_can_be_written():
    (features,) = WordWindow(WordWindowFeatures())(["\ud83d"])
    assert all(f.encode("utf-8") for f in features)


def test_nothing():
    assert WordWindow(WordWindowFeatures())([]) == []
