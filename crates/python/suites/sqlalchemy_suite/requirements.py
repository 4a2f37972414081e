"""What the dialect has, for SQLAlchemy's suite."""

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements


class Requirements(SuiteRequirements):
    """Closed are names of keys and UNIQUE constraints, which the engine does not keep.

    Each engine of SQLAlchemy over `volley://` has tables of its own, which other engines do not see.
    """

    independent_connections = property(lambda self: exclusions.closed())

    foreign_key_constraint_reflection = property(lambda self: exclusions.open())
    foreign_key_constraint_name_reflection = foreign_key_constraint_reflection
    foreign_keys_reflect_as_index = property(lambda self: exclusions.closed())
    index_reflection = property(lambda self: exclusions.open())
    reflect_indexes_with_expressions = property(lambda self: exclusions.open())
    index_ddl_if_exists = property(lambda self: exclusions.open())
    table_ddl_if_exists = property(lambda self: exclusions.open())
    check_constraint_reflection = property(lambda self: exclusions.open())
    inline_check_constraint_reflection = property(lambda self: exclusions.open())
    unique_constraint_reflection = property(lambda self: exclusions.closed())
    primary_key_constraint_reflection = property(lambda self: exclusions.open())
    temporary_tables = property(lambda self: exclusions.open())
    temp_table_reflection = property(lambda self: exclusions.closed())
    schemas = property(lambda self: exclusions.open())
    # Keys that number themselves come from RETURNING.
    implements_get_lastrowid = property(lambda self: exclusions.closed())
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
    savepoints = property(lambda self: exclusions.open())
    comment_reflection = property(lambda self: exclusions.open())
