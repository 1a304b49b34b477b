/// How much of what a user may keep here is used.
public struct StorageBody: Codable, Hashable, Sendable, JSONWritable {
  /// Bytes of all files, and how many may be.
  public var bytes: Int64
  public var bytesMax: Int64
  /// Files, and how many may be.
  public var files: Int
  public var filesMax: Int
  /// Bytes that were asked for within the last 24 hours, and how many may be.
  public var dayBytes: Int64
  public var dayBytesMax: Int64
  /// Bytes of one file.
  public var fileBytesMax: Int64
  /// Slots that wait for their bytes.
  public var slots: Int

  public init(
    bytes: Int64, bytesMax: Int64, files: Int, filesMax: Int, dayBytes: Int64, dayBytesMax: Int64,
    fileBytesMax: Int64, slots: Int
  ) {
    self.bytes = bytes
    self.bytesMax = bytesMax
    self.files = files
    self.filesMax = filesMax
    self.dayBytes = dayBytes
    self.dayBytesMax = dayBytesMax
    self.fileBytesMax = fileBytesMax
    self.slots = slots
  }

  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("bytes", bytes)
    writer.member("bytesMax", bytesMax)
    writer.member("files", files)
    writer.member("filesMax", filesMax)
    writer.member("dayBytes", dayBytes)
    writer.member("dayBytesMax", dayBytesMax)
    writer.member("fileBytesMax", fileBytesMax)
    writer.member("slots", slots)
    writer.endObject()
  }
}
