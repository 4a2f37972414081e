"""Queries as trees of text, so that a failing one can be cut down without knowing SQL.

A node's parts are texts and nodes; its text is theirs, one after the other. Its tag says what it
may be replaced by: a node below it with the same tag (an operand of the same type, an arm of a
UNION), or the smallest text of its tag. An optional node may be replaced by nothing.
"""

SMALLEST = {
    "int": ["1", "NULL::INTEGER"],
    "big": ["1::BIGINT"],
    "double": ["1.0::DOUBLE"],
    "decimal": ["1.00"],
    "text": ["'a'"],
    "bool": ["TRUE", "FALSE", "NULL::BOOLEAN"],
    "date": ["DATE '2020-01-01'"],
    "time": ["TIMESTAMP '2020-01-01 00:00:00'"],
}


class Node:
    def __init__(self, tag, *parts, optional=False):
        self.tag, self.parts, self.optional = tag, list(parts), optional

    def __str__(self):
        return "".join(map(str, self.parts))

    def nodes(self):
        """This node and all below it, from the top."""
        yield self
        for part in self.parts:
            if isinstance(part, Node):
                yield from part.nodes()

    def replaced(self, old, new):
        """A copy in which `new` stands in the place of the node `old`."""
        if self is old:
            return new
        parts = [part.replaced(old, new) if isinstance(part, Node) else part for part in self.parts]
        return Node(self.tag, *parts, optional=self.optional)


class Listing(Node):
    """Nodes with commas between; each may go as long as one stays."""

    def __init__(self, tag, items):
        super().__init__(tag, *items)

    def __str__(self):
        return ", ".join(map(str, self.parts))

    def replaced(self, old, new):
        if self is old:
            return new
        return Listing(self.tag, [part.replaced(old, new) for part in self.parts])


EMPTY = Node("empty")


def reductions(root):
    """Smaller trees to try, the smallest first."""
    for node in root.nodes():
        if node.optional:
            yield root.replaced(node, EMPTY)
        if isinstance(node, Listing) and node.tag == "items" and len(node.parts) > 1:
            for part in node.parts:
                yield root.replaced(node, Listing("items", [it for it in node.parts if it is not part]))
        for inner in node.nodes():
            if inner is not node and inner.tag == node.tag and node.tag != "column":
                yield root.replaced(node, inner)
        if len(str(node)) > 18:
            for text in SMALLEST.get(node.tag, []):
                yield root.replaced(node, Node(node.tag, text))
