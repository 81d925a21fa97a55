import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cpus } from 'node:os'
import { messageOf } from '../../../src/core/errors.ts'
import { idleShare } from '../../run/idle-share.ts'
import { pooledBrowser } from './browser-pool.ts'
import { CorePlaces, MOST_FILES } from './core-places.ts'
import { pooledHdfs } from './hdfs-pool.ts'
import { pooledKafka } from './kafka-pool.ts'
import { HOST_VARIABLE } from './lease.ts'
import { type Lender, Pool, type Pooled } from './pool.ts'
import { pooledS3 } from './s3-pool.ts'

/** Time between two looks at the cores, ms: a file that has started is at work at the next one. */
const LOOK_MS = 2000

/**
 * Lends services to test files over HTTP at a port of 127.0.0.1. `GET /kafka` answers with the access of a Kafka as
 * one line of JSON, and the answer stays open: the file has the service until its connection closes, also
 * when its process is killed.
 */
class ServiceHost {
  private readonly places = new CorePlaces(MOST_FILES)
  private readonly lenders: Readonly<Record<string, Lender>> = {
    '/kafka': new Pool(pooledKafka),
    '/hdfs': new Pool(pooledHdfs),
    '/s3': new Pool(pooledS3),
    '/browser': new Pool(pooledBrowser),
    '/core': this.places,
  }
  private readonly server: Server
  private readonly looking: NodeJS.Timeout
  private before = cpus()

  constructor() {
    this.server = createServer((request, response) => void this.lend(request, response))
    this.looking = setInterval(() => this.look(), LOOK_MS)
  }

  private look(): void {
    const now = cpus()
    this.places.look(idleShare(this.before, now))
    this.before = now
  }

  async listen(): Promise<string> {
    await once(this.server.listen(0, '127.0.0.1'), 'listening')
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  private async lend(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const lender = this.lenders[request.url!]!
    const closed = once(response, 'close')
    let pooled: Pooled
    try {
      pooled = await lender.take()
    } catch (error) {
      response.writeHead(500).end(messageOf(error))
      return
    }
    response.write(`${JSON.stringify(pooled.access)}\n`)
    await closed
    await lender.giveBack(pooled)
  }

  async stop(): Promise<void> {
    clearInterval(this.looking)
    this.server.closeAllConnections()
    this.server.close()
    await Promise.all(Object.values(this.lenders).map((lender) => lender.stop()))
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
