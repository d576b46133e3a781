#!/usr/bin/env bash
# What Flink's REST API says of checkpoints that never were (Flink 2.3.0).
#
# 1. A job without checkpointing does not answer that checkpointing is off: /checkpoints lists nothing, and /checkpoints/config
#    says mode at_least_once and interval 9223372036854775807, also for a job whose checkpoints would be exactly once.
# 2. A job with an interval counts a failed checkpoint that nothing lists: the first is triggered before all tasks run, is
#    counted as failed, and stands neither in the history nor as the latest failed one.
#
# Needs pip, a JDK from 17 on (java, javac), and 1 GB in a temporary folder. Exits with 0 while Flink does so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m pip download -q --no-deps --no-binary :all: apache-flink-libraries==2.3.0
tar xzf apache_flink_libraries-2.3.0.tar.gz
jars=$(dirname "$(find . -name 'flink-dist-2.3.0.jar' | head -1)")
cat > Never.java <<'JAVA'
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

public class Never {
  static String base;

  static String get(String path) throws Exception {
    HttpRequest asked = HttpRequest.newBuilder(URI.create(base + path)).build();
    return HttpClient.newHttpClient().send(asked, HttpResponse.BodyHandlers.ofString()).body();
  }

  static JobID run(MiniCluster cluster, long interval) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment(new Configuration());
    env.setParallelism(2);
    if (interval > 0) env.enableCheckpointing(interval);
    env.fromSequence(0, Long.MAX_VALUE - 1).map(n -> { Thread.sleep(10); return n; })
        .returns(Long.class).rebalance().sinkTo(new DiscardingSink<>());
    JobGraph graph = env.getStreamGraph().getJobGraph();
    cluster.submitJob(graph).get();
    Thread.sleep(4000);
    return graph.getJobID();
  }

  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setString("rest.bind-port", "0");
    conf.setString("taskmanager.memory.managed.size", "64m");
    MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
        .setConfiguration(conf).setNumTaskManagers(1).setNumSlotsPerTaskManager(4).build());
    cluster.start();
    base = cluster.getRestAddress().get().toString();
    System.out.println("Flink " + EnvironmentInformation.getVersion());
    JobID off = run(cluster, 0);
    System.out.println("off /checkpoints " + get("/jobs/" + off + "/checkpoints"));
    System.out.println("off /config " + get("/jobs/" + off + "/checkpoints/config"));
    cluster.cancelJob(off).get();
    JobID on = run(cluster, 1000);
    System.out.println("on /checkpoints " + get("/jobs/" + on + "/checkpoints"));
    System.exit(0);
  }
}
JAVA
javac -cp "$jars/*" Never.java
java -Xmx700m -cp ".:$jars/*" Never 2>errors.txt | grep -E '^(Flink|off|on) ' > said.txt || { tail -5 errors.txt; exit 1; }
python3 - <<'PYTHON'
import json

lines = open("said.txt").read().splitlines()
print(lines[0])
values = {line.split(" {", 1)[0]: json.loads("{" + line.split(" {", 1)[1]) for line in lines[1:]}
off, config, on = values["off /checkpoints"], values["off /config"], values["on /checkpoints"]
print("without checkpointing: counts", off["counts"], "mode", config["mode"], "interval", config["interval"])
listed = [item["id"] for item in on["history"] if item["status"] == "FAILED"]
print("every second: counts", on["counts"], "failed ones in the history", listed, "latest failed", on["latest"]["failed"])
assert off["counts"]["total"] == 0 and off["history"] == []
assert (config["mode"], config["interval"]) == ("at_least_once", 2**63 - 1)
assert on["counts"]["failed"] >= 1 and on["counts"]["completed"] >= 1
assert listed == [] and on["latest"]["failed"] is None
print("Flink still does so.")
PYTHON
