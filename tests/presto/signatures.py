"""Statements for the signatures of Presto's SHOW FUNCTIONS.

Arguments are columns, so that the coordinator does not compute the calls itself: each is a CASE
over n_nationkey with values of its type, one of them null. Type variables stand for several types.
`ARGUMENTS` has values for functions that most values make fail; `FORMS` has the call itself where
it is not deterministic or its value cannot be compared.
"""

import itertools
import json
import re

from run import HERE

SKETCHES = json.loads((HERE / "sketches-0.287.json").read_text())


def sketch(name, kind=None):
    return f"CAST(X'{SKETCHES[name]}' AS {kind or name})"


# Values by type; rows take them in turn.
VALUES = {
    "boolean": ["true", "false", "NULL"],
    "tinyint": ["TINYINT '3'", "TINYINT '12'", "NULL", "TINYINT '1'"],
    "smallint": ["SMALLINT '3'", "SMALLINT '12'", "NULL", "SMALLINT '1'"],
    "integer": ["3", "12", "NULL", "1"],
    "bigint": ["BIGINT '3'", "BIGINT '12'", "NULL", "BIGINT '1'"],
    "real": ["REAL '0.25'", "REAL '1.5'", "NULL", "REAL '3.75'"],
    "double": ["DOUBLE '0.25'", "DOUBLE '0.5'", "NULL", "DOUBLE '3.75'"],
    "decimal": ["DECIMAL '12.35'", "DECIMAL '-02.50'", "NULL", "DECIMAL '00.01'"],
    "long decimal": ["DECIMAL '1234567890123456789012.35'", "NULL",
                     "DECIMAL '-0000000000000000000012.55'"],
    "varchar": ["'hello wörld'", "'abc'", "NULL", "''", "'3'"],
    "char": ["CAST('ab' AS CHAR(5))", "NULL", "CAST(' hello' AS CHAR(5))"],
    "varbinary": ["X'68656C6C6F'", "X'0001020304050607'", "NULL", "X''"],
    "date": ["DATE '2020-02-29'", "DATE '1969-12-31'", "NULL"],
    "time": ["TIME '13:14:15.678'", "TIME '00:00:00.000'", "NULL"],
    "time with time zone": ["TIME '13:14:15.678 +02:00'", "TIME '00:00:00.000 -08:00'", "NULL"],
    "timestamp": ["TIMESTAMP '2020-02-29 13:14:15.678'", "TIMESTAMP '1969-12-31 23:59:59.001'",
                  "NULL"],
    "timestamp with time zone": ["TIMESTAMP '2020-02-29 13:14:15.678 America/Los_Angeles'",
                                 "TIMESTAMP '1969-12-31 23:59:59.001 +05:30'", "NULL"],
    "interval day to second": ["INTERVAL '1 02:03:04.567' DAY TO SECOND", "NULL",
                               "INTERVAL '-5' HOUR"],
    "interval year to month": ["INTERVAL '1-3' YEAR TO MONTH", "NULL", "INTERVAL '-5' MONTH"],
    "json": ["""JSON '{"a": [1, 2.5, "x"], "b": null}'""", "JSON '[1, true, \"x\", 2.5]'", "NULL",
             "JSON '3'"],
    "ipaddress": ["IPADDRESS '10.1.2.3'", "IPADDRESS '2001:db8::1'", "NULL"],
    "ipprefix": ["IPPREFIX '10.1.0.0/16'", "IPPREFIX '2001:db8::/32'", "NULL"],
    "uuid": ["UUID '12151fd2-7586-11e9-8f9e-2a86e4085a59'", "NULL"],
    "jsonpath": ["'$.a'"],
    "re2jregexp": ["'[a-l]+'"],
    "codepoints": ["'ho'"],
    "color": ["rgb(255, 0, 0)", "rgb(16, 32, 255)"],
    "bingtile": ["bing_tile('0123')", "bing_tile('213')", "NULL"],
    "hyperloglog": [sketch("HyperLogLog"), sketch("HyperLogLog of varchar", "HyperLogLog"), "NULL",
                    sketch("HyperLogLog dense", "HyperLogLog")],
    "tdigest(double)": [sketch("tdigest(double)"), "NULL",
                        sketch("tdigest(double) with weights", "tdigest(double)"),
                        sketch("tdigest(double) of 15000", "tdigest(double)")],
    "qdigest(bigint)": [sketch("qdigest(bigint)"), "NULL"],
    "qdigest(double)": [sketch("qdigest(double)"), "NULL"],
    "qdigest(real)": [sketch("qdigest(real)"), "NULL"],
    "setdigest": [sketch("SetDigest"), "NULL", sketch("SetDigest of varchar", "SetDigest")],
    "khyperloglog": [sketch("KHyperLogLog"), "NULL", sketch("KHyperLogLog")],
    "kllsketch(bigint)": [sketch("kllsketch(bigint)"), "NULL",
                          sketch("kllsketch(bigint) of 15000", "kllsketch(bigint)")],
    "kllsketch(double)": [sketch("kllsketch(double)"), "NULL"],
    "kllsketch(varchar)": [sketch("kllsketch(varchar)"), "NULL"],
    "kllsketch(boolean)": [sketch("kllsketch(boolean)"), "NULL"],
    # Bits 0 and 71, and bit 1, of 24 levels of 64 buckets; not private.
    "sfmsketch": ["CAST(X'070600000018000000000000000000000009000000010000000000000080' AS SfmSketch)",
                  "NULL", "CAST(X'07060000001800000000000000000000000100000002' AS SfmSketch)"],
    "unknown": ["NULL"],
}

