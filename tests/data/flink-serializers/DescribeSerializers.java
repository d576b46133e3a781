import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.PrintStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.DayOfWeek;
import java.util.*;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.common.typeutils.SingleThreadAccessCheckingTypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.base.*;
import org.apache.flink.api.java.tuple.Tuple0;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.typeutils.runtime.*;
import org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializer;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;
import org.apache.flink.runtime.state.ArrayListSerializer;
import org.apache.flink.runtime.state.ttl.TtlAwareSerializer;
import org.apache.flink.runtime.state.ttl.TtlStateFactory;
import org.apache.flink.runtime.state.ttl.TtlValue;
import org.apache.flink.streaming.api.datastream.CoGroupedStreams;
import org.apache.flink.streaming.api.functions.sink.legacy.TwoPhaseCommitSinkFunction;
import org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.dataview.ListView;
import org.apache.flink.table.api.dataview.MapView;
import org.apache.flink.table.data.*;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.data.writer.BinaryRowWriter;
import org.apache.flink.table.dataview.*;
import org.apache.flink.table.runtime.typeutils.*;
import org.apache.flink.table.types.logical.*;
import org.apache.flink.types.*;
import org.apache.flink.types.bitmap.Bitmap;
import org.apache.flink.types.variant.Variant;
import org.apache.flink.util.TaggedUnion;

/**
 * Prints how Flink itself describes its serializers, and a value that each of them writes.
 *
 * <p>The first arguments are Flink's jars. A line is: the class of the snapshot, its description,
 * and a value, the bytes in hexadecimal; a class for which no serializer is made here has its name
 * alone.
 */
public class DescribeSerializers {
    static final Map<String, String> lines = new TreeMap<>();
    static final TypeSerializer<String> STRING = StringSerializer.INSTANCE;
    static final TypeSerializer<Long> LONG = LongSerializer.INSTANCE;

    public static class Item implements CopyableValue<Item> {
        public int getBinaryLength() { return 4; }
        public void copyTo(Item target) {}
        public Item copy() { return new Item(); }
        public void copy(org.apache.flink.core.memory.DataInputView in, org.apache.flink.core.memory.DataOutputView out) {}
        public void write(org.apache.flink.core.memory.DataOutputView out) throws java.io.IOException { out.writeInt(7); }
        public void read(org.apache.flink.core.memory.DataInputView in) {}
    }

    public static class Order { public String name = "a"; public long total = 7; }

    static String hex(byte[] bytes) { return HexFormat.of().formatHex(bytes); }

    static <T> void add(TypeSerializer<T> serializer, T value) {
        add(serializer.snapshotConfiguration(), serializer, value);
    }

    static <T> void add(TypeSerializerSnapshot<?> snapshot, TypeSerializer<T> serializer, T value) {
        String name = snapshot.getClass().getName();
        try {
            ByteArrayOutputStream described = new ByteArrayOutputStream(), written = new ByteArrayOutputStream();
            TypeSerializerSnapshot.writeVersionedSnapshot(new DataOutputViewStreamWrapper(described), snapshot);
            serializer.serialize(value, new DataOutputViewStreamWrapper(written));
            lines.put(name, name + " " + hex(described.toByteArray()) + " " + hex(written.toByteArray()));
        } catch (Throwable error) { System.err.println(name + ": " + error); }
    }

