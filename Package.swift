// swift-tools-version: 6.1
import PackageDescription

// The compiler enforces the architecture: doors never import each other or a
// store, the core imports no IO, `XMPP` runs without a server.
// docs/architecture.md has the picture.

/// `PARLEY_STRICT=1` (set by `make test`) makes warnings errors. Off by default, so that a newer
/// compiler's new warning never stops a user's build.
let strict = Context.environment["PARLEY_STRICT"] == "1"

var settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]
if strict { settings.append(.unsafeFlags(["-warnings-as-errors"])) }

/// The commit that `parley --version` names. `make release` and the container's build set it. A debug build has none, or it would be
/// another program after each commit. It is a flag of one file in C, which only `parley` uses: no other target is compiled anew.
let commit = Context.environment["PARLEY_COMMIT"] ?? ""

let crypto: [Target.Dependency] = [
  .product(name: "Crypto", package: "swift-crypto"), .product(name: "CryptoExtras", package: "swift-crypto"),
]
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")

/// A product of a package that only other packages use and whose version is pinned below. SwiftPM warns about a package that no target
/// uses. It accepts a use on another platform, for which nothing is compiled here (docs/decisions/0050-pinned-packages.md).
func pinned(_ product: String, _ package: String) -> Target.Dependency {
  .product(name: product, package: package, condition: .when(platforms: [.windows]))
}
let transitive: [Target.Dependency] = [
  pinned("AsyncHTTPClient", "async-http-client"), pinned("Algorithms", "swift-algorithms"),
  pinned("AsyncAlgorithms", "swift-async-algorithms"), pinned("Atomics", "swift-atomics"),
  pinned("DequeModule", "swift-collections"), pinned("Configuration", "swift-configuration"),
  pinned("StructuredFieldValues", "swift-http-structured-headers"), pinned("Metrics", "swift-metrics"),
  pinned("NIOHTTP2", "swift-nio-http2"), pinned("NIOTransportServices", "swift-nio-transport-services"),
  pinned("RealModule", "swift-numerics"), pinned("ServiceContextModule", "swift-service-context"),
  pinned("SystemPackage", "swift-system"),
]