# Further values, which make some functions fail.
EDGES = {
    "tinyint": ["TINYINT '-128'", "TINYINT '0'", "TINYINT '127'"],
    "smallint": ["SMALLINT '-5'", "SMALLINT '0'"],
    "integer": ["-5", "0"],
    "bigint": ["BIGINT '-5'", "BIGINT '0'", "BIGINT '9007199254740993'"],
    "real": ["REAL '-2.5'", "REAL '0'"],
    "double": ["DOUBLE '-2.5'", "DOUBLE '0'", "DOUBLE '1e300'"],
    "varchar": ["'  Ünï-Codé 😀 '", "'a,b=c;d'", "'ABBA'"],
}

# Values of functions of numbers alone: 0.287 compares NaN with other values as later releases do not.
SPECIAL = {
    "real": ["CAST(nan() AS REAL)", "REAL '-0.0'", "CAST(infinity() AS REAL)"],
    "double": ["nan()", "DOUBLE '-0.0'", "infinity()", "-infinity()"],
}

# The types that type variables stand for, one after the other.
VARIABLES = {
    "T": ["bigint", "varchar", "double"],
    "E": ["varchar", "bigint"],
    "K": ["varchar", "bigint"],
    "V": ["double", "varchar", "bigint"],
    "U": ["varchar", "bigint"],
    "S": ["bigint"], "R": ["bigint"],
    "K1": ["varchar"], "K2": ["bigint"], "V1": ["bigint"], "V2": ["varchar"], "V3": ["double"],
    **{f"T{it}": [["bigint", "varchar", "double"][it % 3]] for it in range(1, 8)},
}

