import java.io.*;
import java.nio.file.*;
import java.util.*;
import org.rocksdb.*;

/**
 * Writes rocks_tables.txt with RocksDB itself; its jar is part of PySpark:
 * java -cp rocksdbjni-9.8.4.jar RocksTables.java > rocks_tables.txt (Java 17).
 *
 * Per case: its name; the tables in Base64; what RocksDB reads of the column family, in hex.
 */
public class RocksTables {
  static byte[] bytes(String text) {
    return text.getBytes();
  }

  static void write(String name, CompressionType compression, int format, IndexType index,
      boolean ranges) throws Exception {
    Path folder = Files.createTempDirectory("rocks");
    BlockBasedTableConfig table = new BlockBasedTableConfig().setBlockSize(256)
        .setFormatVersion(format).setIndexType(index).setMetadataBlockSize(128)
        .setPartitionFilters(false).setIndexBlockRestartInterval(format == 4 ? 8 : 1);
    ColumnFamilyOptions options = new ColumnFamilyOptions().setTableFormatConfig(table)
        .setCompressionType(compression).setDisableAutoCompactions(true)
        .setMergeOperator(new StringAppendOperator(','));
    List<ColumnFamilyDescriptor> families = List.of(
        new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, new ColumnFamilyOptions()),
        new ColumnFamilyDescriptor(bytes("counts"), options));
    List<ColumnFamilyHandle> handles = new ArrayList<>();
    try (RocksDB db = RocksDB.open(new DBOptions().setCreateIfMissing(true)
        .setCreateMissingColumnFamilies(true), folder.toString(), families, handles)) {
      ColumnFamilyHandle counts = handles.get(1);
      for (int i = 0; i < 60; i++) {
        db.put(counts, bytes(String.format("key-%03d", i)), bytes("first value of " + i));
      }
      db.merge(counts, bytes("list-1"), bytes("a"));
      db.put(counts, bytes("list-2"), bytes("x"));
      db.merge(counts, bytes("list-2"), bytes("y"));
      db.flush(new FlushOptions(), counts);
      for (int i = 0; i < 60; i += 7) db.delete(counts, bytes(String.format("key-%03d", i)));
      for (int i = 1; i < 60; i += 7) {
        db.put(counts, bytes(String.format("key-%03d", i)), bytes("second value of " + i));
      }
      if (ranges) db.deleteRange(counts, bytes("key-020"), bytes("key-030"));
      db.singleDelete(counts, bytes("key-059"));
      db.merge(counts, bytes("list-1"), bytes("b"));
      db.delete(counts, bytes("list-2"));
      db.merge(counts, bytes("list-2"), bytes("z"));
      db.flush(new FlushOptions(), counts);
      if (ranges) db.put(counts, bytes("key-025"), bytes("after the range"));
      db.merge(counts, bytes("list-1"), bytes("c"));
      db.flush(new FlushOptions(), counts);
      System.out.println(name);
      StringJoiner tables = new StringJoiner(" ");
      for (LiveFileMetaData file : db.getLiveFilesMetaData()) {
        byte[] data = Files.readAllBytes(folder.resolve(file.fileName().substring(1)));
        tables.add(Base64.getEncoder().encodeToString(data));
      }
      System.out.println(tables);
      StringJoiner found = new StringJoiner(" ");
      HexFormat hex = HexFormat.of();
      try (RocksIterator all = db.newIterator(counts)) {
        for (all.seekToFirst(); all.isValid(); all.next()) {
          found.add(hex.formatHex(all.key()) + "=" + hex.formatHex(all.value()));
        }
      }
      System.out.println(found);
      handles.forEach(ColumnFamilyHandle::close);
    }
  }

  public static void main(String[] arguments) throws Exception {
    IndexType plain = IndexType.kBinarySearch, two = IndexType.kTwoLevelIndexSearch;
    write("none 2 plain", CompressionType.NO_COMPRESSION, 2, plain, false);
    write("snappy 3 plain", CompressionType.SNAPPY_COMPRESSION, 3, plain, true);
    write("zlib 4 plain", CompressionType.ZLIB_COMPRESSION, 4, plain, true);
    write("lz4 5 plain", CompressionType.LZ4_COMPRESSION, 5, plain, true);
    write("zstd 5 two levels", CompressionType.ZSTD_COMPRESSION, 5, two, true);
    write("snappy 5 two levels", CompressionType.SNAPPY_COMPRESSION, 5, two, false);
    write("snappy 6 plain", CompressionType.SNAPPY_COMPRESSION, 6, plain, true);
    write("none 6 two levels", CompressionType.NO_COMPRESSION, 6, two, true);
  }
}
