import type { ConnectionOptions } from 'node:tls'
import { systemClock } from '../../../core/clock.ts'
import { asWeirError } from '../../../core/errors.ts'
import { HttpConnections } from '../http/connections.ts'
import { requestWriter } from '../http/request.ts'
import {
  ANSWERED,
  ANSWERED_COLD,
  type KeyPair,
  type LoadTarget,
  outcomeOf,
} from '../port/target.ts'
import { failureOf, predictionFailureOf } from './http-failure.ts'
import { formatOf, type HttpOperation } from './http-operation.ts'

/** An HTTP server as a target, as plain data. */
export interface HttpTargetSettings {
  readonly protocol: 'http'
  readonly host: string
  readonly port: number
  /** Options of HTTPS; plain HTTP when missing. */
  readonly tls?: ConnectionOptions
  /** Begin of every path, without a slash at its end. */
  readonly basePath: string
  readonly headers: Readonly<Record<string, string>>
  readonly operation: HttpOperation
  readonly timeoutMs: number
  /** Most connections of each thread. */
  readonly maxConnections: number
}

/** Value of the header `Host`. */
export function hostHeaderOf({ host, port }: Pick<HttpTargetSettings, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Sends requests to an HTTP server. */
export class HttpTarget implements LoadTarget {
  private readonly connections: HttpConnections
  private readonly hasPredictions: boolean
  private readonly requestOf: (keys: readonly KeyPair[]) => string

  constructor({ host, port, tls, ...settings }: HttpTargetSettings) {
    const { operation, basePath, timeoutMs, maxConnections } = settings
    const address = tls === undefined ? { host, port } : { host, port, tls }
    this.connections = new HttpConnections({
      address,
      maxConnections,
      timeoutMs,
      clock: systemClock,
    })
    const format = formatOf(operation)
    this.hasPredictions = format.hasPredictions === true
    const write = requestWriter({
      method: format.method,
      host: hostHeaderOf({ host, port }),
      headers: { ...format.headers, ...settings.headers },
    })
    this.requestOf = (keys) => {
      const { path, body } = format.parts(keys)
      return write(`${basePath}${path}`, body)
    }
  }

  async send(keys: readonly KeyPair[]): ReturnType<LoadTarget['send']> {
    try {
      const { status, body } = await this.connections.ask(this.requestOf(keys))
      const failure = this.hasPredictions
        ? predictionFailureOf(status, body)
        : failureOf(status, body)
      if (failure !== undefined) return outcomeOf(failure)
      const isCold = this.hasPredictions && body.includes('Cold":true')
      return isCold ? ANSWERED_COLD : ANSWERED
    } catch (error) {
      return outcomeOf(asWeirError(error, 'UNAVAILABLE'))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.connections[Symbol.dispose]()
  }
}