# Values of the arguments of functions, by name or by name and arguments.
ARGUMENTS = {
    "bitwise_left_shift": [["1", "5"], ["2", "3"]],
    "bit_count": [["BIGINT '9'", "BIGINT '-7'", "NULL"], ["BIGINT '64'", "BIGINT '8'"]],
    "bitwise_logical_shift_right": [["BIGINT '9'", "BIGINT '-8'"], ["BIGINT '2'"], ["BIGINT '16'"]],
    "bitwise_shift_left": [["BIGINT '9'", "BIGINT '-8'"], ["BIGINT '2'"], ["BIGINT '16'"]],
    "chr": [["BIGINT '65'", "BIGINT '252'", "NULL", "BIGINT '128512'"]],
    "codepoint": [["'a'", "'ü'", "NULL"]],
    "binomial_cdf": [["5", "20"], ["DOUBLE '0.5'"], ["3", "NULL"]],
    "inverse_binomial_cdf": [["20", "5"], ["DOUBLE '0.5'"], ["DOUBLE '0.25'", "NULL"]],
    "beta_cdf": [["DOUBLE '3'"], ["DOUBLE '3.6'"], ["DOUBLE '0.25'", "DOUBLE '1.0'", "NULL"]],
    "inverse_beta_cdf": [["DOUBLE '3'"], ["DOUBLE '3.6'"], ["DOUBLE '0.25'", "DOUBLE '0.5'", "NULL"]],
    "chi_squared_cdf": [["DOUBLE '3'"], ["DOUBLE '2.25'", "NULL"]],
    "inverse_chi_squared_cdf": [["DOUBLE '3'"], ["DOUBLE '0.25'", "NULL"]],
    "normal_cdf": [["DOUBLE '0'"], ["DOUBLE '1'", "DOUBLE '2'"], ["DOUBLE '1.96'", "NULL"]],
    "inverse_normal_cdf": [["DOUBLE '0'"], ["DOUBLE '1'"], ["DOUBLE '0.3'", "NULL", "DOUBLE '0.9'"]],
    "cauchy_cdf": [["DOUBLE '0'"], ["DOUBLE '1'"], ["DOUBLE '0.3'", "NULL"]],
    "inverse_cauchy_cdf": [["DOUBLE '0'"], ["DOUBLE '1'"], ["DOUBLE '0.3'", "NULL"]],
    "laplace_cdf": [["DOUBLE '4'"], ["DOUBLE '1'"], ["DOUBLE '3'", "NULL", "DOUBLE '5'"]],
    "inverse_laplace_cdf": [["DOUBLE '4'"], ["DOUBLE '1'"], ["DOUBLE '0.3'", "NULL", "DOUBLE '0.8'"]],
    "f_cdf": [["DOUBLE '2'"], ["DOUBLE '5'"], ["DOUBLE '0.7988'", "NULL"]],
    "inverse_f_cdf": [["DOUBLE '2'"], ["DOUBLE '5'"], ["DOUBLE '0.5'", "NULL"]],
    "gamma_cdf": [["DOUBLE '3'"], ["DOUBLE '4'"], ["DOUBLE '10'", "NULL"]],
    "inverse_gamma_cdf": [["DOUBLE '3'"], ["DOUBLE '4'"], ["DOUBLE '0.9'", "NULL"]],
    "weibull_cdf": [["DOUBLE '1'"], ["DOUBLE '1.5'"], ["DOUBLE '0.4'", "NULL"]],
    "inverse_weibull_cdf": [["DOUBLE '1'"], ["DOUBLE '1.5'"], ["DOUBLE '0.4'", "NULL"]],
    "poisson_cdf": [["DOUBLE '3'"], ["2", "5", "NULL"]],
    "inverse_poisson_cdf": [["DOUBLE '3'"], ["DOUBLE '0.3'", "NULL"]],
    "wilson_interval_lower": [["BIGINT '3'"], ["BIGINT '12'"], ["DOUBLE '1.96'"]],
    "wilson_interval_upper": [["BIGINT '3'"], ["BIGINT '12'"], ["DOUBLE '1.96'"]],
    "width_bucket(double, double, double, bigint)":
        [["DOUBLE '3.14'", "NULL"], ["DOUBLE '0'"], ["DOUBLE '4'"], ["BIGINT '3'"]],
    "width_bucket(double, array(double))":
        [["DOUBLE '3.14'", "NULL"], ["ARRAY[DOUBLE '1', DOUBLE '2', DOUBLE '4']"]],
    "great_circle_distance": [["DOUBLE '36.12'"], ["DOUBLE '-86.67'"], ["DOUBLE '33.94'", "NULL"],
                              ["DOUBLE '-118.40'"]],
    "from_base": [["'11'", "'ff'", "NULL"], ["BIGINT '16'", "BIGINT '20'"]],
    "to_base": [["BIGINT '255'", "BIGINT '-11'", "NULL"], ["BIGINT '16'", "BIGINT '2'"]],
    "cosine_similarity": [["MAP(ARRAY['a', 'b'], ARRAY[DOUBLE '1', DOUBLE '2'])"],
                          ["MAP(ARRAY['a', 'c'], ARRAY[DOUBLE '1', DOUBLE '3'])", "NULL"]],
    "map_normalize": [["MAP(ARRAY['a', 'b'], ARRAY[DOUBLE '1', DOUBLE '2'])", "NULL"]],
    "parse_presto_data_size": [["'1B'", "'2.3MB'", "NULL"]],
    "parse_duration": [["'42.8ms'", "'3.81d'", "NULL"]],
    "date(varchar(x))": [["'2020-02-29'", "NULL"]],
    "date_add": [["'day'", "'month'", "'hour'"], ["BIGINT '1'", "BIGINT '-40'"], None],
    "date_add(varchar(x), bigint, date)": [["'day'", "'month'", "'year'"],
                                           ["BIGINT '1'", "BIGINT '-40'"], None],
    "date_add(varchar(x), bigint, time)": [["'hour'", "'second'"], ["BIGINT '1'", "BIGINT '-40'"],
                                           None],
    "date_add(varchar(x), bigint, time with time zone)":
        [["'hour'", "'second'"], ["BIGINT '1'", "BIGINT '-40'"], None],
    "date_diff": [["'hour'", "'day'", "'month'"], None, None],
    "date_diff(varchar(x), date, date)": [["'day'", "'month'", "'week'"], None, None],
    "date_diff(varchar(x), time, time)": [["'hour'", "'second'"], None, None],
    "date_diff(varchar(x), time with time zone, time with time zone)":
        [["'hour'", "'second'"], None, None],
    "date_trunc": [["'hour'", "'day'", "'month'"], None],
    "date_trunc(varchar(x), date)": [["'week'", "'day'", "'month'"], None],
    "date_trunc(varchar(x), time)": [["'hour'", "'second'"], None],
    "date_trunc(varchar(x), time with time zone)": [["'hour'", "'second'"], None],
    "date_format": [None, ["'%Y-%m-%d %H:%i:%s'", "'%W %e. %M %y %p %f'"]],
    "format_datetime": [None, ["'yyyy-MM-dd HH:mm:ss.SSS ZZ'", "'EEE, d MMM yyyy'"]],
    "date_parse": [["'2020-02-29 13:14'", "NULL"], ["'%Y-%m-%d %H:%i'"]],
    "parse_datetime": [["'2020-02-29 13:14 +0100'", "NULL"], ["'yyyy-MM-dd HH:mm Z'"]],
    "from_iso8601_date": [["'2020-02-29'", "'2020-W10-3'", "NULL"]],
    "from_iso8601_timestamp": [["'2020-02-29T13:14:15.5+02:00'", "'2020-02-29T13:14Z'", "NULL"]],
    "from_unixtime(double, varchar(x))": [["DOUBLE '1600000000.25'"], ["'America/New_York'", "NULL"]],
    "from_unixtime(double, bigint, bigint)": [["DOUBLE '1600000000.25'"], ["BIGINT '5'"],
                                              ["BIGINT '30'", "NULL"]],
    "from_unixtime(double)": [["DOUBLE '1600000000.25'", "DOUBLE '-1'", "NULL"]],
    "from_base32": [["'NBSWY3DP'", "NULL"]],
    "from_base32(varbinary)": [["to_utf8('NBSWY3DP')", "NULL"]],
    "from_base64": [["'aGVsbG8='", "NULL"]],
    "from_base64(varbinary)": [["to_utf8('aGVsbG8=')", "NULL"]],
    "from_base64url": [["'aGVsbG8='", "NULL"]],
    "from_base64url(varbinary)": [["to_utf8('aGVsbG8=')", "NULL"]],
    "from_hex": [["'68656C6c'", "NULL"]],
    "from_hex(varbinary)": [["to_utf8('68656C6c')", "NULL"]],
    "from_big_endian_32": [["X'00000102'", "X'FFFFFFFE'", "NULL"]],
    "from_big_endian_64": [["X'0000000000000102'", "X'FFFFFFFFFFFFFFFE'", "NULL"]],
    "from_ieee754_32": [["X'3F800000'", "NULL"]],
    "from_ieee754_64": [["X'3FF0000000000000'", "NULL"]],
    "from_utf8(varbinary, varchar(x))": [["X'68FF65'", "NULL"], ["'?'"]],
    "from_utf8(varbinary, bigint)": [["X'68FF65'", "NULL"], ["BIGINT '63'"]],
    "from_utf8(varbinary)": [["X'68FF65'", "X'68'", "NULL"]],
    "hamming_distance": [["'karolin'", "NULL"], ["'kathrin'"]],
    "json_array_get": [["JSON '[1, \"x\", {\"a\": 2}]'", "NULL"], ["BIGINT '1'", "BIGINT '-1'", "BIGINT '7'"]],
    "json_array_get(varchar(x), bigint)": [["'[1, \"x\", {\"a\": 2}]'", "NULL"],
                                           ["BIGINT '1'", "BIGINT '-1'", "BIGINT '7'"]],
    "json_array_contains": [["JSON '[1, true, \"abc\", 0.5, 3]'", "NULL", "JSON '3'"], None],
    "json_array_length(varchar(x))": [["'[1, 2]'", "'{}'", "'x'", "NULL"]],
    "json_extract(varchar(x), JsonPath)": [["'{\"a\": [1, 2]}'", "NULL", "'x'"], None],
    "json_extract_scalar(varchar(x), JsonPath)": [["'{\"a\": \"u\"}'", "NULL", "'x'"], None],
    "json_size(varchar(x), JsonPath)": [["'{\"a\": [1, 2]}'", "NULL", "'x'"], None],
    "json_parse": [["'{\"b\": 1, \"a\":[ 1.0,null]}'", "NULL"]],
    "is_json_scalar(varchar(x))": [["'[1]'", "'1'", "NULL"]],
    "ip_prefix(varchar(x), bigint)": [["'10.1.2.3'", "NULL"], ["BIGINT '9'", "BIGINT '16'"]],
    "ip_prefix(ipaddress, bigint)": [["IPADDRESS '10.1.2.3'", "NULL"], ["BIGINT '9'", "BIGINT '16'"]],
    "normalize": [["'scho' || U&'\\0308' || 'n'", "NULL"], ["'NFC'", "'NFKD'"]],
    "split_to_map": [["'a=1,b=2'", "NULL"], ["','"], ["'='"], None],
    "split_to_multimap": [["'a=1,b=2,a=3'", "NULL"], ["','"], ["'='"]],
    "split_part": [["'a,b,c'", "NULL"], ["','"], ["BIGINT '2'", "BIGINT '4'"]],
    "split(varchar(x), varchar(y), bigint)": [["'a,b,c'", "NULL"], ["','"], ["BIGINT '2'", "BIGINT '4'"]],
    "split(varchar(x), varchar(y))": [["'a,b,c'", "NULL", "''"], ["','", "'bc'"]],
    "replace": [["'hello wörld'", "NULL", "''"], ["'l'", "'ö'"], ["'XY'", "''"]],
    "replace_first": [["'hello wörld'", "NULL", "''"], ["'l'", "'ö'"], ["'XY'", "''"]],
    "strpos(varchar(x), varchar(y), bigint)": [["'abcabc'", "NULL"], ["'bc'"], ["BIGINT '2'"]],
    "strrpos(varchar(x), varchar(y), bigint)": [["'abcabc'", "NULL"], ["'bc'"], ["BIGINT '2'"]],
    "strpos": [["'abcabc'", "NULL"], ["'bc'", "'x'"]],
    "strrpos": [["'abcabc'", "NULL"], ["'bc'", "'x'"]],
    "lpad(varchar(x), bigint, varchar(y))": [["'wörld'", "NULL"], ["BIGINT '8'", "BIGINT '2'"], ["'ab'"]],
    "rpad(varchar(x), bigint, varchar(y))": [["'wörld'", "NULL"], ["BIGINT '8'", "BIGINT '2'"], ["'ab'"]],
    "lpad(varbinary, bigint, varbinary)": [["X'0102'", "NULL"], ["BIGINT '8'"], ["X'AA'"]],
    "rpad(varbinary, bigint, varbinary)": [["X'0102'", "NULL"], ["BIGINT '8'"], ["X'AA'"]],
    "regexp_extract(varchar(x), Re2JRegExp, bigint)": [None, ["'([a-l])([a-z])'"], ["BIGINT '2'"]],
    "regexp_extract_all(varchar(x), Re2JRegExp, bigint)": [None, ["'([a-l])([a-z])'"], ["BIGINT '2'"]],
    "regexp_replace(varchar(x), Re2JRegExp, varchar(y))": [None, ["'([a-l])'"], ["'<$1>'"]],
    "sequence(bigint, bigint, bigint)": [["BIGINT '1'", "BIGINT '5'"], ["BIGINT '9'"], ["BIGINT '2'"]],
    "sequence(bigint, bigint)": [["BIGINT '1'", "BIGINT '5'"], ["BIGINT '3'", "NULL"]],
    "sequence(date, date)": [["DATE '2020-02-27'"], ["DATE '2020-03-02'", "NULL"]],
    "sequence(date, date, interval day to second)":
        [["DATE '2020-02-27'"], ["DATE '2020-03-05'", "NULL"], ["INTERVAL '2' DAY"]],
    "sequence(date, date, interval year to month)":
        [["DATE '2020-01-31'"], ["DATE '2020-05-05'", "NULL"], ["INTERVAL '1' MONTH"]],
    "sequence(timestamp, timestamp, interval day to second)":
        [["TIMESTAMP '2020-01-31 00:00'"], ["TIMESTAMP '2020-02-01 00:00'", "NULL"],
         ["INTERVAL '7' HOUR"]],
    "sequence(timestamp, timestamp, interval year to month)":
        [["TIMESTAMP '2020-01-31 00:00'"], ["TIMESTAMP '2020-05-01 00:00'", "NULL"],
         ["INTERVAL '1' MONTH"]],
    "repeat": [None, ["3", "0", "NULL"]],
    "ngrams": [["ARRAY['a', 'b', NULL, 'c']", "NULL"], ["2", "3"]],
    "combinations": [["ARRAY['a', 'b', NULL, 'c']", "NULL"], ["2", "3"]],
    "array_top_n(array(T), integer)": [None, ["2"]],
    "array_top_n(array(T), integer, function(T,T,integer))": [None, ["2"], None],
    "slice": [None, ["BIGINT '2'", "BIGINT '-2'"], ["BIGINT '2'"]],
    "trim_array": [None, ["BIGINT '2'", "BIGINT '0'"]],
    "array_normalize": [["ARRAY[DOUBLE '3', DOUBLE '4']", "NULL"], ["DOUBLE '2'", "DOUBLE '1'"]],
    "find_first(array(T), bigint, function(T,boolean))": [None, ["BIGINT '2'", "BIGINT '-1'"], None],
    "find_first_index(array(T), bigint, function(T,boolean))":
        [None, ["BIGINT '2'", "BIGINT '-1'"], None],
    "element_at(array(E), bigint)": [None, ["BIGINT '2'", "BIGINT '-1'", "BIGINT '99'"]],
    "array_position(array(T), T, bigint)": [None, None, ["BIGINT '1'", "BIGINT '-1'"]],
    "array_intersect(array(array(T)))":
        [["ARRAY[ARRAY[1, 2, 3], ARRAY[3, 1, NULL]]", "ARRAY[ARRAY[1], NULL]", "NULL"]],
    "url_extract_parameter": [["'http://u:p@example.com:8080/a/b?k1=v1&k2=v%202#frag'", "'x'", "NULL"],
                              ["'k2'", "'k3'"]],
    **{f"url_extract_{it}": [["'http://u:p@example.com:8080/a/b?k1=v1&k2=v2#frag'", "'x'", "NULL"]]
       for it in ["fragment", "host", "path", "port", "protocol", "query"]},
    "url_decode": [["'a%20b+c'", "NULL"]],
    "word_stem": [["'running'", "'ponies'", "NULL"]],
    "word_stem(varchar(x), varchar(2))": [["'running'", "'laufende'", "NULL"], ["'de'"]],
    "round(bigint, integer)": [["BIGINT '1234'", "BIGINT '-1250'", "NULL"], ["-2", "0"]],
    "round(integer, integer)": [["1234", "-1250", "NULL"], ["-2", "0"]],
    "round(smallint, integer)": [["SMALLINT '1234'", "SMALLINT '-1250'", "NULL"], ["-2", "0"]],
    "round(tinyint, integer)": [["TINYINT '123'", "TINYINT '-125'", "NULL"], ["-2", "0"]],
    "round(double, integer)": [["DOUBLE '1.245'", "DOUBLE '-125.5'", "NULL"], ["2", "-1"]],
    "round(real, integer)": [["REAL '1.245'", "REAL '-125.5'", "NULL"], ["2", "-1"]],
    "round(decimal(p,s), integer)": [None, ["1", "-1"]],
    "truncate(decimal(p,s), integer)": [None, ["1", "-1"]],
    "ntile": [["BIGINT '2'"]],
    "nth_value": [None, ["BIGINT '2'"]],
    "approx_most_frequent": [["BIGINT '3'"], None, ["BIGINT '10'"]],
    "max(E, bigint)": [None, ["BIGINT '2'"]],
    "min(E, bigint)": [None, ["BIGINT '2'"]],
    "max_by(V, K, bigint)": [None, None, ["BIGINT '2'"]],
    "min_by(V, K, bigint)": [None, None, ["BIGINT '2'"]],
    "numeric_histogram": [["BIGINT '10'"], None, None],
    "differential_entropy": [["BIGINT '10'"], None, None],
    "classification_fall_out": [["BIGINT '4'"], ["true", "false"], ["DOUBLE '0.25'", "DOUBLE '0.5'", "DOUBLE '0.9'"], ["DOUBLE '2'"]],
    "value_at_quantile": [None, ["DOUBLE '0.5'", "DOUBLE '0'", "DOUBLE '0.99'"]],
    "values_at_quantiles": [None, ["ARRAY[DOUBLE '0.25', DOUBLE '0.5']"]],
    "quantile_at_value": [None, ["DOUBLE '3'"]],
    "bar": [["DOUBLE '0.25'"], ["BIGINT '10'"], ["rgb(255, 0, 0)"], ["rgb(16, 32, 255)"]],
    "color(varchar(x))": [["'red'", "'#f0a'", "'Cyan'", "NULL"]],
    "rgb": [["BIGINT '255'", "BIGINT '16'"], ["BIGINT '0'", "NULL"], ["BIGINT '128'"]],
    "color(double, double, double, color, color)": [
        ["DOUBLE '0.25'", "DOUBLE '0.5'", "NULL"], ["DOUBLE '0'"], ["DOUBLE '1'", "DOUBLE '2'"],
        None, None],
    "bing_tile(integer, integer, integer)": [["3", "1"], ["5", "0"], ["3", "NULL"]],
    "bing_tile(varchar)": [["'0123'", "'213'", "NULL", "''"]],
    "bing_tile_parent(BingTile, integer)": [None, ["1", "2"]],
    "bing_tile_children(BingTile, integer)": [None, ["4", "5"]],
    "bing_tile_at": [["DOUBLE '30.12'", "DOUBLE '-85'"], ["DOUBLE '60'", "DOUBLE '-180'", "NULL"],
                     ["15", "1"]],
    "bing_tiles_around": [["DOUBLE '30.12'", "DOUBLE '-85'"],
                          ["DOUBLE '60'", "DOUBLE '-180'", "NULL"], ["15", "1"], ["DOUBLE '0.5'"]],
    "bing_tiles_around(double, double, integer, double)": [
        ["DOUBLE '30.12'", "DOUBLE '-85'", "DOUBLE '52.5'"],
        ["DOUBLE '60'", "DOUBLE '-180'", "NULL", "DOUBLE '179.9'"], ["15", "1", "9", "9"],
        ["DOUBLE '0.5'", "DOUBLE '0.5'", "DOUBLE '150.5'"]],
    "map_top_n": [None, ["BIGINT '2'"]],
    "uniqueness_distribution": [None, ["BIGINT '10'"]],
    "reservoir_sample": [["CAST(NULL AS ARRAY(BIGINT))"], ["BIGINT '0'"], None, ["100"]],
    "key_sampling_percent": [["'abc'", "NULL"]],
    "trail": [["'hello'", "NULL"], ["3"]],
    "secure_random": [["1"], ["5"]],
    "array_cum_sum": [["ARRAY[BIGINT '3', BIGINT '4', NULL, BIGINT '1']", "NULL"]],
    "map_union_sum": [["MAP(ARRAY['a', 'b'], ARRAY[BIGINT '1', NULL])",
                       "MAP(ARRAY['a', 'c'], ARRAY[BIGINT '5', BIGINT '2'])", "NULL"]],
    "map_subset": [["MAP(ARRAY['a', 'b'], ARRAY[DOUBLE '1', NULL])", "NULL"], ["ARRAY['a', 'x']"]],
    "map()": [],
    "is_subnet_of": [["IPPREFIX '10.1.0.0/16'", "NULL"], None],
    "sketch_kll_with_k": [None, ["BIGINT '100'"]],
    "tdigest_agg(V, bigint)": [["DOUBLE '0.25'", "DOUBLE '3'"], ["BIGINT '2'"]],
    "tdigest_agg(V, bigint, double)": [["DOUBLE '0.25'", "DOUBLE '3'"], ["BIGINT '2'"], ["DOUBLE '50'"]],
    "qdigest_agg": [None, ["BIGINT '2'"], ["DOUBLE '0.05'"]],
    "approx_set": [None, ["DOUBLE '0.05'"]],
    "empty_approx_set": [["DOUBLE '0.05'"]],
    "approx_distinct": [None, ["DOUBLE '0.05'"]],
    # Other epsilons flip bits at random.
    "noisy_approx_distinct_sfm": [None, ["infinity()"], ["BIGINT '64'"], ["BIGINT '24'"]],
    "noisy_approx_set_sfm": [None, ["infinity()"], ["BIGINT '64'"], ["BIGINT '24'"]],
    "noisy_approx_set_sfm_from_index_and_zeros": [
        ["BIGINT '3'", "BIGINT '12'", "NULL", "BIGINT '0'"], ["BIGINT '3'", "BIGINT '40'"],
        ["infinity()"], ["BIGINT '64'"], ["BIGINT '24'"]],
    "noisy_empty_approx_set_sfm": [["infinity()"], ["BIGINT '64'"], ["BIGINT '24'"]],
    "sketch_theta_estimate": [[f"X'{SKETCHES['theta']}'", "NULL"]],
    "sketch_theta_summary": [[f"X'{SKETCHES['theta']}'", "NULL"]],
    "reidentification_potential": [None, ["BIGINT '2'"]],
    "multimap_from_entries": [["ARRAY[ROW('a', 1), ROW('b', 2), ROW('a', 3)]", "NULL"]],
    "map_from_entries": [["ARRAY[ROW('a', 1), ROW('b', NULL)]", "NULL"]],
    "zip": [None] * 7,
    "current_date": [],
    "flatten": [["ARRAY[ARRAY[1, NULL], NULL, ARRAY[2]]", "NULL"]],
}
for _name in ["miss_rate", "precision", "recall", "thresholds"]:
    ARGUMENTS[f"classification_{_name}"] = ARGUMENTS["classification_fall_out"]
