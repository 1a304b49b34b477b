/// What this server calls itself, to the command line, to clients that ask (XEP-0092) and in HTTP.
public enum Version {
  public static let name = "Parley"
  public static let number = "0.1.0"
}
