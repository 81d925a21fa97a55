import { WeirError } from '../errors.ts'
import type { Environment } from './environment.ts'
import { type Sampler, samplerOf } from './sampler.ts'

/** Where and how spans are exported. */
export interface TracingSettings {
  /** URL that takes OTLP over HTTP as JSON. */
  readonly url: string
  /** Header fields of each export, such as a token of the collector. */
  readonly headers: Readonly<Record<string, string>>
  /** What runs: `service.name` and further attributes. */
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: Sampler
  /** Longest time that an ended span waits, ms. */
  readonly delayMs: number
  /** Time that one export may take, ms. */
  readonly timeoutMs: number
}

/**
 * The settings in OpenTelemetry's environment variables; undefined when no endpoint is named, so that
 * nothing is traced. Throws INVALID_ARGUMENT.
 */
export function tracingSettings(env: Environment): TracingSettings | undefined {
  const url = urlOf(env)
  if (url === undefined || env['OTEL_SDK_DISABLED'] === 'true') return undefined
  if (env['OTEL_TRACES_EXPORTER'] === 'none') return undefined
  requireHttpJson(env)
  const headers =
    env['OTEL_EXPORTER_OTLP_TRACES_HEADERS'] ?? env['OTEL_EXPORTER_OTLP_HEADERS'] ?? ''
  const resource = listOf(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '')
  return {
    url,
    headers: listOf(headers),
    resource: {
      'service.name': 'weir',
      ...resource,
      ...(env['OTEL_SERVICE_NAME'] ? { 'service.name': env['OTEL_SERVICE_NAME'] } : {}),
    },
    sampler: samplerOf(
      env['OTEL_TRACES_SAMPLER'] || undefined,
      env['OTEL_TRACES_SAMPLER_ARG'] || undefined,
    ),
    delayMs: millisecondsOf(env, 'OTEL_BSP_SCHEDULE_DELAY', 5_000),
    timeoutMs: millisecondsOf(env, 'OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
  }
}

function urlOf(env: Environment): string | undefined {
  const own = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT']
  const shared = env['OTEL_EXPORTER_OTLP_ENDPOINT']
  const text = own || (shared ? `${shared.replace(/\/+$/, '')}/v1/traces` : undefined)
  if (text === undefined) return undefined
  if (URL.canParse(text) && /^https?:/.test(text)) return text
  throw new WeirError(
    'INVALID_ARGUMENT',
    `OTEL_EXPORTER_OTLP_ENDPOINT is no URL of HTTP: ${own || shared}; it looks like http://127.0.0.1:4318`,
  )
}

function requireHttpJson(env: Environment): void {
  const protocol =
    env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'] || 'http/json'
  // Collectors take JSON and protobuf on the same port and path.
  if (protocol === 'http/json' || protocol === 'http/protobuf') return
  throw new WeirError(
    'INVALID_ARGUMENT',
    `OTEL_EXPORTER_OTLP_PROTOCOL is ${protocol}; Weir exports http/json: name the collector's HTTP port (4318)`,
  )
}

/** `key=value,key=value`, values percent-encoded. */
function listOf(text: string): Record<string, string> {
  const entries = text.split(',').flatMap((part) => {
    const at = part.indexOf('=')
    return at < 1 ? [] : [[part.slice(0, at).trim(), decoded(part.slice(at + 1).trim())] as const]
  })
  return Object.fromEntries(entries)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function millisecondsOf(env: Environment, name: string, otherwise: number): number {
  const value = env[name] ? Number(env[name]) : otherwise
  if (Number.isInteger(value) && value >= 0) return value
  throw new WeirError('INVALID_ARGUMENT', `${name} is ${env[name]}; it must be milliseconds`)
}