for _kind in ["bigint", "double", "real"]:
    for _more in ["", ", double"]:
        _fraction = ["DOUBLE '0.5'"]
        _many = ["ARRAY[DOUBLE '0.25', DOUBLE '0.9']"]
        _accuracy = [["DOUBLE '0.001'"]] if _more else []
        _signatures = {f"{_kind}, double{_more}": [None, _fraction],
                       f"{_kind}, bigint, double{_more}": [None, ["BIGINT '2'"], _fraction],
                       f"{_kind}, array(double){_more}": [None, _many],
                       f"{_kind}, bigint, array(double){_more}": [None, ["BIGINT '2'"], _many]}
        for _arguments, _values in _signatures.items():
            ARGUMENTS[f"approx_percentile({_arguments})"] = [*_values, *_accuracy]
for _name in ["current_time", "current_timestamp", "now", "localtime", "localtimestamp"]:
    ARGUMENTS[_name] = []
for _name in ["bitwise_right_shift", "bitwise_right_shift_arithmetic"]:
    ARGUMENTS[_name] = [None, ["1", "3"]]
for _name in ["map_top_n_keys", "map_top_n_values", "map_keys_by_top_n_values"]:
    ARGUMENTS[_name] = [None, ["BIGINT '2'"], None]
# Variances beyond the range of DOUBLE depend on how Java merges states.
for _name in ["stddev", "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance"]:
    ARGUMENTS[f"{_name}(double)"] = [["DOUBLE '-2.5'", "DOUBLE '0'", "DOUBLE '1e10'", "NULL"]]
