"""What the dialect has, for SQLAlchemy's suite."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


class Requirements(SuiteRequirements):
    """Closed is the reflection of foreign keys, indexes and constraints, which the engine lacks.

    Each engine of SQLAlchemy over `volley://` has tables of its own, which other engines do not see.
    """

    independent_connections = property(lambda self: exclusions.closed())

    foreign_key_constraint_reflection = property(lambda self: exclusions.closed())
    foreign_keys_reflect_as_index = foreign_key_constraint_reflection
    index_reflection = property(lambda self: exclusions.closed())
    index_ddl_if_exists = property(lambda self: exclusions.closed())
    unique_constraint_reflection = property(lambda self: exclusions.closed())
    primary_key_constraint_reflection = property(lambda self: exclusions.open())
    temporary_tables = property(lambda self: exclusions.open())
    temp_table_reflection = property(lambda self: exclusions.closed())
    schemas = property(lambda self: exclusions.closed())
    sequences = property(lambda self: exclusions.open())
    sequences_optional = property(lambda self: exclusions.open())
    views = property(lambda self: exclusions.open())
    uuid_data_type = property(lambda self: exclusions.open())
    json_type = property(lambda self: exclusions.open())
    ctes = property(lambda self: exclusions.open())
    window_functions = property(lambda self: exclusions.open())
    returning = property(lambda self: exclusions.open())
    insert_returning = returning
    datetime_microseconds = property(lambda self: exclusions.open())
    savepoints = property(lambda self: exclusions.closed())
    comment_reflection = property(lambda self: exclusions.closed())
