import { measureThroughput, type Throughput } from '../load/generator.ts'
import { HttpConnections } from '../load/http-connections.ts'
import { median } from '../load/statistics.ts'
import type { ChildServer } from '../served/child-server.ts'
import { CONNECTIONS, type HttpServers } from './servers.ts'

/** Rounds of every contender. */
export const ROUNDS = 5
const SECONDS = 3
const WARM_UP_SECONDS = 2

/** A server that answers requests, with its measured rounds. */
export class Contender {
  readonly name: string
  readonly rounds: Throughput[] = []
  private readonly server: ChildServer
  private readonly request: () => string | Uint8Array

  /** `request` gives the bytes of the next request. */
  constructor(name: string, server: ChildServer, request: () => string | Uint8Array) {
    this.name = name
    this.server = server
    this.request = request
  }

  /** Requests per second: the median of the rounds. */
  get perSecond(): number {
    return median(this.rounds.map(({ perSecond }) => perSecond))
  }

  /** Keeps one request in flight on each connection for some seconds. */
  async run(seconds: number): Promise<Throughput> {
    using connections = new HttpConnections(this.server.port, CONNECTIONS)
    return await measureThroughput(() => connections.ask(this.request()), CONNECTIONS, seconds)
  }
}

/** Lets the gateway and its rivals answer in turn, after a warm-up of each. Weir is paused for its rivals. */
export async function compare(
  { served }: HttpServers,
  weir: Contender,
  rivals: readonly Contender[],
  say: (line: string) => void,
): Promise<void> {
  await weir.run(WARM_UP_SECONDS)
  for (const rival of rivals) await served.whilePaused(() => rival.run(WARM_UP_SECONDS))
  for (let round = 1; round <= ROUNDS; round++) {
    weir.rounds.push(await weir.run(SECONDS))
    for (const rival of rivals) {
      rival.rounds.push(await served.whilePaused(() => rival.run(SECONDS)))
    }
    const figures = [weir, ...rivals].map(
      ({ name, rounds }) => `${name} ${Math.round(rounds.at(-1)!.perSecond)}/s`,
    )
    say(`round ${round}: ${figures.join(', ')}`)
  }
}