for _kind in ["bigint", "double", "varchar", "boolean"]:
    ARGUMENTS[f"sketch_kll_quantile(kllsketch({_kind}), double)"] = [None, ["DOUBLE '0.5'"]]
    ARGUMENTS[f"sketch_kll_quantile(kllsketch({_kind}), double, boolean)"] = \
        [None, ["DOUBLE '0.25'"], ["true", "false"]]

ARGUMENTS["map(array(K), array(V))"] = [["ARRAY['a', 'b']", "NULL"], ["ARRAY[1, NULL]"]]
ARGUMENTS["quantile_at_value(qdigest(bigint), bigint)"] = [None, ["BIGINT '3'"]]
ARGUMENTS["quantile_at_value(qdigest(real), real)"] = [None, ["REAL '3'"]]

# Whole statements for functions some of whose arguments must be written as constants.
_ROWS = ("(SELECT n_nationkey, IF(n_nationkey <> 2, n_nationkey - 1) AS a0, IF(n_nationkey > 1, "
         "n_name || U&'\\0308') AS a1 FROM nation WHERE n_nationkey < 7)")
STATEMENTS = {
    "reduce_agg": [
        f"SELECT reduce_agg(a0, BIGINT '5', (s, x) -> s + x, (s, t) -> s + t - 5) FROM {_ROWS}",
        f"SELECT n_nationkey % 2, reduce_agg(a0, BIGINT '0', (s, x) -> s + x * x, (s, t) -> s + t) "
        f"FROM {_ROWS} GROUP BY 1 ORDER BY 1",
        f"SELECT reduce_agg(a0, BIGINT '0', (s, x) -> s + x, (s, t) -> s + t) FROM {_ROWS} "
        "WHERE n_nationkey < 0",
    ],
    # Without equal keys, whose order is open.
    **{f"{name}(V, K)": [f"SELECT {name}(a1, a0), {name}(a0, a1), {name}(a1, DOUBLE '-0.5' * a0) "
                         f"FROM {_ROWS}"] for name in ["max_by", "min_by"]},
    **{f"{name}(V, K, bigint)": [f"SELECT {name}(a1, a0, BIGINT '2'), {name}(a0, a1, BIGINT '3') "
                                 f"FROM {_ROWS}"] for name in ["max_by", "min_by"]},
    "normalize": [f"SELECT normalize(a1, {it}) FROM {_ROWS} ORDER BY n_nationkey"
                  for it in ["NFC", "NFD", "NFKC", "NFKD"]],
    "differential_entropy(bigint, double, double, varchar, double, double)": [
        "SELECT differential_entropy(BIGINT '5', DOUBLE '1' * a0 + 1.5, DOUBLE '1.5', "
        f"'fixed_histogram_mle', DOUBLE '0', DOUBLE '10') FROM {_ROWS}"],
}

