import java.nio.file.*; import java.util.*; import java.time.Duration;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.*;
import org.apache.flink.api.common.state.*;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.configuration.*;
import org.apache.flink.connector.base.source.hybrid.HybridSource;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.execution.*;
import org.apache.flink.core.fs.Path;
import org.apache.flink.streaming.api.datastream.*;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Jobs with a savepoint or retained checkpoint each: timers, files or hybrid, the folder for all
 * files, and for hybrid how many ms a record takes: 30 stays in the first source, 2 does not.
 */
public class SourcesAndSinks {
  static StreamExecutionEnvironment env(String... set) {
    Configuration c = new Configuration();
    c.setString("rest.port", "0"); c.setString("taskmanager.numberOfTaskSlots","4"); c.setString("pipeline.max-parallelism","8");
    c.setString("taskmanager.memory.network.max","64m"); c.setString("taskmanager.memory.managed.size","64m");
    for (int i=0;i<set.length;i+=2) c.setString(set[i], set[i+1]);
    StreamExecutionEnvironment e = StreamExecutionEnvironment.createLocalEnvironment(2, c);
    e.enableCheckpointing(2000); return e;
  }
  static <T> SingleOutputStreamOperator<T> slow(DataStream<T> s, int ms, String uid) {
    return s.map(x -> { Thread.sleep(ms); return x; }).returns(s.getType()).uid(uid).name(uid);
  }
  static void run(StreamExecutionEnvironment e, String name, String out, long after, boolean cancelWith) throws Exception {
    JobClient job = e.executeAsync(name);
    Thread.sleep(after);
    System.out.println(name+" "+job.getJobStatus().get());
    System.out.println(job.triggerSavepoint(out, cancelWith ? SavepointFormatType.CANONICAL : SavepointFormatType.NATIVE).get());
    job.cancel().get();
    Thread.sleep(1000);
  }
  public static void main(String[] a) throws Exception {
    String root = a[1];
    switch (a[0]) {
      case "timers": {
        StreamExecutionEnvironment e = env("state.backend.type","rocksdb","state.backend.rocksdb.timer-service.factory","HEAP","execution.checkpointing.dir","file://"+root+"/timers-chk","execution.checkpointing.externalized-checkpoint-retention","RETAIN_ON_CANCELLATION");
        DataStream<Long> n = e.fromSource(new NumberSequenceSource(0, 1_000_000), WatermarkStrategy.noWatermarks(), "numbers").uid("numbers");
        slow(n, 5, "slow").keyBy(x -> "key" + x % 5).process(new KeyedProcessFunction<String, Long, Long>() {
          ValueState<Long> count;
          public void open(org.apache.flink.api.common.functions.OpenContext o) { count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG)); }
          public void processElement(Long v, Context c, Collector<Long> o) throws Exception {
            count.update(count.value() == null ? 1 : count.value() + 1);
            c.timerService().registerEventTimeTimer(4_102_444_800_000L + v % 5);
            c.timerService().registerProcessingTimeTimer(4_102_444_900_000L);
          }
        }).returns(Types.LONG).uid("waits").name("waits").sinkTo(new DiscardingSink<>());
        run(e, "timers", root + "/timers", 6000, false); break; }
      case "files": {
        for (int i = 0; i < 12; i++) { StringBuilder b = new StringBuilder(); for (int j=0;j<200;j++) b.append("line ").append(i).append(' ').append(j).append('\n'); Files.createDirectories(java.nio.file.Path.of(root,"in")); Files.writeString(java.nio.file.Path.of(root,"in","part-"+i+".txt"), b.toString()); }
        StreamExecutionEnvironment e = env("state.backend.type","hashmap");
        FileSource<String> src = FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(root+"/in")).monitorContinuously(Duration.ofSeconds(1)).build();
        DataStream<String> lines = slow(e.fromSource(src, WatermarkStrategy.noWatermarks(), "lines").uid("lines"), 30, "slow");
        lines.sinkTo(FileSink.forRowFormat(new Path(root+"/out-a"), new SimpleStringEncoder<String>()).build()).uid("archive");
        lines.sinkTo(FileSink.forRowFormat(new Path(root+"/out-b"), new SimpleStringEncoder<String>()).withBucketAssigner(new org.apache.flink.streaming.api.functions.sink.filesystem.bucketassigners.DateTimeBucketAssigner<>("yyyy-MM-dd")).withRollingPolicy(org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy.build()).build()).uid("daily");
        run(e, "files", root + "/files", 9000, true); break; }
      case "hybrid": {
        Files.createDirectories(java.nio.file.Path.of(root,"hin")); StringBuilder b = new StringBuilder(); for (int j=0;j<300;j++) b.append("line ").append(j).append('\n');
        for (int i=0;i<6;i++) Files.writeString(java.nio.file.Path.of(root,"hin","part-"+i+".txt"), b.toString());
        StreamExecutionEnvironment e = env("state.backend.type","hashmap");
        FileSource<String> one = FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(root+"/hin")).build();
        FileSource<String> two = FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(root+"/in")).monitorContinuously(Duration.ofSeconds(1)).build();
        HybridSource<String> h = HybridSource.builder(one).addSource(two).build();
        DataStream<String> lines = slow(e.fromSource(h, WatermarkStrategy.noWatermarks(), "both", Types.STRING).uid("both"), Integer.parseInt(a[2]), "slow");
        lines.sinkTo(new DiscardingSink<>());
        run(e, "hybrid", root + "/hybrid-" + a[2], 9000, true); break; }
    }
    System.exit(0);
  }
}
