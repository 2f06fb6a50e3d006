"""What goes wrong with the parameters of a model."""


class QueueingError(ValueError):
    """A parameter has no value for which the model has an answer; names it and the condition."""


class QueueingWarning(UserWarning):
    """Some points of an array of parameters have no answer, or an answer that is not sure."""
