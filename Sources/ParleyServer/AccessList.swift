import CXattr

/// The access control list of a file (acl(5)), as the system keeps it in an extended attribute
/// (`linux/posix_acl_xattr.h`): a version, and eight bytes for each entry, with the lower bytes first.
struct AccessList {
  /// Tags of entries (`linux/posix_acl.h`).
  private enum Tag {
    static let owner: UInt16 = 0x01
    static let user: UInt16 = 0x02
    static let ownersGroup: UInt16 = 0x04
    static let group: UInt16 = 0x08
    static let mask: UInt16 = 0x10
    static let others: UInt16 = 0x20
  }

  private struct Entry {
    let tag: UInt16
    let rights: UInt32
    let id: UInt32
  }
  private let entries: [Entry]

  static let attribute = "system.posix_acl_access"
  private static let version: UInt32 = 2
  /// The size of the greatest attribute (`XATTR_SIZE_MAX`).
  private static let bytesMax = 65_536

  /// Reads the list of a file or folder; nil if it has none, as its mode says all then.
  init?(of path: String) {
    var bytes = [UInt8](repeating: 0, count: Self.bytesMax)
    let count = getxattr(path, Self.attribute, &bytes, Self.bytesMax)
    guard count > 0 else { return nil }
    self.init(Array(bytes.prefix(count)))
  }

  init?(_ bytes: [UInt8]) {
    func number(at start: Int, _ count: Int) -> UInt32 {
      bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
    guard bytes.count >= 4, bytes.count % 8 == 4, number(at: 0, 4) == Self.version else { return nil }
    entries = stride(from: 4, to: bytes.count, by: 8).map { start in
      Entry(tag: UInt16(number(at: start, 2)), rights: number(at: start + 2, 2), id: number(at: start + 4, 4))
    }
  }

  /// Whether the list gives a right (acl(5), access check algorithm).
  ///
  /// - Parameters:
  ///   - owner: The owner of the file.
  ///   - ownersGroup: The group of the file.
  func grants(
    _ right: SystemUser.Right, to user: UInt32, groups: Set<UInt32>, owner: UInt32, ownersGroup: UInt32
  ) -> Bool {
    func gives(_ entry: Entry?) -> Bool { (entry?.rights ?? 0) & right.rawValue != 0 }
    func first(_ tag: UInt16) -> Entry? { entries.first { $0.tag == tag } }
    // The mask bounds all but the owner and the others.
    let isInMask = first(Tag.mask).map { gives($0) } ?? true
    if user == owner { return gives(first(Tag.owner)) }
    if let named = entries.first(where: { $0.tag == Tag.user && $0.id == user }) { return gives(named) && isInMask }
    let ofGroups = entries.filter {
      $0.tag == Tag.ownersGroup && groups.contains(ownersGroup) || $0.tag == Tag.group && groups.contains($0.id)
    }
    if !ofGroups.isEmpty { return isInMask && ofGroups.contains { gives($0) } }
    return gives(first(Tag.others))
  }
}