    static BinaryRowData row() {
        BinaryRowData row = new BinaryRowData(2);
        BinaryRowWriter writer = new BinaryRowWriter(row);
        writer.writeInt(0, 7);
        writer.writeString(1, StringData.fromString("a"));
        writer.complete();
        return row;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static void composites() throws Exception {
        SerializerConfigImpl config = new SerializerConfigImpl();
        RowDataSerializer rows = new RowDataSerializer(new IntType(), new VarCharType(9));
        add(new ListSerializer<>(LONG), List.of(1L, 2L));
        add(new MapSerializer<>(STRING, LONG), Map.of("a", 1L));
        add(new SetSerializer<>(STRING), Set.of("a"));
        add(new ArrayListSerializer<>(LONG), new ArrayList<>(List.of(1L, 2L)));
        add(new GenericArraySerializer<>(String.class, STRING), new String[] {"a", null});
        add(new EnumSerializer<>(DayOfWeek.class), DayOfWeek.TUESDAY);
        add((TypeSerializer) Types.TUPLE(Types.STRING, Types.LONG).createSerializer(config), Tuple2.of("a", 1L));
        add((TypeSerializer) Types.ROW(Types.STRING, Types.LONG).createSerializer(config), Row.of("a", null));
        add((TypeSerializer) Types.EITHER(Types.STRING, Types.LONG).createSerializer(config), Either.Left("a"));
        add((TypeSerializer) Types.POJO(Order.class).createSerializer(config), new Order());
        add(new KryoSerializer<>(Locale.class, config), Locale.ROOT);
        add(NullableSerializer.wrap(LONG, true), null);
        add(new CopyableValueSerializer<>(Item.class), new Item());
        add(new ValueSerializer<>(Item.class), new Item());
        add(new SingleThreadAccessCheckingTypeSerializer<>(LONG), 7L);
        add(new TtlStateFactory.TtlSerializer<>(LONG, STRING), new TtlValue<>("a", 7));
        add(new org.apache.flink.runtime.state.v2.ttl.TtlStateFactory.TtlSerializer<>(LONG, STRING), new TtlValue<>("a", 7));
        add(new TtlAwareSerializer<>(LONG, false), 7L);
        add(new CoGroupedStreams.UnionSerializer<>(STRING, LONG), TaggedUnion.two(7L));
        add(new StreamElementSerializer<>(STRING), new StreamRecord<>("a", 7));
        add(new LinkedListSerializer<>(STRING), new LinkedList<>(Arrays.asList("a", null)));
        add(new NullAwareMapSerializer<>(STRING, LONG), new HashMap<>(Collections.singletonMap("a", null)));
        add(new ListViewSerializer<>(new ListSerializer<>(LONG)), view(7L));
        add(new MapViewSerializer<>(new MapSerializer<>(STRING, LONG)), mapView("a", 7L));
        add(new SortedMapSerializer<>(new Order1(), STRING, LONG), new TreeMap<>(Map.of("a", 7L)));
        add(new RawValueDataSerializer<>(LONG), RawValueData.fromObject(7L));
        add(ExternalSerializer.of(DataTypes.INT()), 7);
        add(rows, row());
        add(new BinaryRowDataSerializer(2), row());
        add(new WindowKeySerializer((PagedTypeSerializer) rows), new org.apache.flink.table.runtime.util.WindowKey(7, row()));
        add(new ArrayDataSerializer(new IntType()), new GenericArrayData(new Integer[] {7, null}));
        add(new MapDataSerializer(new VarCharType(9), new BigIntType()), new GenericMapData(Map.of(StringData.fromString("a"), 7L)));
        add(new DecimalDataSerializer(20, 4), DecimalData.fromBigDecimal(new BigDecimal("-1.5"), 20, 4));
        add(new TimestampDataSerializer(6), TimestampData.fromEpochMillis(1_500, 1_000));
        add(VariantSerializer.INSTANCE, Variant.newBuilder().object().add("a", Variant.newBuilder().of(7)).build());
        add(BitmapSerializer.INSTANCE, Bitmap.fromArray(new int[] {1, 7}));
        add(Tuple0Serializer.INSTANCE, Tuple0.INSTANCE);
        add(new org.apache.flink.table.runtime.operators.window.CountWindow.Serializer(), new org.apache.flink.table.runtime.operators.window.CountWindow(7));
        String scala = "org.apache.flink.table.api.typeutils.";
        add(make(scala + "OptionSerializer", STRING), new scala.Some<>("a"));
        add(make(scala + "TrySerializer", STRING, STRING), new scala.util.Success<>("a"));
        add(make(scala + "EitherSerializer", STRING, LONG), new scala.util.Right<>(7L));
        add(make(scala + "Tuple2CaseClassSerializer", scala.Tuple2.class, new TypeSerializer<?>[] {STRING, LONG}), new scala.Tuple2<>("a", 7L));
        String python = "org.apache.flink.table.runtime.typeutils.serializers.python.";
        add(make(python + "TimestampSerializer", 3), new java.sql.Timestamp(0));
        add(make(python + "ArrayDataSerializer", new IntType(), IntSerializer.INSTANCE), new GenericArrayData(new Integer[] {7}));
        add(make(python + "MapDataSerializer", new IntType(), new IntType(), IntSerializer.INSTANCE, IntSerializer.INSTANCE), new GenericMapData(Map.of(7, 7)));
        add(make(python + "RowDataSerializer", new LogicalType[] {new IntType()}, new TypeSerializer<?>[] {IntSerializer.INSTANCE}), GenericRowData.of(7));
        add(make(python + "DecimalDataSerializer", 20, 4), DecimalData.fromBigDecimal(new BigDecimal("-1.5"), 20, 4));
    }

    static ListView<Long> view(long value) throws Exception {
        ListView<Long> view = new ListView<>();
        view.add(value);
        return view;
    }

    static MapView<String, Long> mapView(String key, long value) throws Exception {
        MapView<String, Long> view = new MapView<>();
        view.put(key, value);
        return view;
    }

    public static class Order1 implements Comparator<String>, java.io.Serializable {
        public int compare(String one, String two) { return one.compareTo(two); }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static TypeSerializer make(String name, Object... arguments) throws Exception {
        for (Constructor<?> one : Class.forName(name).getConstructors())
            try {
                return (TypeSerializer) one.newInstance(arguments);
            } catch (IllegalArgumentException other) { continue; }
        throw new NoSuchMethodException(name);
    }

    static final List<Object> SAMPLES = List.of(
            true, (byte) 7, (short) 7, 7, 7L, 1.5f, 1.5, 'a', "a", new BigDecimal("1.50"), java.math.BigInteger.TWO,
            new Date(7), new java.sql.Date(0), new java.sql.Time(7), new java.sql.Timestamp(7),
            java.time.Instant.ofEpochSecond(1, 7), java.time.LocalDate.of(2024, 2, 29), java.time.LocalTime.of(1, 2),
            java.time.LocalDateTime.of(2024, 2, 29, 1, 2), StringData.fromString("a"), new int[] {7});

    @SuppressWarnings({"unchecked", "rawtypes"})
    static void simple(Class<?> snapshot) {
        Class<?> type = snapshot.getDeclaringClass();
        if (type == null || !TypeSerializer.class.isAssignableFrom(type) || Modifier.isAbstract(type.getModifiers())) return;
        TypeSerializer serializer;
        try {
            serializer = (TypeSerializer) type.getField("INSTANCE").get(null);
        } catch (Throwable none) {
            try {
                serializer = (TypeSerializer) type.getConstructor().newInstance();
            } catch (Throwable still) { return; }
        }
        List<Object> samples = new ArrayList<>(SAMPLES);
        samples.add(0, serializer.createInstance());
        samples.add(new org.apache.flink.streaming.api.windowing.windows.TimeWindow(1, 7));
        samples.add(new org.apache.flink.table.runtime.operators.window.TimeWindow(1, 7));
        for (Object sample : samples) {
            try {
                serializer.serialize(sample, new DataOutputViewStreamWrapper(new ByteArrayOutputStream()));
            } catch (Throwable wrong) { continue; }
            add(serializer, sample);
            if (sample != samples.get(0)) return;
        }
    }

    public static void main(String[] jars) throws Exception {
        PrintStream out = System.out;
        composites();
        for (String jar : jars)
            for (JarEntry entry : Collections.list(new JarFile(jar).entries())) {
                String name = entry.getName();
                if (!name.endsWith(".class") || !name.contains("Snapshot")) continue;
                String full = name.substring(0, name.length() - 6).replace('/', '.');
                Class<?> found;
                try {
                    found = Class.forName(full, false, DescribeSerializers.class.getClassLoader());
                } catch (Throwable absent) { continue; }
                if (!TypeSerializerSnapshot.class.isAssignableFrom(found) || Modifier.isAbstract(found.getModifiers())) continue;
                if (!lines.containsKey(full)) simple(found);
                lines.putIfAbsent(full, full);
            }
        lines.values().forEach(out::println);
    }
}