# Calls that are not deterministic, or whose order or digits are open.
FORMS = {
    "rand": "{call} BETWEEN 0 AND 12", "random": "{call} BETWEEN 0 AND 12",
    "secure_rand": "{call} BETWEEN 0 AND 12", "secure_random": "{call} BETWEEN 0 AND 12",
    "shuffle": "array_sort({call})",
    "uuid": "typeof({call})",
    "now": "date_diff('day', CAST({call} AS TIMESTAMP), localtimestamp)",
    "current_timestamp": "date_diff('day', CAST(CURRENT_TIMESTAMP AS TIMESTAMP), localtimestamp)",
    "current_time": "typeof(CURRENT_TIME)",
    "localtime": "typeof(LOCALTIME)",
    "localtimestamp": "typeof(LOCALTIMESTAMP)",
    "current_date": "date_diff('day', CURRENT_DATE, CAST(LOCALTIMESTAMP AS DATE))",
    "array_agg": "array_sort({call})", "set_agg": "array_sort({call})",
    "set_union": "array_sort({call})",
    "multimap_agg": "transform_values({call}, (k, v) -> array_sort(v))",
    "checksum": "to_hex({call})",
    "arbitrary": "{call} IS NOT NULL", "any_value": "{call} IS NOT NULL",
    "array_union": "array_sort({call})", "array_except": "array_sort({call})",
    "array_intersect": "array_sort({call})",
    "reservoir_sample": "{call}.processed_count",
    "noisy_approx_distinct_sfm": "{call}",
    "noisy_approx_set_sfm": "to_hex(CAST({call} AS VARBINARY))",
    "noisy_approx_set_sfm_from_index_and_zeros": "to_hex(CAST({call} AS VARBINARY))",
    "noisy_empty_approx_set_sfm": "to_hex(CAST({call} AS VARBINARY))",
    "noisy_": "{call} IS NOT NULL",
    "infinity": "{call}", "nan": "{call}",
}

