import java.io.*;
import java.lang.reflect.*;
import java.util.*;
import java.util.concurrent.*;

/** Writes java_streams.txt: java JavaStreams.java > java_streams.txt (Java 17). */
public class JavaStreams {
  enum Colour { RED, BLUE { } }

  static class Base implements Serializable {
    private static final long serialVersionUID = 1;
    int n = 1;
    String same = "base";
  }

  static class Sub extends Base {
    private static final long serialVersionUID = 1;
    double d = Double.NaN;
    float f = Float.POSITIVE_INFINITY;
    char c = 'ä';
    boolean b = true;
    byte y = -3;
    short s = -300;
    long l = Long.MIN_VALUE;
    String same = "sub";
    Object next;
  }

  static class Own implements Serializable {
    private static final long serialVersionUID = 1;
    int kept = 7;

    private void writeObject(ObjectOutputStream out) throws IOException {
      out.defaultWriteObject();
      out.writeInt(42);
      out.writeObject("more");
      out.write(new byte[300]);
    }
  }

  static class Ext implements Externalizable {
    private static final long serialVersionUID = 1;

    public void writeExternal(ObjectOutput out) throws IOException {
      out.writeInt(5);
      out.writeObject("x");
    }

    public void readExternal(ObjectInput in) {}
  }

  static class Bad implements Serializable {
    private static final long serialVersionUID = 1;
    Object o = new Object();
  }

  static class Handler implements InvocationHandler, Serializable {
    private static final long serialVersionUID = 1;

    public Object invoke(Object proxy, Method method, Object[] arguments) {
      return null;
    }
  }

  interface Writing {
    void to(ObjectOutputStream out) throws Exception;
  }

  static void stream(String name, Writing writing) throws Exception {
    var bytes = new ByteArrayOutputStream();
    var out = new ObjectOutputStream(bytes);
    writing.to(out);
    out.flush();
    System.out.println(name + " " + Base64.getEncoder().encodeToString(bytes.toByteArray()));
  }

  static void object(String name, Object... values) throws Exception {
    stream(name, out -> out.writeObject(values));
  }

  public static void main(String[] arguments) throws Exception {
    Sub loop = new Sub();
    loop.next = new Object[] {loop, null};
    Base base = new Base();
    stream("fields", out -> out.writeObject(new Sub()));
    stream("cycle", out -> out.writeObject(loop));
    object("shared", "shared", "shared", base, base);
    object("enums", Colour.RED, Colour.BLUE, Colour.RED);
    stream("own", out -> out.writeObject(new Own()));
    stream("externalizable", out -> out.writeObject(new Ext()));
    object(
        "arrays", new int[] {1, -2}, new long[] {1L << 40}, new byte[] {0, -1},
        "ab".toCharArray(), new boolean[] {true, false}, new double[] {1.5},
        new float[] {-0.5f}, new short[] {9}, new String[][] {{"q"}, null});
    Class<?>[] interfaces = {Runnable.class};
    ClassLoader loader = JavaStreams.class.getClassLoader();
    stream("proxy", out -> out.writeObject(Proxy.newProxyInstance(loader, interfaces, new Handler())));
    stream(
        "broken",
        out -> {
          try {
            out.writeObject(new Bad());
          } catch (NotSerializableException expected) {
            out.writeObject("after");
          }
        });
    stream(
        "reset",
        out -> {
          out.writeObject("a");
          out.reset();
          out.writeInt(258);
          out.writeObject("a");
        });
    stream(
        "classes",
        out -> {
          out.writeObject(Base.class);
          out.writeObject(ObjectStreamClass.lookup(Base.class));
        });
    object(
        "lists", new ArrayList<>(List.of(1, 2)), new LinkedList<>(List.of("a")),
        new ArrayDeque<>(List.of(1L)), new TreeSet<>(List.of("b", "a")),
        new LinkedHashSet<>(List.of("z")), List.of(true, 'c', (short) 1), Set.of("s"),
        Arrays.asList(1, 2), Collections.singletonList("o"), Collections.emptyList(),
        Collections.unmodifiableList(new ArrayList<>(List.of("u"))), new Vector<>(List.of("v")),
        new CopyOnWriteArrayList<>(List.of("w")), Collections.singleton(2.5));
    object(
        "maps", new HashMap<>(Map.of("k", 1)), new TreeMap<>(Map.of(2, "t")),
        new Hashtable<>(Map.of("h", 1)), Map.of("i", 2),
        new EnumMap<>(Map.of(Colour.RED, "e")), Collections.singletonMap("s", 1),
        Collections.emptyMap(), Collections.unmodifiableMap(new HashMap<>(Map.of("u", 1))),
        new ConcurrentHashMap<>(Map.of("c", 1)),
        Collections.synchronizedMap(new LinkedHashMap<>(Map.of("y", 1))));
  }
}
