"""The network that a recorder records: its state and predictions, of all classes to come."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from probe.batch import Named, varied
from probe.cut.cuts import cut_each
from probe.cut.model_call import explained
from probe.errors import InputError
from probe.examples import AnyExamples
from probe.immutable import immutable
from probe.model import Model
from probe.modules import device_of, kept_state, mode
from probe.readouts.matrix import feature_matrices
from probe.readouts.readout import Ncm, read
from probe.record.course import Course
from probe.record.state_files import NEVER, plain_state, with_rows
from probe.seeding import every_global_stream, stream
from probe.training.evaluation import ONE_OUTPUT, check_outputs, predict_each

_SAMPLE = 8  # examples on which layers are found


@immutable(eq=False)
class RecordedNetwork:
    """A network in training, which reading leaves unchanged, with its generators.

    Attributes:
        model: The network.
        called: The model, with the call of the network.
        n_classes: The number of classes K.
        grows: The name of the linear layer with a bias, or of the module around it,
            that gets outputs for new classes; None = none does.
        batch_size: The examples in a batch, None = a size that is fast on the device.
        seed: The seed of a network that draws random numbers in eval mode.
    """

    model: nn.Module
    called: Model
    n_classes: int
    grows: str | None
    batch_size: int | None
    seed: int

    def state(self) -> Named:
        """Return the network's tensors by name, a growing head with the outputs of all classes.

        Raises:
            InputError: The head cannot be given further outputs.
        """
        state = plain_state(self.model)
        if self.grows is None:
            return state
        head = f"{self.grows}."
        tensors = {name: t for name, t in state.items() if name.startswith(head)}
        # Without a bias, an output with weights of 0 would win against negative ones.
        has_bias = any(name.endswith("bias") for name in tensors)
        shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        sizes = {shape[:1] for shape in shapes.values()}
        if not has_bias or len(sizes) > 1 or max(sizes) > (self.n_classes,):
            raise InputError(
                f"grows={self.grows!r:.60} has {shapes or 'no tensors'}, "
                f"not a weight and a bias of as many rows, {self.n_classes} at most"
            )
        for name, tensor in tensors.items():
            state[name] = with_rows(tensor, self.n_classes, name)
        return state

    def predict(self, test: AnyExamples, row: int) -> Tensor:
        """Return the classes (N,) that the network predicts for N examples.

        Args:
            test: The examples.
            row: The number that selects the random numbers.

        Raises:
            InputError: The network fails on the examples, or has too many or too few
                outputs.
        """
        test = test.to(device_of(self.model, test.y.device))
        with self._undisturbed(test.x, row):
            check_outputs(self._logits, test)
            # One set of logits, in which all outputs compete: its name is "".
            predictions, *_ = predict_each(
                self._logits,
                test,
                self.n_classes,
                {"": None},
                self.batch_size,
                rows=test.task,
                check=True,
            )
            return predictions[""]

    def layer_predictions(self, course: Course) -> Named:
        """Return the classes (N,) that the nearest class mean predicts from each layer, by layer.

        The N examples are the test examples of the course. Without training examples or
        layers, nothing is predicted.

        Raises:
            InputError: A layer does not exist, or does not run.
        """
        if course.train is None or not course.layers:
            return {}
        device = device_of(self.model, course.test.y.device)
        train = course.train.to(device)
        test = course.test.to(device)
        groups = _competing_groups(train, test, task_aware=self.called.task_aware)
        call = self.called.model_call
        predictions = {}
        with self._undisturbed(test.x, course.step):
            sample = varied(test.x, _SAMPLE)
            cuts = cut_each(
                self.model,
                course.layers,
                sample,
                call.output,
                call.call,
                tails=False,
            )
            train_features = feature_matrices(cuts, train.x, self.batch_size)
            test_features = feature_matrices(cuts, test.x, self.batch_size)
            for layer in course.layers:
                # Among the classes of all tasks, or of each task in turn.
                predicted = torch.full_like(test.y, -1)
                for train_rows, test_rows in groups:
                    result = read(
                        Ncm(),
                        train_features[layer][0][train_rows],
                        train.y[train_rows],
                        test_features[layer][0][test_rows],
                        self.n_classes,
                    )
                    predicted[test_rows] = result.predicted.to(predicted.device)
                predictions[layer] = predicted
        return predictions

    @contextmanager
    def _undisturbed(self, x: Any, row: int) -> Iterator[None]:
        """Put the network into eval mode within the block; restore modes, buffers and generators.

        Args:
            x: The inputs, which errors of the network in the block describe.
            row: The number that, with the seed, selects the random numbers in the block.
        """
        # The network may draw at random in eval mode, too.
        draws = every_global_stream(stream(self.seed, "record", row))
        with (
            mode(self.model, training=False),
            kept_state(self.model),
            draws,
            explained(x),
        ):
            yield

    def _logits(self, x: Any) -> Tensor:
        """Return the logits (B, K) of a batch, with `NEVER` for outputs that are yet to come."""
        logits = self.called.model_call(self.model, x)
        classes = self.n_classes
        # Other shapes are refused where the logits are checked.
        missing = classes - logits.shape[1] if logits.dim() == 2 else 0
        if missing < 0:
            raise InputError(
                f"the model has {logits.shape[1]} outputs for {classes} classes: "
                f"choose theirs, as by call=lambda m, x: m(x)[:, :{classes}]"
            )
        if (logits.shape[1], classes) == (1, 2) and self.grows is None:
            raise InputError(ONE_OUTPUT)
        if missing > 0 and self.grows is None:
            raise InputError(
                f"the model's output is {tuple(logits.shape)}, expected "
                f"{len(logits), classes}: give it all outputs, or name the head that "
                "grows (grows=)"
            )
        if missing > 0 and logits.min() <= NEVER:
            raise InputError(
                f"the model's output is {float(logits.min()):g}, below the {NEVER:g} "
                "of outputs that are yet to come: give it all outputs"
            )
        return pad(logits, (0, max(missing, 0)), value=NEVER)


def _competing_groups(
    train: AnyExamples, test: AnyExamples, *, task_aware: bool
) -> list[tuple[Any, Any]]:
    """Return the indices of training and test examples whose classes compete with each other.

    One pair is for all examples or, if task-aware, for those of a task.
    """
    if not task_aware:
        return [(slice(None), slice(None))]
    tasks = cast(Tensor, test.task)
    return [(train.task == task, tasks == task) for task in tasks.unique()]
