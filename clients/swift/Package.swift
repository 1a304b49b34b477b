// swift-tools-version: 6.1
import PackageDescription

// A package of its own: an app gets the client, and on Linux SwiftNIO, and nothing of the server.

/// SwiftNIO is the transport where Foundation has no WebSocket that works; Apple's platforms need no dependency.
func nio(_ name: String, _ package: String = "swift-nio") -> Target.Dependency {
  .product(name: name, package: package, condition: .when(platforms: [.linux]))
}

var settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
// For the tests of the repository; off by default, so that a newer compiler's new warning never stops an app's build, and that no app
// on Linux is linked to libcurl for a transport that it does not use.
if Context.environment["PARLEY_STRICT"] == "1" {
  settings += [.unsafeFlags(["-warnings-as-errors"]), .define("PARLEY_URLSESSION")]
}

let package = Package(
  name: "ParleyClient",
  platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
  products: [
    .library(name: "ParleyClient", targets: ["ParleyClient"]),
    .executable(name: "terminal-chat", targets: ["terminal-chat"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
  ],
  targets: [
    .target(
      name: "ParleyClient",
      dependencies: [
        nio("NIOCore"), nio("NIOPosix"), nio("NIOHTTP1"), nio("NIOWebSocket"), nio("NIOSSL", "swift-nio-ssl"),
      ], swiftSettings: settings),
    .executableTarget(name: "terminal-chat", dependencies: ["ParleyClient"], swiftSettings: settings),
    .testTarget(name: "ParleyClientTests", dependencies: ["ParleyClient"], swiftSettings: settings),
  ])
