import java.io.ByteArrayOutputStream;
import java.time.*;
import java.util.*;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializer;
import org.apache.flink.core.memory.DataOutputViewStreamWrapper;

/** Prints values that Flink's KryoSerializer writes: the class, the value as text, the bytes in hexadecimal. */
public class KryoValues {
    @SuppressWarnings({"unchecked", "rawtypes"})
    static void print(Class type, Object... values) throws Exception {
        for (Object value : values) {
            ByteArrayOutputStream written = new ByteArrayOutputStream();
            new KryoSerializer(type, new SerializerConfigImpl()).serialize(value, new DataOutputViewStreamWrapper(written));
            System.out.println(type.getName() + " " + value + " " + HexFormat.of().formatHex(written.toByteArray()));
        }
    }

    public static void main(String[] none) throws Exception {
        print(UUID.class, new UUID(1, 2), UUID.fromString("f81d4fae-7dec-41d0-a765-00a0c91e6bf6"), null);
        print(LocalDate.class, LocalDate.of(2026, 2, 3), LocalDate.of(-5, 2, 3));
        print(LocalTime.class, LocalTime.of(1, 0), LocalTime.of(1, 2), LocalTime.of(1, 2, 3), LocalTime.of(1, 2, 3, 4));
        print(LocalDateTime.class, LocalDateTime.of(2026, 2, 3, 4, 5, 6, 7), LocalDateTime.of(2026, 2, 3, 4, 5));
        print(Duration.class, Duration.ofMillis(1500), Duration.ofMillis(-1500), Duration.ofSeconds(90_061), Duration.ZERO);
        print(Instant.class, Instant.ofEpochSecond(7, 5), Instant.ofEpochSecond(-7, 5));
        print(Optional.class, Optional.empty(), Optional.of("bb"), Optional.of("\u00fc"), Optional.of("b"), Optional.of(7));
        print(Optional.class, Optional.of(-7L), Optional.of(true), Optional.of(1.5), Optional.of(LocalDate.of(2026, 2, 3)));
        print(Optional.class, Optional.of(List.of(1)));
        print(OptionalInt.class, OptionalInt.empty(), OptionalInt.of(7));
        print(OptionalLong.class, OptionalLong.of(7));
        print(OptionalDouble.class, OptionalDouble.of(1.5));
        print(ZonedDateTime.class, ZonedDateTime.of(2026, 1, 2, 3, 4, 5, 0, ZoneOffset.UTC));
        print(ZonedDateTime.class, ZonedDateTime.of(2026, 1, 2, 3, 4, 5, 0, ZoneId.of("Europe/Berlin")));
        print(OffsetDateTime.class, OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 0, ZoneOffset.ofHours(2)));
        print(Year.class, Year.of(2026));
        print(YearMonth.class, YearMonth.of(2026, 2));
        print(MonthDay.class, MonthDay.of(2, 3));
        print(Period.class, Period.of(1, -2, 3));
        print(ZoneOffset.class, ZoneOffset.ofHours(2), ZoneOffset.ofHoursMinutesSeconds(-1, -2, -3));
        print(ArrayList.class, new ArrayList<>(List.of("a", "b")));
    }
}
