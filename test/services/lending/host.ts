import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { messageOf } from '../../../src/core/errors.ts'
import { pooledBrowser } from './browser-pool.ts'
import { pooledHdfs } from './hdfs-pool.ts'
import { pooledKafka } from './kafka-pool.ts'
import { HOST_VARIABLE } from './lease.ts'
import { Pool, type Pooled } from './pool.ts'

/** Files that may compute at the same time. */
const COMPUTING_FILES = 2
/** A place for one of them. */
const CORE: Pooled = { access: {}, clear: async () => undefined, stop: async () => undefined }

/**
 * Lends services to test files over HTTP at a port of 127.0.0.1. `GET /kafka` answers with the access of a Kafka as
 * one line of JSON, and the answer stays open: the file has the service until its connection closes, also
 * when its process is killed.
 */
class ServiceHost {
  private readonly pools: Readonly<Record<string, Pool>> = {
    '/kafka': new Pool(pooledKafka),
    '/hdfs': new Pool(pooledHdfs),
    '/browser': new Pool(pooledBrowser),
    '/core': new Pool(async () => CORE, COMPUTING_FILES),
  }
  private readonly server: Server

  constructor() {
    this.server = createServer((request, response) => void this.lend(request, response))
  }

  async listen(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  private async lend(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pool = this.pools[request.url!]!
    const closed = once(response, 'close')
    let pooled: Pooled
    try {
      pooled = await pool.take()
    } catch (error) {
      response.writeHead(500).end(messageOf(error))
      return
    }
    response.write(`${JSON.stringify(pooled.access)}\n`)
    await closed
    await pool.giveBack(pooled)
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await Promise.all(Object.values(this.pools).map((pool) => pool.stop()))
  }
}

/** Global setup of system tests: a host of the services that their files share. None is started before a file asks. */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  // Another project of the same run has a host.
  if (process.env[HOST_VARIABLE] !== undefined) return undefined
  const host = new ServiceHost()
  process.env[HOST_VARIABLE] = await host.listen()
  return async () => {
    delete process.env[HOST_VARIABLE]
    await host.stop()
  }
}
