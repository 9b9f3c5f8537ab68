from figures.appearance import learner_appearances

PAIRED = {"finetune": "Finetune", "ewc": "EWC", "ewc_online": "EWC++", "si": "SI"}
PAIRED |= {"rwalk": "RWalk", "lwf": "LwF"}
ALONE = [
    "offline",
    "cumulative",
    "er",
    "gem",
    "icarl",
    "icarl_hybrid1",
    "pathnet",
    "fel",
]
KNOWN = [*PAIRED, *(f"{name}-s" for name in PAIRED), *ALONE, "geppnet", "geppnet_stm"]
OTHERS = [f"own{k}" for k in range(14)]


def test_in_black_and_white_the_marker_alone_tells():
    marks = [
        (each.marker, each.filled)
        for each in learner_appearances([*KNOWN, *OTHERS]).values()
    ]
    assert len(set(marks)) == len(marks) == 36


def test_known_learners_have_their_name_in_print_and_say_if_they_store_samples():
    found = learner_appearances(KNOWN)
    assert all(found[name].label != name for name in KNOWN)
    for name, label in PAIRED.items():
        assert (found[name].label, found[f"{name}-s"].label) == (label, f"{label}-S")


def test_an_appearance_depends_neither_on_the_company_nor_on_the_order():
    alone = learner_appearances(["er"])["er"]
    assert learner_appearances(["zeta", "finetune", "er"])["er"] == alone
    drawn = learner_appearances(OTHERS)
    assert len(
        {(each.color, each.marker, each.line) for each in drawn.values()}
    ) == len(OTHERS)
    assert learner_appearances(OTHERS[::-1]) == drawn
    # More than there are spare ones are still drawn.
    assert len(learner_appearances([f"own{k}" for k in range(40)])) == 40
