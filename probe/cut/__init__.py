"""Cuts of a model at a feature into a prefix and a tail, tail(prefix(x)) == model(x).

`split` cuts a model in five steps:

1. **Follow** (`trace`, `names`). A copy of the model runs in eval mode on a few real
   examples. Each call of a torch function is noted, and each value gets a name that
   says how it was computed, so that it is recognized in any later run. The parameters
   and buffers that the feature's value was computed from are *frozen*: the W_F of the
   protocol.
2. **Plan** (`feature`, `plan`). The model runs again in training mode, the modules that
   serve the feature in eval mode. This shows the frozen values, what the rest reads of
   them, and those with a row for each example, which can be cached (`batch_dimension`).
3. **Minimum cut** (`min_cut`). Of all sets of frozen values from which the rest can be
   computed, take the one with the fewest bytes. The values form a graph, with edges to
   the values computed from them. A set is enough if and only if it blocks every path
   from values that cannot be recomputed to the rest. The cheapest such set is a minimum
   cut of the graph, found by maximum flow; `min_cut` has the proof.
4. **Replay** (`replay`). The prefix runs the traced model until the kept values are
   computed. The tail runs all of the model's own code, but skips calls on frozen values
   and returns the kept values in their place. A call that needs a frozen value that is
   not kept is an error, never a wrong number. (In a plain chain of modules the tail is
   simply the modules after the cut.)
5. **Check** (`checks`). On real examples, the two parts give the model's output bit for
   bit and its gradients, no row depends on its neighbours, and no change of the other
   weights moves the feature or a kept value.

A feature is the k-th output of its module in a call. Where a batch takes another path
to it, its value is read there; it is refused only if the module runs more or less
often, or computes with what is downstream of it in other batches.

If a check fails, nothing is cached: the whole model is run with the frozen part held
fixed. If that part does not stay fixed either, the model is refused with the reason.
`planned_cut` does this at one feature, `cuts` at many at once, and again for other
weights. `candidates` lists all features at which a model can be cut and suggests a set
of them. `resuming` runs a model under one set of weights after another, each pass from
where it first differs. `model_call` calls a model, finds the logits in its output, and
the positions of sequences that they depend on. `channels` finds the axis of a value's
channels. The rest of the package uses only `interface`.
"""
