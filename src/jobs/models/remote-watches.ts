import type { Clock } from '../../core/clock.ts'
import type { WeirError } from '../../core/errors.ts'
import type { ModelSource } from '../../inference/port/model.ts'
import { RemoteHealth } from '../../inference/runners/remote-health.ts'
import { RemoteRetries } from './remote-retries.ts'

/** A watched server, with the number of the loaded versions that it runs. */
interface Watched {
  readonly health: RemoteHealth
  versions: number
}

/**
 * The servers behind remote models: each is asked once, however many loaded models it has, and a load that failed
 * because a server was away is tried again.
 */
export class RemoteWatches implements Disposable {
  private readonly clock: Clock
  private readonly say: (notice: WeirError) => void
  readonly retries: RemoteRetries
  private readonly servers = new Map<string, Watched>()

  /** `say`: takes the notices of outages. */
  constructor(clock: Clock, say: (notice: WeirError) => void) {
    this.clock = clock
    this.say = say
    this.retries = new RemoteRetries(clock)
  }

  /** A version of a model was loaded. */
  add(model: string, source: ModelSource): void {
    this.retries.ended(model)
    const server = serverOf(source)
    if (server === undefined) return
    const known = this.servers.get(server)
    if (known !== undefined) known.versions += 1
    else {
      const health = new RemoteHealth(server, this.clock, this.say)
      this.servers.set(server, { health, versions: 1 })
    }
  }

  /** A loaded version has gone. */
  remove(source: ModelSource): void {
    const server = serverOf(source)
    const known = server === undefined ? undefined : this.servers.get(server)
    if (server === undefined || known === undefined) return
    known.versions -= 1
    if (known.versions > 0) return
    this.servers.delete(server)
    known.health[Symbol.dispose]()
  }

  /** Why the server of a version does not answer; undefined while it does, and for models of this machine. */
  problemOf(source: ModelSource): string | undefined {
    const server = serverOf(source)
    return server === undefined ? undefined : this.servers.get(server)?.health.problem
  }

  [Symbol.dispose](): void {
    this.retries[Symbol.dispose]()
    for (const { health } of this.servers.values()) health[Symbol.dispose]()
    this.servers.clear()
  }
}

function serverOf(source: ModelSource): string | undefined {
  return source.kind === 'remote' ? new URL(source.url).origin : undefined
}
