/** A slot thread that has not answered for so long is stuck, ms: longer than `heartbeat.timeout`, which ends it. */
export const STUCK_MS = 120_000

/** What the probes ask of a process that has started. */
export interface WatchedProcess {
  /** Why it cannot do its work now, a sentence each; none where it can. */
  readonly notReady: readonly string[]
  /** Longest time for which a slot thread has not answered, ms. */
  silenceMs(): number
}

/** The answer of a probe: 200 for yes and 503 for no, with the reasons. */
export interface ProbeAnswer {
  readonly status: 200 | 503
  readonly body: Readonly<Record<string, boolean | readonly string[]>>
}

/**
 * What a process answers to its supervisor. Live: its event loops turn, those of its slot threads, too; who waits for
 * Kafka lives. Ready: it does its work. Started: it has been ready once.
 */
export class Probes {
  private process: WatchedProcess | undefined
  private hasBeenReady = false

  /** The process has started; before, it lives and is not ready. */
  follow(process: WatchedProcess): void {
    this.process = process
  }

  /** The answer to a path; undefined for one that is no probe. */
  answer(path: string): ProbeAnswer | undefined {
    switch (path) {
      case '/health/live':
        return this.live()
      case '/health/ready': {
        const waiting = this.waiting()
        const ready = waiting.length === 0
        return { status: ready ? 200 : 503, body: { ready, waiting } }
      }
      case '/health/startup': {
        const waiting = this.waiting()
        const started = this.hasBeenReady
        return { status: started ? 200 : 503, body: { started, waiting: started ? [] : waiting } }
      }
      default:
        return undefined
    }
  }

  private live(): ProbeAnswer {
    const silenceMs = this.process?.silenceMs() ?? 0
    if (silenceMs < STUCK_MS) return { status: 200, body: { live: true } }
    const stuck = `a slot thread has not answered for ${Math.floor(silenceMs / 1000)} s`
    return { status: 503, body: { live: false, waiting: [stuck] } }
  }

  private waiting(): readonly string[] {
    const waiting = this.process?.notReady ?? ['the process starts']
    if (waiting.length === 0) this.hasBeenReady = true
    return waiting
  }
}
