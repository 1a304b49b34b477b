import Glibc

/// Small files, read and written whole, with the operating system's own reason in each error.
package enum Files {
  /// A call that failed on a path.
  package struct Failure: Error, Hashable, Sendable {
    package let path: String
    package let code: Int32

    package init(path: String, code: Int32) {
      self.path = path
      self.code = code
    }

    /// The meaning of `errno` in words.
    package var reason: String { Files.reason(code) }

    /// The reason why a file of the configuration cannot be read, with the command that lets the user of this process read it.
    ///
    /// That user may be another one than the server's, who would lose the file if its group became theirs: the text therefore
    /// says for whom the command is, and a group that may read the file keeps it, unless it is root's.
    package var reasonWithRemedy: String {
      guard code == EACCES else { return reason }
      let found = Files.status(path)
      if found?.owner == geteuid() { return "\(reason): chmod u+r \(path)" }
      let user = getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "\(geteuid())"
      let remedy: String
      if let found, found.group != 0, found.mode & S_IRGRP != 0 {
        remedy = "sudo usermod -aG \(Self.groupName(found.group)) \(user), and start it again"
      } else {
        remedy = Files.opening(path, to: Self.groupName(getegid())) { access($0, X_OK) == 0 }
      }
      return "\(reason) to \(user): if that is the server's user: \(remedy); else run this as the server's user"
    }

    private static func groupName(_ id: UInt32) -> String {
      getgrgid(id).map { String(cString: $0.pointee.gr_name) } ?? "\(id)"
    }
  }

  /// Returns what lets a user read a file.
  ///
  /// - Parameters:
  ///   - group: A group of the user, as chgrp(1) takes it.
  ///   - mayEnter: Whether the user may enter a folder.
  package static func opening(_ path: String, to group: String, mayEnter: (String) -> Bool) -> String {
    let folder = String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex))
    guard folder.isEmpty || mayEnter(folder) else {
      return "the user may not enter its folder; copy it to one of the server, and name it there: "
        + "sudo install -g \(group) -m 0640 \(path) /etc/parley/"
    }
    return "sudo chgrp \(group) \(path) && sudo chmod g+r \(path)"
  }

  package static func reason(_ code: Int32) -> String {
    switch code {
    case ENOENT: "there is no such file or folder"
    case EACCES: "permission denied"
    case ENOSPC: "the disk is full"
    case EDQUOT: "the disk quota is used up"
    case EROFS: "the file system is read-only"
    case EISDIR: "it is a folder"
    case ENOTDIR: "a part of the path is not a folder"
    case EFBIG: "it is too large"
    default: String(cString: strerror(code))
    }
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Whether there is no such file.
  ///
  /// - Throws: `Failure` if that cannot be known, as in a folder that must not be entered.
  package static func isMissing(_ path: String) throws(Failure) -> Bool {
    if access(path, F_OK) == 0 { return false }
    let code = errno
    guard code == ENOENT || code == ENOTDIR else { throw Failure(path: path, code: code) }
    return true
  }

  /// Bytes in a file; nil: there is none.
  package static func size(_ path: String) -> Int64? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    let end = lseek(file, 0, SEEK_END)
    return end < 0 ? nil : Int64(end)
  }

  /// Numbers of a file or folder, as stat(2) has them.
  ///
  /// Other modules take them from here: where any file of a module sees Foundation, the compiler may hold `struct stat` for one
  /// of its types, depending on which files it compiles together.
  package struct Status {
    package let size: Int64
    /// The numbers of the user and the group that own it.
    package let owner: UInt32
    package let group: UInt32
    /// The type and the permissions.
    package let mode: UInt32
    /// The names that it has.
    package let links: Int
    /// The numbers of its device and of itself there, which no other one has, whatever its name.
    package let device: UInt64
    package let number: UInt64
    /// The seconds since 1970 at which its content was changed.
    package let changedAt: Int64

    fileprivate init(_ found: stat) {
      size = Int64(found.st_size)
      (owner, group, mode) = (found.st_uid, found.st_gid, found.st_mode)
      links = Int(found.st_nlink)
      (device, number) = (UInt64(found.st_dev), UInt64(found.st_ino))
      changedAt = Int64(found.st_mtim.tv_sec)
    }

    package var isFolder: Bool { mode & S_IFMT == S_IFDIR }
  }

  /// Returns the status of what is at a path, behind links; nil: there is nothing, or it cannot be reached.
  package static func status(_ path: String) -> Status? {
    var found = stat()
    return stat(path, &found) == 0 ? Status(found) : nil
  }

  package static func status(of file: Int32) -> Status? {
    var found = stat()
    return fstat(file, &found) == 0 ? Status(found) : nil
  }

  /// Whether every user of the machine may read the file.
  package static func isReadableForOthers(_ path: String) throws(Failure) -> Bool {
    var found = stat()
    guard stat(path, &found) == 0 else { throw Failure(path: path, code: errno) }
    return found.st_mode & S_IROTH != 0
  }

  package static func read(_ path: String, bytesMax: Int) throws(Failure) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Failure(path: path, code: errno) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = Glibc.read(file, &chunk, chunk.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw Failure(path: path, code: errno)
      }
      if count == 0 { return bytes }
      bytes.append(contentsOf: chunk[..<count])
      if bytes.count > bytesMax { throw Failure(path: path, code: EFBIG) }
    }
  }

  /// Replaces the file as a whole: readers see the old or the new one, and a crash leaves one of them.
  package static func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws(Failure) {
    let temporary = "\(path).\(getpid()).new"
    // A process that had the same number may have left one.
    unlink(temporary)
    let file = create(temporary, mode: mode)
    guard file >= 0 else { throw Failure(path: path, code: errno) }
    var failure: Int32 = 0
    if !writeAll(bytes, to: file) || fsync(file) != 0 { failure = errno }
    if close(file) != 0, failure == 0 { failure = errno }
    if failure == 0, rename(temporary, path) != 0 { failure = errno }
    guard failure == 0 else {
      unlink(temporary)
      throw Failure(path: path, code: failure)
    }
  }

  /// False with `errno` set when not everything could be written.
  package static func writeAll(_ bytes: [UInt8], to file: Int32) -> Bool {
    var done = 0
    return bytes.withUnsafeBytes { buffer in
      while done < buffer.count {
        let count = Glibc.write(file, buffer.baseAddress?.advanced(by: done), buffer.count - done)
        if count < 0 {
          if errno == EINTR { continue }
          return false
        }
        done += count
      }
      return true
    }
  }

  /// Creates the folder and those above it; `mode` is for the last one, the others get 0755.
  package static func makeFolder(_ path: String, mode: UInt32) throws(Failure) {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    if folder >= 0 {
      close(folder)
      return
    }
    guard errno == ENOENT else { throw Failure(path: path, code: errno) }
    if let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try makeFolder(String(path[..<slash]), mode: 0o755)
    }
    guard geteuid() == 0 else {
      // EEXIST: another process was quicker.
      guard mkdir(path, mode) == 0 || errno == EEXIST else { throw Failure(path: path, code: errno) }
      return
    }
    let (outer, name) = opened(above: path)
    guard outer >= 0 else { throw Failure(path: path, code: errno) }
    defer { close(outer) }
    guard mkdirat(outer, name, mode) == 0 else {
      if errno == EEXIST { return }
      throw Failure(path: path, code: errno)
    }
    let made = openat(outer, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard made >= 0 else { return }
    inheritOwner(made, of: outer)
    close(made)
  }

  /// Creates a file, and opens it for reading and writing. Returns -1 with `errno` set where that fails, also for a path
  /// that exists.
  ///
  /// A file or folder that root creates gets the owner of the folder that it is in: the server runs as another user, and
  /// could not open what a command of root has created in its data folder while it was stopped.
  package static func create(_ path: String, mode: UInt32 = 0o600) -> Int32 {
    let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
    guard geteuid() == 0 else { return open(path, flags, mode) }
    let (outer, name) = opened(above: path)
    guard outer >= 0 else { return -1 }
    let file = openat(outer, name, flags, mode)
    let code = errno
    if file >= 0 { inheritOwner(file, of: outer) }
    close(outer)
    errno = code
    return file
  }

  /// Opens a file for reading and writing, which is created if it is missing. Returns -1 with `errno` set where that
  /// fails.
  package static func openOrCreate(_ path: String) -> Int32 {
    let file = create(path)
    return file < 0 && errno == EEXIST ? open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : file
  }

  /// Opens the folder that a path is in, and returns it with the name in it; -1 with `errno` set where that fails. While
  /// root creates something and gives it away, the folder stays the same, even if another user puts a link in its place.
  private static func opened(above path: String) -> (folder: Int32, name: String) {
    guard let slash = path.lastIndex(of: "/") else { return (open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), path) }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    let name = path[path.index(after: slash)...]
    return (open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), name.isEmpty ? "." : String(name))
  }

  /// Only for what this process has created: another user may have made a link of any other path.
  private static func inheritOwner(_ file: Int32, of folder: Int32) {
    var found = stat()
    if fstat(folder, &found) == 0 { _ = fchown(file, found.st_uid, found.st_gid) }
  }

  /// The path from the root, without a trailing slash.
  package static func absolute(_ path: String) -> String {
    var full = path
    if !path.hasPrefix("/") {
      // A null buffer makes the C library allocate one of the right size.
      let buffer = getcwd(nil, 0)
      defer { free(buffer) }
      let folder = buffer.map { String(cString: $0) } ?? "."
      full = folder + "/" + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
    }
    while full.count > 1, full.hasSuffix("/") { full.removeLast() }
    return full
  }
}
