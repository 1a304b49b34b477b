/// The server's name and version on the command line, for clients (XEP-0092) and in HTTP.
public enum Version {
  public static let name = "Parley"
  public static let number = "0.1.0"
}