let package = Package(
  name: "parley",
  products: [.executable(name: "parley", targets: ["parley"])],
  // `packaging/packages upgrade` changes the versions, here and in packaging/packages.json.
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", exact: "2.37.6"),
    .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
    .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
    .package(url: "https://github.com/apple/swift-crypto", exact: "4.5.2"),
    .package(url: "https://github.com/apple/swift-certificates", exact: "1.21.1"),
    .package(url: "https://github.com/apple/swift-asn1", exact: "1.7.4"),
    .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    .package(url: "https://github.com/apple/swift-distributed-tracing", exact: "1.7.3"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", exact: "2.13.0"),
    .package(url: "https://github.com/jpsim/Yams", exact: "6.2.2"),
    .package(url: "https://github.com/vapor/jwt-kit", exact: "5.7.1"),
    // Only other packages use these.
    .package(url: "https://github.com/swift-server/async-http-client", exact: "1.37.0"),
    .package(url: "https://github.com/apple/swift-algorithms", exact: "1.2.1"),
    .package(url: "https://github.com/apple/swift-async-algorithms", exact: "1.1.4"),
    .package(url: "https://github.com/apple/swift-atomics", exact: "1.3.0"),
    .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
    .package(url: "https://github.com/apple/swift-configuration", exact: "1.4.0", traits: []),
    .package(url: "https://github.com/apple/swift-http-structured-headers", exact: "1.7.0"),
    .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
    .package(url: "https://github.com/apple/swift-nio-http2", exact: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-transport-services", exact: "1.28.0"),
    .package(url: "https://github.com/apple/swift-numerics", exact: "1.1.1"),
    .package(url: "https://github.com/apple/swift-service-context", exact: "1.5.1"),
    .package(url: "https://github.com/apple/swift-system", exact: "1.8.1"),
  ],
  targets: [
    // Leaves
    .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CTimex"),
    .systemLibrary(name: "CMalloc"),
    .systemLibrary(name: "CXattr"),
    .target(name: "Basics", swiftSettings: settings),
    .target(name: "JSON", dependencies: ["Basics"], swiftSettings: settings),
    .target(name: "ACME", dependencies: ["Basics", "JSON"] + crypto, swiftSettings: settings),
    .target(
      name: "ImportSources", dependencies: ["Basics", "JSON", "CLibXML2", "CSQLite"] + crypto, swiftSettings: settings),
    .target(name: "ServerMetrics", swiftSettings: settings),
    .target(name: "CKeyDerivation"),
    .target(name: "CChildProcess"),
    // `clients/`, as bytes in the program
    .target(name: "CWebFiles"),
    .target(name: "CCommit", cSettings: commit.isEmpty ? [] : [.define("PARLEY_COMMIT", to: commit)]),
    .target(
      name: "Addresses", dependencies: ["Basics"], exclude: ["generate-tables.py"], swiftSettings: settings),
    .target(name: "DNS", dependencies: ["Basics", nioCore, nioPosix], swiftSettings: settings),
    .target(name: "XMLStream", dependencies: [nioCore], swiftSettings: settings),
    .target(
      name: "XMPP", dependencies: ["Basics", "XMLStream", "Addresses", nioCore] + crypto, swiftSettings: settings),
    .target(name: "Jingle", dependencies: ["JSON", "XMLStream", "XMPP"], swiftSettings: settings),

    // The core, and where it is stored
    .target(
      name: "Dialogs", dependencies: ["Basics", "Addresses", "ServerMetrics", logging, tracing] + crypto,
      swiftSettings: settings),
    .target(
      name: "SQLiteStore", dependencies: ["Basics", "Dialogs", "Addresses", "ServerMetrics", "CSQLite", logging],
      swiftSettings: settings),

    // Accounts and sign-in, over the core
    .target(
      name: "Accounts",
      dependencies: ["Basics", "Dialogs", "Addresses", "CKeyDerivation", "ServerMetrics", logging] + crypto,
      swiftSettings: settings),

    // What the server asks of others: requests and mail, identity tokens, push services, an app's backend
    .target(name: "WebClient", dependencies: ["Basics", "CCurl", logging, tracing] + crypto, swiftSettings: settings),
    .target(
      name: "TraceExport", dependencies: ["Basics", "JSON", "ServerMetrics", "WebClient", logging, tracing],
      swiftSettings: settings),
    .target(
      name: "IdentityTokens", dependencies: ["Basics", "JSON", "Accounts", "Dialogs"] + crypto,
      swiftSettings: settings),
    .target(
      name: "PushServices",
      dependencies: ["Basics", "Dialogs", "Addresses", "WebClient", "JSON", "ServerMetrics", logging] + crypto,
      swiftSettings: settings),
    .target(
      name: "Backends", dependencies: ["Basics", "Dialogs", "WebClient", "JSON", "ServerMetrics", logging],
      swiftSettings: settings),

    // The HTTP port, which doors share
    .target(
      name: "HTTPPort",
      dependencies: [
        "Basics", "JSON", "Dialogs", "ServerMetrics", nioCore, nioTLS, nioSSL, nioWebSocket, nioHTTP1, logging, tracing,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
        .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
      ], swiftSettings: settings),

    // The other servers: what the configuration says of them, how they are found, connected and judged
    .target(
      name: "Peers",
      dependencies: [
        "Basics", "Addresses", "DNS", "Dialogs", "HTTPPort", "XMPP", nioCore, nioPosix, nioTLS, nioSSL,
      ], swiftSettings: settings),

    // The commands that the XMPP door offers, as whoever composes the server defines them
    .target(name: "Commands", dependencies: ["Dialogs", "XMPP"], swiftSettings: settings),

    // The doors
    .target(
      name: "XMPPDoor",
      dependencies: [
        "Basics", "JSON", "XMPP", "Jingle", "XMLStream", "Addresses", "Dialogs", "Accounts", "PushServices", "HTTPPort",
        "Commands", "Peers", "ServerMetrics", nioCore, nioPosix, nioTLS, nioSSL, nioWebSocket, logging,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ] + crypto, swiftSettings: settings),
    .target(
      name: "AppDoor",
      dependencies: [
        "Basics", "HTTPPort", "JSON", "Dialogs", "Accounts", "Backends", "Addresses", "ServerMetrics", nioCore,
        nioPosix,
        nioWebSocket, logging,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: settings),

    .target(
      name: "FileDoor",
      dependencies: [
        "Basics", "HTTPPort", "Dialogs", "Addresses", nioCore,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: settings),

    // Where files are kept, and the programs that look at them
    .target(
      name: "FileStorage",
      dependencies: ["Dialogs", "WebClient", "XMLStream", "Basics", "CChildProcess", logging] + crypto,
      swiftSettings: settings),

    // The server: what it is told, how it is looked after, how it is put together
    .target(
      name: "ServerConfiguration",
      dependencies: [
        "Accounts", "Dialogs", "Addresses", "Basics", "Peers", "FileStorage", "WebClient", "IdentityTokens",
        "PushServices",
        nioCore, logging, yams,
      ], swiftSettings: settings),
    .target(
      name: "Administration",
      dependencies: [
        "ServerConfiguration", "Dialogs", "Accounts", "Backends", "Addresses", "Basics", "JSON", "ImportSources",
        "XMPP", "Commands", "Peers", "XMPPDoor", "AppDoor", "HTTPPort", "ServerMetrics", "WebClient", nioCore, nioPosix,
        nioHTTP1, logging,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
      ], swiftSettings: settings),
    .target(
      name: "ServerCertificates",
      dependencies: [
        "ACME", "ServerConfiguration", "Peers", "HTTPPort", "Addresses", "Basics", "DNS", "JSON", "WebClient",
        nioCore, nioSSL, logging,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "X509", package: "swift-certificates"), .product(name: "SwiftASN1", package: "swift-asn1"),
      ] + crypto, swiftSettings: settings),
    .target(
      name: "CodeTransports",
      dependencies: [
        "ServerConfiguration", "Accounts", "Dialogs", "Basics", "JSON", "ServerMetrics", "WebClient", logging,
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: settings),
    .target(
      name: "WebPages",
      dependencies: [
        "Administration", "Accounts", "Dialogs", "Addresses", "Basics", "HTTPPort", "CWebFiles", "CZlib", nioCore,
        logging,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: settings),
    .target(
      name: "ParleyServer",
      dependencies: [
        "ServerCertificates", "CodeTransports", "WebPages", "ServerConfiguration", "Administration", "FileStorage",
        "FileDoor", "Dialogs", "Accounts", "Backends",
        "Addresses", "Basics", "SQLiteStore", "HTTPPort", "JSON", "Peers", "XMPPDoor", "AppDoor", "WebClient",
        "ServerMetrics", "TraceExport",
        "IdentityTokens", "PushServices", "CTimex", "CXattr", "CMalloc",
        nioCore, nioPosix, nioSSL, logging,
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "X509", package: "swift-certificates"), .product(name: "SwiftASN1", package: "swift-asn1"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "UnixSignals", package: "swift-service-lifecycle"),
      ], swiftSettings: settings),
    .executableTarget(
      name: "parley",
      dependencies: [
        "ParleyServer", "ServerCertificates", "ServerConfiguration", "Administration", "Dialogs", "Addresses", "Basics",
        "ImportSources", "Peers", "XMPP", "XMLStream", "CCommit",
        nioCore, nioPosix, nioSSL, logging,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ] + transitive, swiftSettings: settings),

    // Tests
    .target(
      name: "ParleyTesting",
      dependencies: [
        "Accounts", "XMPPFixtures",
        "ParleyServer", "ServerConfiguration", "Basics", "Dialogs", "XMPP", "XMLStream", "JSON", nioCore,
        nioPosix,
        nioHTTP1, nioWebSocket, nioSSL, logging,
        .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
        .product(name: "Crypto", package: "swift-crypto"),
      ], path: "Tests/ParleyTesting", swiftSettings: settings),
    .testTarget(
      name: "PlayTests", dependencies: ["ParleyTesting", "XMLStream", "JSON", "parley"], swiftSettings: settings),
    .testTarget(
      name: "WebClientTests",
      dependencies: [
        "WebClient", "Basics", nioCore, nioPosix, nioHTTP1, logging,
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
      ] + crypto, swiftSettings: settings),
    .testTarget(
      name: "IdentityTokensTests", dependencies: ["IdentityTokens", "Basics", "Dialogs", "Accounts", jwt] + crypto,
      swiftSettings: settings),
    .testTarget(
      name: "PushServicesTests",
      dependencies: [
        "PushServices", "DialogsFixtures", "StoreConformance", "WebClient", "Basics", "Addresses", "JSON", "Dialogs",
        "Accounts",
        jwt, nioCore, nioPosix, nioHTTP1,
      ] + crypto,
      swiftSettings: settings),
    .testTarget(name: "BasicsTests", dependencies: ["Basics"], swiftSettings: settings),
    .testTarget(name: "ACMETests", dependencies: ["ACME", "Basics", "JSON"] + crypto, swiftSettings: settings),
    .testTarget(
      name: "ImportSourcesTests", dependencies: ["ImportSources", "Basics", "CSQLite"], swiftSettings: settings),
    .testTarget(
      name: "TraceExportTests",
      dependencies: [
        "TraceExport", "DialogsFixtures", "Dialogs", "Addresses", "ServerMetrics", "WebClient", "JSON", "Basics",
        logging, tracing,
      ], swiftSettings: settings),
    .testTarget(name: "ServerMetricsTests", dependencies: ["ServerMetrics"], swiftSettings: settings),
    .testTarget(name: "JSONTests", dependencies: ["JSON", "Basics"], swiftSettings: settings),
    .testTarget(name: "AddressesTests", dependencies: ["Addresses"], swiftSettings: settings),
    .testTarget(
      name: "DNSTests",
      dependencies: ["DNS", "Basics", nioCore, nioPosix],
      swiftSettings: settings),
    .testTarget(
      name: "HTTPPortTests",
      dependencies: [
        "HTTPPort", "ServerCertificates", "Basics", "Dialogs", "JSON", "ServerMetrics", nioCore, nioHTTP1, nioSSL,
        nioWebSocket, logging,
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "XMLStreamTests", dependencies: ["Basics", "XMLStream", "CLibXML2", nioCore], swiftSettings: settings),
    .target(
      name: "XMPPFixtures", dependencies: ["XMPP", "Basics"] + crypto, path: "Tests/XMPPFixtures",
      swiftSettings: settings),
    .testTarget(name: "JingleTests", dependencies: ["Jingle", "XMLStream", nioCore], swiftSettings: settings),
    .testTarget(
      name: "XMPPTests", dependencies: ["XMPPFixtures", "XMPP", "Basics", "XMLStream", "Addresses", nioCore] + crypto,
      swiftSettings: settings),
    // The core over a real store: the contract of the log is about what is durable.
    .target(
      name: "DialogsFixtures",
      dependencies: ["Dialogs", "Accounts", "Basics", "SQLiteStore", "StoreConformance", "Addresses", logging],
      path: "Tests/DialogsFixtures", swiftSettings: settings),
    .testTarget(
      name: "DialogsTests",
      dependencies: ["DialogsFixtures", "Dialogs", "Accounts", "Basics", "StoreConformance", "Addresses", logging]
        + crypto,
      swiftSettings: settings),
    .testTarget(
      name: "AccountsTests",
      dependencies: ["DialogsFixtures", "Accounts", "Dialogs", "Basics", "StoreConformance", "Addresses", logging]
        + crypto,
      swiftSettings: settings),
    .testTarget(
      name: "BackendsTests",
      dependencies: ["DialogsFixtures", "Backends", "Dialogs", "Accounts", "Basics", logging],
      swiftSettings: settings),
    .testTarget(
      name: "PeersTests", dependencies: ["Peers", "Basics", "DNS", nioCore, nioPosix], swiftSettings: settings),
    .testTarget(
      name: "XMPPDoorTests",
      dependencies: [
        "XMPPDoor", "XMPPFixtures", "DialogsFixtures", "StoreConformance", "Accounts", "Basics", "XMPP", "XMLStream",
        "Dialogs", "Addresses", "HTTPPort", "Peers", "ServerMetrics",
        logging, nioCore, nioPosix, nioSSL, .product(name: "NIOEmbedded", package: "swift-nio"),
      ],
      swiftSettings: settings),
    .target(
      name: "StoreConformance", dependencies: ["Basics", "Dialogs", "Addresses"], path: "Tests/StoreConformance",
      swiftSettings: settings),
    .testTarget(
      name: "SQLiteStoreTests",
      dependencies: ["SQLiteStore", "StoreConformance", "Basics", "Dialogs", "Addresses", "CSQLite"],
      swiftSettings: settings),
    .testTarget(
      name: "AppDoorTests",
      dependencies: [
        "AppDoor", "DialogsFixtures", "StoreConformance", "HTTPPort", "Basics", "JSON", "Dialogs", "Accounts",
        "SQLiteStore", "Addresses", yams, nioCore, nioHTTP1, nioSSL, nioWebSocket, logging,
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
      ], swiftSettings: settings),
    .target(
      name: "ServerFixtures",
      dependencies: [
        "ParleyServer", "ServerConfiguration", "Administration", "Basics", "Dialogs", "Accounts", "Addresses", nioPosix,
        logging,
      ], path: "Tests/ServerFixtures", swiftSettings: settings),
    .testTarget(
      name: "FileStorageTests",
      dependencies: [
        "FileStorage", "ServerFixtures", "Dialogs", nioCore, nioPosix, nioHTTP1, logging,
        .product(name: "Crypto", package: "swift-crypto"),
      ], swiftSettings: settings),
    .testTarget(
      name: "FileDoorTests",
      dependencies: [
        "FileDoor", "Basics", "Dialogs", "Addresses", .product(name: "HTTPTypes", package: "swift-http-types"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ServerConfigurationTests",
      dependencies: [
        "Accounts",
        "ServerConfiguration", "ServerFixtures", "FileStorage", "Basics", "Peers", "Dialogs", "Addresses",
        "IdentityTokens", logging,
      ], swiftSettings: settings),
    .testTarget(
      name: "AdministrationTests",
      dependencies: [
        "Administration", "ServerConfiguration", "ServerFixtures", "ParleyServer", "HTTPPort", "JSON", "Basics",
        "Dialogs", "DialogsFixtures", "Accounts", "Addresses", "Commands", "Peers", "XMPP", "XMPPFixtures", nioPosix,
        yams,
      ], swiftSettings: settings),
    .testTarget(
      name: "ParleyServerTests",
      dependencies: [
        "ParleyServer", "ServerCertificates", "CodeTransports", "WebPages", "parley", "ServerFixtures",
        "ServerConfiguration", "Administration", "HTTPPort", "XMLStream",
        "Dialogs", "Accounts", "Addresses", "Basics", "FileStorage", "SQLiteStore", "CXattr", nioCore, nioPosix, nioSSL,
        nioHTTP1, logging,
        .product(name: "HTTPTypes", package: "swift-http-types"),
        .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "Crypto", package: "swift-crypto"),
        .product(name: "X509", package: "swift-certificates"), .product(name: "SwiftASN1", package: "swift-asn1"),
      ], swiftSettings: settings),
    .testTarget(
      name: "ServerCertificatesTests",
      dependencies: [
        "ServerCertificates", "ServerConfiguration", "ServerFixtures", "Peers", "DNS", "WebClient", "Basics",
        nioCore, nioPosix, nioTLS, nioSSL, logging, .product(name: "X509", package: "swift-certificates"),
        .product(name: "SwiftASN1", package: "swift-asn1"),
      ] + crypto, swiftSettings: settings),
    // The core against a model of it: a library, a test that runs a little of it, and a program that runs it for long.
    .target(
      name: "Simulation", dependencies: ["Dialogs", "Basics", "SQLiteStore", "Addresses", logging],
      path: "Tests/SimulationTests/Simulation", swiftSettings: settings),
    .testTarget(
      name: "SimulationTests", dependencies: ["Simulation"], exclude: ["Simulation", "simulate"],
      swiftSettings: settings),
    .executableTarget(
      name: "simulate", dependencies: ["Simulation"], path: "Tests/SimulationTests/simulate", swiftSettings: settings),

    // Micro-benchmarks: plain executables, run by `make bench`
    .executableTarget(
      name: "scanner-bench", dependencies: ["XMLStream", nioCore], path: "Tests/Benchmarks/ScannerBench",
      swiftSettings: settings),
    .executableTarget(
      name: "metrics-bench", dependencies: ["ServerMetrics"], path: "Tests/Benchmarks/MetricsBench",
      swiftSettings: settings),
    .executableTarget(
      name: "core-bench", dependencies: ["SQLiteStore", "Basics", "Dialogs", "Addresses", logging],
      path: "Tests/Benchmarks/CoreBench", swiftSettings: settings),
    .executableTarget(
      name: "store-bench", dependencies: ["SQLiteStore", "Basics", "Dialogs", "Addresses"],
      path: "Tests/Benchmarks/StoreBench",
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6])

// The Swift SDK is a package of its own, with a manifest of its own. For the tests it is compiled with the server, so that
// SwiftNIO and BoringSSL are compiled once; `Tests/Clients/sdk_swift.py` runs what is compiled here.
if strict {
  package.dependencies.append(.package(path: "clients/swift"))
  package.targets.append(
    .testTarget(
      name: "ParleyClientTests",
      dependencies: [
        .product(name: "ParleyClient", package: "swift"), .product(name: "terminal-chat", package: "swift"),
      ],
      path: "clients/swift/Tests/ParleyClientTests", swiftSettings: settings))
}
