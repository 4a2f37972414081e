import java.io.File;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DecimalColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.UnionColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.orc.CompressionKind;
import org.apache.orc.OrcConf;
import org.apache.orc.OrcFile;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;

/** Writes a file of random rows: PATH SCHEMA ROWS SEED CODEC BLOCK_BYTES STRIDE VERSION BLOOM_COLUMNS. */
public final class OrcFiles {
  private static final String[] WORDS = {"", "a", "the", "longer than twelve bytes", "ä", "日本語", "fox"};

  private final Random random;

  private OrcFiles(long seed) {
    random = new Random(seed);
  }

  public static void main(String[] arguments) throws Exception {
    new File(arguments[0]).delete();
    Configuration configuration = new Configuration();
    configuration.set("fs.file.impl", "org.apache.hadoop.fs.RawLocalFileSystem");
    configuration.setBoolean("fs.file.impl.disable.cache", true);
    TypeDescription schema = TypeDescription.fromString(arguments[1]);
    int rows = Integer.parseInt(arguments[2]);
    OrcConf.ENFORCE_COMPRESSION_BUFFER_SIZE.setBoolean(configuration, true);
    OrcConf.ROWS_BETWEEN_CHECKS.setLong(configuration, 100);
    OrcFile.WriterOptions options = OrcFile.writerOptions(configuration)
        .setSchema(schema)
        .compress(CompressionKind.valueOf(arguments[4]))
        .bufferSize(Integer.parseInt(arguments[5]))
        .enforceBufferSize()
        .rowIndexStride(Integer.parseInt(arguments[6]))
        .stripeSize(Long.getLong("stripe.bytes", 20_000))
        .version(OrcFile.Version.byName(arguments[7]));
    if (arguments.length > 8) {
      options = options.bloomFilterColumns(arguments[8]).bloomFilterFpp(0.01);
    }
    OrcFiles files = new OrcFiles(Long.parseLong(arguments[3]));
    try (Writer writer = OrcFile.createWriter(new Path(arguments[0]), options)) {
      VectorizedRowBatch batch = schema.createRowBatch();
      for (int row = 0; row < rows; row++) {
        for (int column = 0; column < batch.cols.length; column++) {
          files.set(schema.getChildren().get(column), batch.cols[column], batch.size);
        }
        batch.size++;
        if (batch.size == 100) {
          writer.addRowBatch(batch);
          batch.reset();
        }
      }
      if (batch.size > 0) {
        writer.addRowBatch(batch);
      }
    }
  }

  private void set(TypeDescription type, ColumnVector vector, int row) {
    if (random.nextInt(10) == 0) {
      vector.noNulls = false;
      vector.isNull[row] = true;
      return;
    }
    vector.isNull[row] = false;
    switch (type.getCategory()) {
      case BOOLEAN -> ((LongColumnVector) vector).vector[row] = random.nextInt(2);
      case BYTE -> ((LongColumnVector) vector).vector[row] = (byte) random.nextInt();
      case SHORT -> ((LongColumnVector) vector).vector[row] = (short) random.nextInt();
      case INT, DATE -> ((LongColumnVector) vector).vector[row] = random.nextInt(2_000_000) - 1_000_000;
      case LONG -> ((LongColumnVector) vector).vector[row] =
          random.nextInt(20) == 0 ? random.nextLong() : random.nextInt(1000);
      case FLOAT -> ((DoubleColumnVector) vector).vector[row] = (float) random.nextInt(1000) / 8;
      case DOUBLE -> ((DoubleColumnVector) vector).vector[row] = random.nextGaussian();
      case STRING, VARCHAR, CHAR, BINARY -> {
        String text = WORDS[random.nextInt(WORDS.length)] + random.nextInt(50);
        ((BytesColumnVector) vector).setVal(row, text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
      }
      case TIMESTAMP, TIMESTAMP_INSTANT -> {
        TimestampColumnVector timestamps = (TimestampColumnVector) vector;
        long seconds = random.nextBoolean() ? random.nextInt(2_000_000_000) : -2 - random.nextInt(2_000_000_000);
        timestamps.time[row] = seconds * 1000 + 123 * random.nextInt(2);
        timestamps.nanos[row] = (int) (Math.floorMod(timestamps.time[row], 1000L) * 1_000_000)
            + random.nextInt(2) * 456_000;
      }
      case DECIMAL -> {
        String digits = Long.toString(random.nextLong() >> random.nextInt(60));
        HiveDecimal value = HiveDecimal.create(digits).scaleByPowerOfTen(-type.getScale());
        value = HiveDecimal.enforcePrecisionScale(value, type.getPrecision(), type.getScale());
        ((DecimalColumnVector) vector).set(row, new HiveDecimalWritable(value == null ? HiveDecimal.ONE : value));
      }
      case LIST -> {
        ListColumnVector list = (ListColumnVector) vector;
        list.offsets[row] = list.childCount;
        list.lengths[row] = random.nextInt(4);
        list.childCount += (int) list.lengths[row];
        list.child.ensureSize(list.childCount, true);
        for (int place = (int) list.offsets[row]; place < list.childCount; place++) {
          set(type.getChildren().get(0), list.child, place);
        }
      }
      case MAP -> {
        MapColumnVector map = (MapColumnVector) vector;
        map.offsets[row] = map.childCount;
        map.lengths[row] = 1;
        map.childCount += 1;
        map.keys.ensureSize(map.childCount, true);
        map.values.ensureSize(map.childCount, true);
        int place = (int) map.offsets[row];
        do {
          map.keys.isNull[place] = false;
          set(type.getChildren().get(0), map.keys, place);
        } while (map.keys.isNull[place]);
        set(type.getChildren().get(1), map.values, place);
      }
      case STRUCT -> {
        StructColumnVector struct = (StructColumnVector) vector;
        for (int field = 0; field < struct.fields.length; field++) {
          struct.fields[field].ensureSize(row + 1, true);
          set(type.getChildren().get(field), struct.fields[field], row);
        }
      }
      case UNION -> {
        UnionColumnVector union = (UnionColumnVector) vector;
        union.tags[row] = random.nextInt(union.fields.length);
        set(type.getChildren().get(union.tags[row]), union.fields[union.tags[row]], row);
      }
      default -> throw new IllegalArgumentException(type.toString());
    }
  }
}
