import type { FastifyRequest, FastifyServerOptions } from 'fastify'
import { clientAddressOf } from '../../http/client-address.ts'

/** Levels of log lines, from the least to the most; `silent` logs nothing. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const

/** One of the levels. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Options of the log of one gateway. */
export interface LoggingOptions {
  readonly level: LogLevel
  /** Number of the thread, because numbers of requests are counted by thread. */
  readonly thread: number
  /** Takes each line. @default standard error */
  readonly write?: (line: string) => void
}

/** Fields that never reach a log, also where a later change logs whole headers. */
const SECRETS = ['authorization', 'cookie', 'proxy-authorization'].flatMap((header) => [
  `headers["${header}"]`,
  `*.headers["${header}"]`,
])

/**
 * Fastify's logger (pino): a JSON object a line, with the number of the request in `reqId`. `warn` logs
 * failures of the gateway, `info` every request. A request is logged by its route's pattern: paths have
 * ids of users, and headers have tokens.
 */
export function loggerOf(options: LoggingOptions): FastifyServerOptions['logger'] {
  const { level, thread } = options
  if (level === 'silent') return false
  const write = options.write ?? ((line: string) => void process.stderr.write(line))
  return {
    level,
    base: { name: 'weir-gateway', thread },
    redact: { paths: SECRETS, remove: true },
    stream: { write },
    serializers: {
      req: (request: FastifyRequest) => ({
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        remoteAddress: clientAddressOf(request),
      }),
      res: ({ statusCode = 0 }: { readonly statusCode?: number }) => ({ statusCode }),
    },
  }
}
