/** Parts of an HTTP request that are the same for all requests of a target. */
export interface HttpRequestHead {
  readonly method: string
  /** Value of the header `Host`. */
  readonly host: string
  /** Further headers, by name. */
  readonly headers: Readonly<Record<string, string>>
}

/** The bytes of a request with these parts, by path and body. */
export function requestWriter({
  method,
  host,
  headers,
}: HttpRequestHead): (path: string, body?: string) => string {
  const lines = Object.entries({ host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = ` HTTP/1.1\r\n${lines.join('')}`
  return (path, body) =>
    body === undefined
      ? `${method} ${path}${head}\r\n`
      : `${method} ${path}${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}
