import type { AddressInfo, ListenOptions } from 'node:net'
import type { FastifyInstance, FastifyListenOptions } from 'fastify'
import { asWeirError } from '../core/errors.ts'

/** Where a gateway listens. */
export interface ListenSettings {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Other listeners, of threads or processes, share the port. */
  readonly sharesPort: boolean
}

/** Lets a gateway listen and resolves with its port. Rejects with CONNECTOR_FAILED when the port is taken. */
export async function listenOn(app: FastifyInstance, settings: ListenSettings): Promise<number> {
  const { host, port, sharesPort } = settings
  try {
    // Fastify passes every option on to the server; its types do not know `reusePort` yet.
    const options: FastifyListenOptions & ListenOptions = { host, port, reusePort: sharesPort }
    await app.listen(options)
  } catch (error) {
    throw asWeirError(error, 'CONNECTOR_FAILED', `the gateway cannot listen on ${host}:${port}`)
  }
  return (app.server.address() as AddressInfo).port
}