# How values of types are shown.
SHOWN = {
    "hyperloglog": "to_hex(CAST({call} AS VARBINARY))",
    "khyperloglog": "to_hex(CAST({call} AS VARBINARY))",
    "setdigest": "to_hex(CAST({call} AS VARBINARY))",
    "tdigest": "to_hex(CAST({call} AS VARBINARY))",
    "qdigest": "to_hex(CAST({call} AS VARBINARY))",
    "kllsketch": "to_hex(CAST({call} AS VARBINARY))",
    "sfmsketch": "to_hex(CAST({call} AS VARBINARY))",
    "color": "render('x', {call})",
}

VARIABLE = re.compile(r"\b([A-Z]\d?)\b")
ROWS = 7


def name_of(row):
    return f"{row[0]}({row[2]})"


def split_types(text):
    """The types of a list, without those inside of parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    parts.append(text[start:].strip())
    return [it for it in parts if it]


def inside(kind):
    return split_types(kind[kind.index("(") + 1:-1])


def values_of(kind, table):
    """Values of a type as SQL; None if there are none."""
    lower = kind.lower()
    if lower in table:
        return table[lower]
    base = lower.split("(")[0]
    if base in ("varchar", "char", "decimal"):
        return table.get(base) or VALUES[base]
    if base == "array":
        elements = values_of(inside(kind)[0], table)
        if elements is None:
            return None
        listed = ", ".join([elements[-1], elements[0], "NULL", elements[0]])
        return [f"ARRAY[{listed}]", "NULL", f"ARRAY[{', '.join(reversed(elements))}]"]
    if base == "map":
        key, value = inside(kind)
        keys = values_of(key, table)
        values = values_of(value, table)
        if keys is None or values is None:
            return None
        keys = [it for it in keys if it != "NULL"]
        pairs = [(it, values[at % len(values)]) for at, it in enumerate(keys)]
        made = lambda it: (f"MAP(ARRAY[{', '.join(key for key, _ in it)}], "
                           f"ARRAY[{', '.join(value for _, value in it)}])")
        return [made(pairs), "NULL", made(pairs[:1]), made(list(reversed(pairs)))]
    if base == "row":
        fields = [values_of(it.split(" ")[-1], table) for it in inside(kind)]
        return None if None in fields else [f"ROW({', '.join(it[0] for it in fields)})"]
    return VALUES.get(lower)


def lambda_of(kind):
    """A lambda of a type such as function(T,boolean)."""
    *parameters, result = inside(kind)
    names = ["x", "y", "z", "w"][:len(parameters)]
    head = f"({', '.join(names)})"
    samples = [it for it in (values_of(result, VALUES) or ["NULL"]) if it != "NULL"] or ["NULL"]
    if result == "boolean":
        first = [it for it in values_of(parameters[-1], VALUES) if it != "NULL"][0]
        return f"{head} -> {names[-1]} > {first}"
    if result == "integer" and len(parameters) == 2 and parameters[0] == parameters[1]:
        return (f"{head} -> IF(x IS NULL OR y IS NULL, IF(x IS NULL, IF(y IS NULL, 0, 1), -1), "
                "IF(x < y, 1, IF(x = y, 0, -1)))")
    if len(parameters) == 2 and parameters[0] == result == "bigint":
        return f"{head} -> x + coalesce(y, 1)" if parameters[1] == "bigint" else f"{head} -> x + 1"
    if result == parameters[-1]:
        return f"{head} -> {names[-1]}"
    if result == "varchar" and parameters[-1] in ("bigint", "integer"):
        return f"{head} -> CAST({names[-1]} AS varchar)"
    return f"{head} -> IF({names[-1]} IS NULL, {samples[0]}, {samples[-1]})"


def bindings_of(name, types):
    """Assignments of types to type variables."""
    if name.startswith("noisy_") and name.endswith("_gaussian"):
        # Java has internal errors for other types.
        yield {"T": "double"}
        return
    names = sorted(set(VARIABLE.findall(" ".join(types))))
    names = [it for it in names if it in VARIABLES]
    for at in range(max([len(VARIABLES[it]) for it in names], default=1)):
        yield {it: VARIABLES[it][at % len(VARIABLES[it])] for it in names}


def statements_of(row):
    """Statements that call the function of a row of SHOW FUNCTIONS."""
    name, result, arguments, kind, _, _, is_variadic = row[:7]
    whole = STATEMENTS.get(name) or STATEMENTS.get(name_of(row))
    if whole:
        return whole
    types = split_types(arguments)
    if is_variadic and len(types) == 1:
        types *= 2
    found = []
    for binding in bindings_of(name, [*types, result]):
        bound = [VARIABLE.sub(lambda it: binding.get(it[1], it[1]), it) for it in types]
        shown = VARIABLE.sub(lambda it: binding.get(it[1], it[1]), result)
        tables = [VALUES, VALUES | EDGES]
        if kind == "scalar" and not binding:
            tables.append(VALUES | SPECIAL)
        for table in tables:
            statement = statement_of(name, arguments, bound, shown, kind, table)
            if statement and statement not in found:
                found.append(statement)
    if any("decimal" in it for it in types):
        longer = ["long decimal" if "decimal" in it else it for it in types]
        found.append(statement_of(name, arguments, longer, result, kind, VALUES))
    return [it for it in found if it]


def statement_of(name, arguments, types, result, kind, table):
    given = ARGUMENTS.get(f"{name}({arguments})", ARGUMENTS.get(name))
    columns, calls = [], []
    for at, data_type in enumerate(types):
        if data_type.startswith("function("):
            calls.append(lambda_of(data_type))
            continue
        special = given[at] if given is not None and at < len(given) else None
        values = special or values_of(data_type, table)
        if values is None:
            return None
        if data_type in ("JsonPath", "Re2JRegExp", "CodePoints"):
            calls.append(values[0])
            continue
        # Other arguments have their nulls in other rows.
        cases = " ".join(f"WHEN {it} THEN {values[(it + at) % len(values)]}" for it in range(ROWS)
                         if values[(it + at) % len(values)] != "NULL")
        if not cases:
            cases = "WHEN 0 THEN NULL"
        is_constant = len(values) == 1
        columns.append(f"{values[0]} AS a{at}" if is_constant and kind != "scalar"
                       else f"CASE n_nationkey {cases} END AS a{at}")
        calls.append(f"a{at}")
    call = f"{name}({', '.join(calls)})"
    form = next((it for key, it in FORMS.items() if name == key or key[-1] == "_" and
                 name.startswith(key)), "{call}")
    form = next((it for key, it in SHOWN.items()
                 if form == "{call}" and result.lower().split("(")[0] == key), form)
    inner = (f"(SELECT {', '.join(['n_nationkey', *columns])} FROM nation "
             f"WHERE n_nationkey < {ROWS})")
    if kind == "aggregate":
        return f"SELECT {form.format(call=call)} FROM {inner}"
    if kind == "window":
        call = f"{call} OVER (ORDER BY n_nationkey)"
    return f"SELECT {form.format(call=call)} FROM {inner} ORDER BY n_nationkey"


def all_statements(rows):
    return list(itertools.chain.from_iterable(map(statements_of, rows)))
