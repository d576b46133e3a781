#!/usr/bin/env bash
# A native savepoint of RocksDB with heap timers has no timers in it (Flink 2.3.0).
#
# With state.backend.rocksdb.timer-service.factory: HEAP, checkpoints keep the timers in raw keyed state, and canonical savepoints
# keep them as states. A native savepoint keeps them nowhere: after a restore from it, no timer fires, and nothing says so.
#
# Needs pip, a JDK from 17 on (java, javac), and 1 GB in a temporary folder; takes about three minutes. Exits with 0 while Flink does so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip download -q --no-deps --no-binary :all: apache-flink-libraries==2.3.0
tar xzf apache_flink_libraries-2.3.0.tar.gz
jars=$(dirname "$(find . -name 'flink-dist-2.3.0.jar' | head -1)")
cat > Timers.java <<'JAVA'
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

public class Timers {
  static final AtomicInteger registered = new AtomicInteger(), fired = new AtomicInteger();
  static volatile boolean register = true;
  static volatile long due;

  static class Waits extends KeyedProcessFunction<Long, Long, Long> {
    public void processElement(Long number, Context context, Collector<Long> out) {
      if (!register) return;
      context.timerService().registerProcessingTimeTimer(due);
      registered.incrementAndGet();
    }
    public void onTimer(long time, OnTimerContext context, Collector<Long> out) { fired.incrementAndGet(); }
  }

  static JobClient run(String factory, String from) throws Exception {
    Configuration conf = new Configuration();
    conf.setString("rest.bind-port", "0");
    conf.setString("taskmanager.memory.managed.size", "64m");
    conf.setString("state.backend.type", "rocksdb");
    conf.setString("state.backend.rocksdb.timer-service.factory", factory);
    if (from != null) conf.setString("execution.state-recovery.path", from);
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, conf);
    env.fromSource(new NumberSequenceSource(0, Long.MAX_VALUE - 1), WatermarkStrategy.noWatermarks(), "numbers").uid("numbers")
        .map(n -> { Thread.sleep(100); return n % 8; }).returns(Types.LONG).uid("slow")
        .keyBy(n -> n).process(new Waits()).returns(Types.LONG).uid("waits").sinkTo(new DiscardingSink<>()).uid("sink");
    return env.executeAsync();
  }

  public static void main(String[] args) throws Exception {
    String factory = args[0];
    SavepointFormatType format = SavepointFormatType.valueOf(args[1]);
    due = System.currentTimeMillis() + 45_000;
    JobClient job = run(factory, null);
    while (registered.get() < 16) Thread.sleep(100);
    String savepoint = job.triggerSavepoint(args[2], format).get();
    job.cancel().get();
    int timers = registered.get(), early = fired.get();
    register = false;
    job = run(factory, savepoint);
    while (System.currentTimeMillis() < due + 5_000) Thread.sleep(100);
    System.out.println(String.join(" ", "Flink", EnvironmentInformation.getVersion(), factory, format.name(),
        "keys with a timer", "" + Math.min(8, timers), "fired before", "" + early, "fired after the restore", "" + fired.get(), job.getJobStatus().get().name()));
    System.exit(0);
  }
}
JAVA
javac -cp "$jars/*" Timers.java 2>/dev/null
for format in CANONICAL NATIVE; do
  java -Xmx700m --add-opens=java.base/java.util=ALL-UNNAMED -cp ".:$jars/*" Timers HEAP $format "$folder/$format" 2>errors.txt \
    | grep '^Flink' | tee -a said.txt || { tail -5 errors.txt; exit 1; }
done
grep -q 'CANONICAL keys with a timer 8 fired before 0 fired after the restore 8 RUNNING' said.txt
grep -q 'NATIVE keys with a timer 8 fired before 0 fired after the restore 0 RUNNING' said.txt
echo "The canonical savepoint brings 8 timers back, the native one none."
