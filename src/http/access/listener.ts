import { isIPv4, isIPv6 } from 'node:net'
import { WeirError } from '../../core/errors.ts'

/** Facts about a port that is about to be opened. */
export interface ListenerFacts {
  /** Subject of messages, such as `the query port`. */
  readonly what: string
  /** Address that it listens on; empty means every address. */
  readonly host: string
  readonly hasTls: boolean
  /** Whether every request needs a token. */
  readonly hasTokens: boolean
  /** Whether the operator said that the port may be insecure. */
  readonly isInsecureAllowed: boolean
  /** Settings that messages name. @default the flags of a command */
  readonly settings?: { readonly tls: string; readonly insecure: string }
}

/** Permission to start a listener. */
export interface ListenerDecision {
  /** Sentence that every start prints: what other machines can do. */
  readonly warning?: string
}

/**
 * Decides whether a port may be opened: on a loopback address always, elsewhere only with TLS and
 * tokens, or if the operator said that it may be insecure. Throws INVALID_ARGUMENT.
 */
export function decideListener(facts: ListenerFacts): ListenerDecision {
  const { what, host, hasTls, hasTokens, isInsecureAllowed } = facts
  if (isLoopback(host) || (hasTls && hasTokens)) return {}
  const where = host === '' ? 'all addresses' : host
  if (isInsecureAllowed) return { warning: `${what} on ${where} is insecure: ${dangerOf(facts)}` }
  const missing = [...(hasTls ? [] : ['TLS']), ...(hasTokens ? [] : ['tokens'])].join(' and ')
  throw new WeirError(
    'INVALID_ARGUMENT',
    `${what} cannot listen on ${where} without ${missing}: other machines can reach it. ${remedyOf(facts)}`,
  )
}

/** Whether only programs of this machine reach an address. A host name counts only if it is `localhost`. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  if (address === 'localhost') return true
  // IPv4 comes first: Node's expression for IPv6 takes 10 ms to compile, which a start would wait for.
  if (isIPv4(address)) return address.startsWith('127.')
  return isIPv6(address) && (address === '::1' || /^::ffff:127\.[0-9.]+$/.test(address))
}

function dangerOf({ hasTls, hasTokens }: ListenerFacts): string {
  const open = 'everyone who reaches it can use it'
  const readable = 'everyone on the way can read and change what is sent'
  if (hasTls) return `it has no tokens, so ${open}`
  if (!hasTokens) return `it has no tokens and no TLS, so ${open}, and ${readable}`
  return `it has no TLS, so ${readable}, tokens too`
}

const FLAGS = { tls: '--server-tls-cert and --server-tls-key', insecure: '--insecure-listener' }

function remedyOf({ hasTls, hasTokens, settings = FLAGS }: ListenerFacts): string {
  const flags = [
    ...(hasTls ? [] : [settings.tls]),
    ...(hasTokens
      ? []
      : ['--tokens FILE ("weir token create --role read --tokens FILE" makes it)']),
  ]
  return `Give ${flags.join(', and ')}, listen on 127.0.0.1, or allow it with ${settings.insecure}`
}
