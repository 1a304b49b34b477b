import Basics
import CSQLite
import Dialogs

/// A value that a parameter of a statement takes.
///
/// The functions that bind are generic by number of values, not by parameter packs: those are not specialised (Swift
/// 6.3), so that each value would cost calls through its witness table. Measured for the 24 values of a message's
/// payload: 379 instructions, against 3,980 with a pack and 366 with numbers written out.
protocol Bindable {
  /// Returns the engine's code.
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32
}

extension Connection {
  /// Returns the statement with its first parameters bound.
  @inline(__always)
  func callAsFunction<A: Bindable>(_ query: Query, _ a: A) throws(StoreFailure) -> Prepared {
    try self(query).bind(a)
  }
  @inline(__always)
  func callAsFunction<A: Bindable, B: Bindable>(_ query: Query, _ a: A, _ b: B) throws(StoreFailure) -> Prepared {
    try self(query).bind(a, b)
  }
  @inline(__always)
  func callAsFunction<A: Bindable, B: Bindable, C: Bindable>(
    _ query: Query, _ a: A, _ b: B, _ c: C
  ) throws(StoreFailure) -> Prepared {
    try self(query).bind(a, b, c)
  }
  @inline(__always)
  func callAsFunction<A: Bindable, B: Bindable, C: Bindable, D: Bindable>(
    _ query: Query, _ a: A, _ b: B, _ c: C, _ d: D
  ) throws(StoreFailure) -> Prepared {
    try self(query).bind(a, b, c, d)
  }
  @inline(__always)
  func callAsFunction<A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable>(
    _ query: Query, _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) throws(StoreFailure) -> Prepared {
    try self(query).bind(a, b, c, d, e)
  }
  @inline(__always)
  func callAsFunction<A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable, F: Bindable>(
    _ query: Query, _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) throws(StoreFailure) -> Prepared {
    try self(query).bind(a, b, c, d, e, f)
  }
}

extension Prepared {
  /// Binds the next parameter, and returns the statement with the following one as the next.
  @inline(__always)
  func bind<A: Bindable>(_ a: A) throws(StoreFailure) -> Prepared {
    guard a.bind(to: raw, at: next) == SQLITE_OK else { throw StoreFailure(sqlite3_db_handle(raw)) }
    return Prepared(raw: raw, next: next + 1)
  }
  @inline(__always)
  func bind<A: Bindable, B: Bindable>(_ a: A, _ b: B) throws(StoreFailure) -> Prepared { try bind(a).bind(b) }
  @inline(__always)
  func bind<A: Bindable, B: Bindable, C: Bindable>(_ a: A, _ b: B, _ c: C) throws(StoreFailure) -> Prepared {
    try bind(a).bind(b).bind(c)
  }
  @inline(__always)
  func bind<A: Bindable, B: Bindable, C: Bindable, D: Bindable>(
    _ a: A, _ b: B, _ c: C, _ d: D
  ) throws(StoreFailure) -> Prepared {
    try bind(a).bind(b).bind(c).bind(d)
  }
  @inline(__always)
  func bind<A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E
  ) throws(StoreFailure) -> Prepared {
    try bind(a).bind(b).bind(c).bind(d).bind(e)
  }
  @inline(__always)
  func bind<A: Bindable, B: Bindable, C: Bindable, D: Bindable, E: Bindable, F: Bindable>(
    _ a: A, _ b: B, _ c: C, _ d: D, _ e: E, _ f: F
  ) throws(StoreFailure) -> Prepared {
    try bind(a).bind(b).bind(c).bind(d).bind(e).bind(f)
  }

  /// Binds the next parameters to NULL.
  func bindNulls(_ count: Int) throws(StoreFailure) -> Prepared {
    var statement = self
    for _ in 0..<count { statement = try statement.bind(nil as Int64?) }
    return statement
  }
}

extension Int64: Bindable {
  @inline(__always)
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, self) }
}

/// A value that is bound as a number.
protocol BindableNumber: Bindable {
  var boundNumber: Int64 { get }
}

extension BindableNumber {
  @inline(__always)
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 { sqlite3_bind_int64(statement, index, boundNumber) }
}

extension Int: BindableNumber { @inline(__always) var boundNumber: Int64 { Int64(self) } }
extension Int32: BindableNumber { @inline(__always) var boundNumber: Int64 { Int64(self) } }
extension UInt8: BindableNumber { @inline(__always) var boundNumber: Int64 { Int64(self) } }
extension UInt16: BindableNumber {
  @inline(__always) var boundNumber: Int64 { Int64(self) }
}
extension UInt32: BindableNumber { @inline(__always) var boundNumber: Int64 { Int64(self) } }
extension UInt64: BindableNumber { @inline(__always) var boundNumber: Int64 { Int64(bitPattern: self) } }
extension Bool: BindableNumber { @inline(__always) var boundNumber: Int64 { self ? 1 : 0 } }
extension Timestamp: BindableNumber { @inline(__always) var boundNumber: Int64 { milliseconds } }
extension Position: BindableNumber { @inline(__always) var boundNumber: Int64 { number } }
extension UserID: BindableNumber { @inline(__always) var boundNumber: Int64 { number } }
extension DialogID: BindableNumber { @inline(__always) var boundNumber: Int64 { number } }
extension RealmID: BindableNumber { @inline(__always) var boundNumber: Int64 { number } }

extension Optional: Bindable where Wrapped: Bindable {
  @inline(__always)
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    switch self {
    case .none: sqlite3_bind_null(statement, index)
    case .some(let value): value.bind(to: statement, at: index)
    }
  }
}

/// The engine copies the text.
extension String: Bindable {
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    var text = self
    // A native string's bytes have an address even if it is empty, so that an empty text does not become a missing one.
    return text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(statement, index, $0.baseAddress, Int32(clamping: $0.count), transient)
      }
    }
  }
}

/// The engine copies the bytes.
extension [UInt8]: Bindable {
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    withUnsafeBytes { bytes in
      bytes.isEmpty
        ? sqlite3_bind_zeroblob(statement, index, 0)
        : sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(clamping: bytes.count), transient)
    }
  }
}

/// The engine does not copy the text, which stays in place until the statement has run.
extension Arena.Text: Bindable {
  @inline(__always)
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    let start = bytes.baseAddress.map { $0.assumingMemoryBound(to: CChar.self) }
    return sqlite3_bind_text(statement, index, start, Int32(clamping: bytes.count), nil)
  }
}

/// The engine does not copy the bytes, which stay in place until the statement has run.
extension Arena.Bytes: Bindable {
  @inline(__always)
  func bind(to statement: OpaquePointer, at index: Int32) -> Int32 {
    sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(clamping: bytes.count), nil)
  }
}

/// The value of `SQLITE_TRANSIENT`, a macro that Swift does not see.
private var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }
