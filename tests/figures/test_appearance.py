from figures.appearance import learner_appearances

WITHOUT_SAMPLES = {"finetune": "Finetune", "ewc": "EWC", "ewc_online": "EWC++", "si": "SI"}
WITHOUT_SAMPLES |= {"rwalk": "RWalk", "lwf": "LwF"}
KNOWN = {
    **{"offline": "Offline", "cumulative": "Cumulative", "er": "ER", "gem": "GEM"},
    **{"icarl": "iCaRL", "icarl_hybrid1": "iCaRL-hb1", "pathnet": "PathNet", "fel": "FEL"},
    **{"geppnet": "GeppNet", "geppnet_stm": "GeppNet+STM"},
    **WITHOUT_SAMPLES,
    **{f"{name}-s": f"{label}-S" for name, label in WITHOUT_SAMPLES.items()},
}
OTHERS = [f"own{k}" for k in range(14)]


def test_in_black_and_white_the_marker_alone_tells():
    marks = [(each.marker, each.filled) for each in learner_appearances([*KNOWN, *OTHERS]).values()]
    assert len(set(marks)) == len(marks) == 36


def test_known_learners_have_their_name_in_print():
    assert {name: each.label for name, each in learner_appearances(KNOWN).items()} == KNOWN


def test_an_appearance_depends_neither_on_the_company_nor_on_the_order():
    alone = learner_appearances(["er"])["er"]
    assert learner_appearances(["zeta", "finetune", "er"])["er"] == alone
    drawn = learner_appearances(OTHERS)
    assert len({(each.color, each.marker, each.line) for each in drawn.values()}) == len(OTHERS)
    assert learner_appearances(OTHERS[::-1]) == drawn
    # More than there are spare ones are still drawn.
    assert len(learner_appearances([f"own{k}" for k in range(40)])) == 40
