#!/usr/bin/env bash
# The upsert materializer of Flink SQL keeps a key whose rows were all retracted, unless its strategy is LEGACY or MAP (Flink 2.3.0).
#
# A query counts up the key of a single row: 1, 2, ... 2,000. Each new key retracts the row of the key before, so that one
# key has a row in the end. LEGACY and MAP remove the others from state. VALUE and ADAPTIVE keep an empty list for each of
# them, so that state grows with every key that ever was, and no retraction makes it smaller.
#
# Needs pip, a JDK from 17 on (java, javac), and 1 GB in a temporary folder. Exits with 0 while Flink does so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip download -q --no-deps --no-binary :all: apache-flink-libraries==2.3.0
tar xzf apache_flink_libraries-2.3.0.tar.gz
jars=$(dirname "$(find . -name 'flink-dist-2.3.0.jar' | head -1)")
cat > Emptied.java <<'JAVA'
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

public class Emptied {
  static final int KEYS = 2000;

  static long savepoint(Path rows, String strategy) throws Exception {
    Configuration conf = new Configuration();
    conf.setString("taskmanager.memory.managed.size", "64m");
    conf.setString("pipeline.max-parallelism", "16");
    conf.setString("parallelism.default", "1");
    StreamTableEnvironment tables = StreamTableEnvironment.create(
        StreamExecutionEnvironment.getExecutionEnvironment(conf));
    tables.getConfig().set("table.exec.sink.upsert-materialize", "FORCE");
    tables.getConfig().set("table.exec.sink.upsert-materialize-strategy.type", strategy);
    tables.executeSql("CREATE TABLE rows_in (id INT, k INT) WITH ('connector' = 'filesystem', 'path' = '"
        + rows.toUri() + "', 'format' = 'csv', 'source.monitor-interval' = '1h')");
    tables.executeSql("CREATE TABLE kept (k INT, id INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'blackhole')");
    JobClient job = tables.executeSql("INSERT INTO kept SELECT MAX(k), id FROM rows_in GROUP BY id").getJobClient().get();
    Thread.sleep(8000);
    if (job.getJobStatus().get() != JobStatus.RUNNING) throw new IllegalStateException("The job does not run.");
    Path at = Path.of(java.net.URI.create(
        job.triggerSavepoint(Files.createTempDirectory(rows.getParent(), "sp").toUri().toString(), SavepointFormatType.CANONICAL).get()));
    job.cancel().get();
    long bytes = 0;
    try (Stream<Path> files = Files.walk(at)) {
      for (Path file : files.filter(Files::isRegularFile).collect(Collectors.toList())) bytes += Files.size(file);
    }
    return bytes;
  }

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]).toAbsolutePath();
    Path rows = Files.createDirectory(folder.resolve("rows"));
    Files.writeString(rows.resolve("rows.csv"),
        IntStream.rangeClosed(1, KEYS).mapToObj(k -> "1," + k + "\n").collect(Collectors.joining()));
    System.out.println("Flink " + EnvironmentInformation.getVersion() + ", " + KEYS + " keys, one of them with a row");
    long[] bytes = new long[4];
    String[] strategies = {"LEGACY", "MAP", "VALUE", "ADAPTIVE"};
    for (int i = 0; i < 4; i++) {
      bytes[i] = savepoint(rows, strategies[i]);
      System.out.println(strategies[i] + ": a savepoint of " + bytes[i] + " bytes");
    }
    boolean removes = bytes[0] < 20L * KEYS && bytes[1] < 20L * KEYS;
    boolean keeps = bytes[2] > 20L * KEYS && bytes[3] > 20L * KEYS;
    System.exit(removes && keeps ? 0 : 1);
  }
}
JAVA
javac -cp "$jars/*" Emptied.java
java --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.util=ALL-UNNAMED \
  -cp "$jars/*:." Emptied . 2> log.txt || { code=$?; tail -5 log.txt; exit $code; }
