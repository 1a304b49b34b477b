import Basics
import Crypto
import HTTPPort
import HTTPTypes
import Hummingbird
import NIOCore

/// A self-contained HTML page without scripts or external resources (docs/decisions/0011-invitations.md).
struct HTMLPage {
  var status: HTTPResponse.Status = .ok
  let title: String
  /// The HTML, in which all external values are `escaped`.
  let body: String

  /// Escapes text for an element or a quoted attribute.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  var response: Response {
    let html = """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta name="robots" content="noindex">
      <meta name="color-scheme" content="light dark">
      <title>\(Self.escaped(title))</title>
      <style>\(Self.style)</style>
      </head>
      <body>
      <main>
      \(body)
      </main>
      </body>
      </html>

      """
    return Response(status: status, headers: Self.headers, body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
  }

  /// The URL contains a token: caches must not keep it and referrers not leak it.
  private static let headers: HTTPFields = [
    .contentType: "text/html; charset=utf-8",
    .cacheControl: "no-store",
    .contentSecurityPolicy:
      "default-src 'none'; style-src 'sha256-\(styleHash)'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    .xContentTypeOptions: "nosniff",
    .referrerPolicy: "no-referrer",
  ]

  private static let styleHash = Base64.string(Array(SHA256.hash(data: Array(style.utf8))))

  private static let style = """
    :root{--ink:#1b1f2a;--soft:#5b6375;--paper:#fff;--ground:#f2f4f8;--line:#d9dee8;--accent:#2f5fd0;--on:#fff;--bad:#b3261e}
    @media(prefers-color-scheme:dark){:root{--ink:#e8eaf0;--soft:#a2a9b8;--paper:#1d212b;--ground:#12151c;--line:#343a48;\
    --accent:#8fb0ff;--on:#10182c;--bad:#ff9d94}}
    *{box-sizing:border-box}
    body{margin:0;background:var(--ground);color:var(--ink);font:17px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
    main{max-width:34rem;margin:0 auto;padding:2.5rem 1.25rem}
    section{background:var(--paper);border:1px solid var(--line);border-radius:16px;padding:1.5rem;margin:0 0 1rem}
    h1{font-size:1.6rem;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}
    h2{font-size:1.05rem;margin:0 0 .75rem}
    p{margin:0 0 1rem;overflow-wrap:anywhere}
    p:last-child,ul:last-child{margin-bottom:0}
    .soft{color:var(--soft);font-size:.92rem}
    .bad{color:var(--bad)}
    .address{font-weight:600;overflow-wrap:anywhere}
    .button,button{display:block;width:100%;padding:.8rem 1rem;border:0;border-radius:10px;background:var(--accent);color:var(--on);\
    font:inherit;font-weight:600;text-align:center;text-decoration:none;cursor:pointer;margin:0 0 1rem}
    .button:focus-visible,button:focus-visible,input:focus-visible,a:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
    label{display:block;font-weight:600;margin:0 0 .3rem}
    input{width:100%;padding:.7rem .8rem;margin:0 0 1rem;border:1px solid var(--line);border-radius:10px;background:var(--ground);\
    color:var(--ink);font:inherit}
    ul{list-style:none;padding:0;margin:0 0 1rem}
    li{padding:.35rem 0;border-top:1px solid var(--line)}
    li:first-child{border-top:0}
    a{color:var(--accent)}
    """
}
