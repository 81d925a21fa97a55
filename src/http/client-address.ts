import type { IncomingMessage } from 'node:http'
import type { TrustedProxies } from './access/trusted-proxies.ts'

/** Addresses of the clients for whom a trusted proxy sent requests. */
const forwarded = new WeakMap<IncomingMessage, string>()

/** A request, and one of Fastify. */
type AnyRequest = IncomingMessage | { readonly raw: IncomingMessage }

/** The address of the client of a request: that of its connection, or the one that a trusted proxy names. */
export function clientAddressOf(request: AnyRequest): string {
  const raw = 'raw' in request ? request.raw : request
  return forwarded.get(raw) ?? raw.socket.remoteAddress ?? ''
}

/** Takes what proxies say about the clients of a port's requests. */
export class ForwardedClients {
  readonly proxies: TrustedProxies
  private readonly say: (line: string) => void
  private hasSaid = false

  /** `say`: gets a line when a peer that is no trusted proxy names another client. */
  constructor(
    proxies: TrustedProxies,
    say: (line: string) => void = (line) => void process.stderr.write(`${line}\n`),
  ) {
    this.proxies = proxies
    this.say = say
  }

  /** Notes the client of a request, for `clientAddressOf`. */
  note(request: IncomingMessage): void {
    const { 'x-forwarded-for': field } = request.headers
    if (field === undefined) return
    const { remoteAddress = '' } = request.socket
    const text = String(field)
    if (this.proxies.trusts(remoteAddress)) {
      forwarded.set(request, this.proxies.clientOf(remoteAddress, text))
    } else this.ignore(remoteAddress)
  }

  private ignore(peer: string): void {
    if (this.hasSaid) return
    this.hasSaid = true
    this.say(
      `weir: ${peer} sends X-Forwarded-For, which is ignored: its requests are its own; if it is a proxy, start with --trusted-proxy ${peer}`,
    )
  }
}
