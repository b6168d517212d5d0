"""What a builder raises. Faults of the user's object are not raised: `Builder.validate` lists them."""


class BuilderError(ValueError):
    """The builder was called in a way that cannot work, or the tree does not compile. A bug of the controller.

    Attributes:
        problem: the sentence without the field.
        field: the path of the item that is to blame; empty if the item has none.
    """

    def __init__(self, problem: str, field: str = "") -> None:
        self.problem = problem
        self.field = field
        super().__init__(f"{field}: {problem}" if field else problem)
