import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../src/core/errors.ts'
import { type Random, seededRandom } from '../../src/core/random.ts'
import type { Folded } from '../../test/recovery/fold/job.ts'
import { openProducer, readCommitted, readTopic, sendByPartition } from '../kafka/client.ts'
import { Load } from '../kafka/load.ts'
import { Crew } from './crew.ts'
import { type FaultScene, PROCESSES, type ScaleOutFault } from './faults.ts'
import type { Windowed } from './job.ts'
import { Operations, operationOf } from './operations.ts'
import { expectedWindows, type Findings, judgeResults } from './oracle.ts'
import { type Site, TOPICS } from './site.ts'
import { VisibleResults } from './visible-results.ts'

/** Keys whose records must be visible again after a fault: enough that each job partition has some. */
const PROBES = 24
const PROBE_AGAIN_MS = 5_000
const LOOK_MS = 50
const OUTPUT_PARTITIONS = 2
const LOAD = { batch: 10, everyMs: 25 }

/** Options of a run. */
export interface ScaleOutRunOptions {
  readonly seed: number
  /** Longest time from the end of a fault until all job partitions run and what was sent is visible, ms. */
  readonly limitMs: number
  readonly say: (line: string) => void
}

/** A job in many processes under load, with what was found so far. */
export class ScaleOutRun implements AsyncDisposable {
  readonly crew: Crew
  readonly violations: string[] = []
  /** Times of recovery by fault, ms. */
  readonly recoveryMs = new Map<string, number[]>()
  private readonly site: Site
  private readonly options: ScaleOutRunOptions
  private readonly random: Random
  private readonly operations: Operations
  private readonly load: Load
  private readonly results: VisibleResults
  private readonly windows: VisibleResults
  private windowResults = 0
  private probes = 0

  constructor(site: Site, options: ScaleOutRunOptions) {
    const { seed } = options
    const brokers = site.broker.bootstrap
    this.site = site
    this.options = options
    this.random = seededRandom(seed)
    this.operations = new Operations(seededRandom(seed + 1))
    this.crew = new Crew(site, this.random.below(2) === 1)
    this.load = new Load({
      ...{ brokers, topic: TOPICS.input, ...LOAD },
      next: () => this.operations.message(),
    })
    this.results = new VisibleResults(brokers, TOPICS.results)
    this.windows = new VisibleResults(brokers, TOPICS.windows, () => {
      this.windowResults += 1
    })
  }

  /** Starts processes, load and readers, and waits until results are visible. */
  async begin(): Promise<void> {
    for (let line = 0; line < PROCESSES; line++) this.crew.start(line)
    this.load.start()
    this.results.start()
    this.windows.start()
    await this.settle('the start')
  }

  /** Injects a fault and waits for the recovery. Returns whether the run goes on. */
  async inject(fault: ScaleOutFault): Promise<boolean> {
    const { limitMs } = this.options
    try {
      await withLimit(fault.inject(this.scene()), limitMs, `${fault.name} does not end`)
      const sinceMs = performance.now()
      await this.settle(fault.name)
      const tookMs = Math.round(performance.now() - sinceMs)
      this.recoveryMs.set(fault.name, [...(this.recoveryMs.get(fault.name) ?? []), tookMs])
      return true
    } catch (error) {
      this.violated(messageOf(error))
      return false
    }
  }

  /** Ends the load and the processes, and compares what is written with a fold of the input. */
  async judge(): Promise<Findings & { readonly records: number }> {
    const brokers = this.site.broker.bootstrap
    const { messages, startMs } = this.operations.close()
    await this.load.stop()
    const producer = await openProducer(brokers)
    for await (const _ of sendByPartition(producer, TOPICS.input, messages)) {
      // Each is acknowledged.
    }
    await producer.disconnect()
    const input = (await readTopic(brokers, TOPICS.input)).map(({ value }) => operationOf(value))
    await this.untilAllVisible(input.length, expectedWindows(input, startMs).size)
    for (const line of this.crew.lines) {
      const violation = await this.crew.terminate(line)
      if (violation !== undefined) this.violated(violation)
    }
    const results = await this.valuesOf<Folded>(TOPICS.results)
    const windows = await this.valuesOf<Windowed>(TOPICS.windows)
    return { records: input.length, ...judgeResults({ input, results, windows }, startMs) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.load.stop().catch(() => undefined)
    await this.results.stop().catch(() => undefined)
    await this.windows.stop().catch(() => undefined)
    await this.crew[Symbol.asyncDispose]()
  }

  private scene(): FaultScene {
    const { site, crew, random } = this
    return {
      ...{ site, crew, random },
      settle: (what) => this.settle(what),
      violated: (what) => this.violated(what),
    }
  }

  private violated(what: string): void {
    this.violations.push(what)
    this.options.say(what)
  }

  /** Resolves when each job partition runs in one process, and records of all of them are visible. */
  private async settle(what: string): Promise<void> {
    const round = this.probes++
    const keys = Array.from({ length: PROBES }, (_, i) => `probe-${round}-${i}`)
    const sinceMs = performance.now()
    let probeAtMs = sinceMs
    let shared: number | undefined
    for (;;) {
      for (const ended of this.crew.endedByThemselves()) throw new Error(`${what}: ${ended}`)
      const nowMs = performance.now()
      const hidden = keys.filter((key) => !this.results.counts.has(key))
      const isShared = this.crew.isShared
      if (isShared) shared ??= nowMs - sinceMs
      if (hidden.length === 0 && isShared) {
        const seconds = (ms: number): string => (ms / 1_000).toFixed(1)
        this.options.say(
          `${what}: partitions shared after ${seconds(shared ?? 0)} s, all visible after ${seconds(nowMs - sinceMs)} s`,
        )
        return
      }
      if (nowMs >= probeAtMs) {
        // A batch without acknowledgement may not be stored.
        this.operations.probe(hidden)
        probeAtMs = nowMs + PROBE_AGAIN_MS
      }
      if (nowMs - sinceMs > this.options.limitMs) {
        const visible = `${hidden.length} of ${PROBES} records are not visible`
        throw new Error(
          `${what}: not recovered within ${this.options.limitMs} ms; ${visible}\n${this.crew.describe()}`,
        )
      }
      await sleep(LOOK_MS)
    }
  }

  /** Resolves when so many results are visible; those that miss are found by the comparison. */
  private async untilAllVisible(folds: number, windows: number): Promise<void> {
    const giveUpAt = performance.now() + this.options.limitMs
    const visible = (): number => [...this.results.counts.values()].reduce((sum, n) => sum + n, 0)
    while (visible() < folds || this.windowResults < windows) {
      if (performance.now() > giveUpAt) {
        this.violated(
          `${visible()} of ${folds} folds and ${this.windowResults} of ${windows} windows are visible at the end\n${this.crew.describe()}`,
        )
        return
      }
      await sleep(LOOK_MS)
    }
  }

  private async valuesOf<T>(topic: string): Promise<T[]> {
    const records = await readCommitted(this.site.broker.bootstrap, topic, OUTPUT_PARTITIONS)
    return records.map(({ value }): T => JSON.parse(value.toString()))
  }
}

async function withLimit(work: Promise<void>, limitMs: number, what: string): Promise<void> {
  const end = new AbortController()
  work.catch(() => undefined)
  const limit = sleep(limitMs * 3, undefined, { signal: end.signal }).then(() => {
    throw new Error(`${what} within ${limitMs * 3} ms`)
  })
  limit.catch(() => undefined)
  try {
    await Promise.race([work, limit])
  } finally {
    end.abort()
  }
}
