import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirClient } from '../src/client/weir-client.ts'
import { EmbeddedLog } from '../src/connectors/log/embedded-log.ts'
import { LogTopics } from '../src/connectors/topics/log-topics.ts'
import { sleep, systemClock } from '../src/core/clock.ts'
import { seededRandom } from '../src/core/random.ts'
import { serveAlsJob } from '../src/jobs/serve/als.ts'
import { dataDirectory } from '../src/jobs/serve/data-directory.ts'
import { publishModel } from '../src/models/publish/model.ts'
import { retireVersions } from '../src/models/retention/retire-versions.ts'
import { ALS_MODEL } from '../src/models/topic/als-serving-function.ts'
import type { JobFailure } from '../src/runtime/job/restarts.ts'

/** Options of the switches campaign. */
export interface SwitchesOptions {
  readonly seed: number
  /** Number of switches. */
  readonly count: number
  /** Switches between two kills of a slot. @default 150 */
  readonly killEvery?: number
  readonly say: (line: string) => void
}

/** Result of the switches campaign. */
export interface SwitchesReport {
  readonly campaign: string
  readonly seed: number
  readonly verdict: 'passed' | 'failed'
  readonly switches: number
  /** Slots that were killed right after a switch. */
  readonly kills: number
  readonly predictions: number
  /** Failed predictions. */
  readonly errors: number
  /** Predictions from rows of two versions, or of another version than the answer says. */
  readonly mixtures: number
  readonly violations: readonly string[]
}

const TOPIC = 'als-model'
const KEYS = 6
const PARTITIONS = 2
const SLOTS = 2
const IN_FLIGHT = 16
/** Versions that stay when older ones are retired, and switches between two retirements. */
const KEPT = 10
const RETIRE_EVERY = 25
const KILL_EVERY = 150
/** A slot is killed after a checkpoint or none: some versions are in the checkpoint, others are not. */
const CONFIGURATION = {
  'execution.checkpointing.interval': '2 s',
  'restart-strategy.type': 'fixed-delay',
  'restart-strategy.fixed-delay.attempts': '100000',
  'restart-strategy.fixed-delay.delay': '100 ms',
}
/** Longest switch, and longest restart of a slot for which a prediction waits. */
const SWITCH_LIMIT_MS = 60_000
const EXAMPLES = 5
const SAY_EVERY = 500

/**
 * Publishes one small model after the other and lets each go live, with predictions in flight all the time.
 * Now and then a slot is killed right after a switch, so that the version is in no checkpoint. No prediction may
 * fail, and each must come from the rows of one version.
 */
export async function runSwitches(options: SwitchesOptions): Promise<SwitchesReport> {
  const { seed, count, killEvery = KILL_EVERY, say } = options
  const random = seededRandom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'weir-switches-'))
  try {
    const data = dataDirectory(folder)
    await createTopic(data.log)
    await using topics = new LogTopics(data.log)
    await publish(topics, 1)
    const live = { version: 0 }
    const job = await serveAlsJob({
      ...{ data, topic: TOPIC, slots: SLOTS, queryThreads: 2, host: '127.0.0.1', port: 0 },
      configuration: CONFIGURATION,
      onLive: (version) => {
        live.version = version
      },
    })
    try {
      await until(() => live.version === 1)
      await using client = await WeirClient.connect({ port: job.port, deadlineMs: SWITCH_LIMIT_MS })
      const load = new PredictionLoad(client)
      const kills = await switchVersions(topics, {
        ...{ count, killEvery, say, isLive: (version) => live.version >= version },
        kill: () => job.execution.killSlot(random.below(SLOTS)),
      })
      await load.stop()
      return reportOf(seed, { count, kills, load, failures: job.execution.failures })
    } finally {
      await job.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The topic is compacted often, so that retired versions leave it. */
async function createTopic(directory: string): Promise<void> {
  const log = await EmbeddedLog.open(directory)
  await log.createTopic(TOPIC, {
    ...{ partitions: PARTITIONS, cleanupPolicy: 'compact' },
    ...{ segmentBytes: 64 * 1024, deleteRetentionMs: 0 },
  })
  await log.close()
}

/** A score is twice the version if both rows are of that version. */
async function publish(topics: LogTopics, version: number): Promise<void> {
  const model = {
    ...{ dimension: 4, users: KEYS, items: KEYS },
    *rows() {
      for (let id = 0; id < KEYS; id++) {
        yield { id: String(id), kind: 'U' as const, vector: Float32Array.of(version, 1, 0, 0) }
        yield { id: String(id), kind: 'I' as const, vector: Float32Array.of(1, version, 0, 0) }
      }
    },
  }
  const facts = {
    ...{ name: ALS_MODEL, biased: false, globalMean: 0, hyperparameters: {}, metrics: {} },
  }
  await publishModel(model, { log: topics, topic: TOPIC, version, facts, clock: systemClock })
}

interface Switching {
  readonly count: number
  readonly killEvery: number
  readonly kill: () => void
  readonly say: (line: string) => void
  readonly isLive: (version: number) => boolean
}

/** Returns the number of kills. */
async function switchVersions(topics: LogTopics, switching: Switching): Promise<number> {
  const { count, killEvery, kill, say, isLive } = switching
  let retired = 0
  let kills = 0
  for (let version = 2; version <= count + 1; version++) {
    await publish(topics, version)
    await until(() => isLive(version))
    if (version % killEvery === 0) {
      kill()
      kills++
    }
    if (version % SAY_EVERY === 0) say(`${version} versions`)
    if (version % RETIRE_EVERY !== 0) continue
    const versions = Array.from({ length: version - KEPT - retired }, (_, i) => retired + 1 + i)
    await retireVersions(topics, TOPIC, { versions, clock: systemClock })
    retired += versions.length
  }
  return kills
}

/** Resolves when the check holds; throws after a minute. */
async function until(check: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + SWITCH_LIMIT_MS
  while (!check()) {
    if (performance.now() > giveUpAt) throw new Error('a version did not go live within a minute')
    await sleep(systemClock, 1)
  }
}

/** Predictions that are in flight all the time. */
class PredictionLoad {
  answered = 0
  errors = 0
  mixtures = 0
  readonly examples: string[] = []
  private readonly client: WeirClient
  private going = true
  private readonly running: Promise<unknown>

  constructor(client: WeirClient) {
    this.client = client
    this.running = Promise.all(Array.from({ length: IN_FLIGHT }, (_, i) => this.run(i)))
  }

  private async run(start: number): Promise<void> {
    for (let i = start; this.going; i++) await this.predict(i)
  }

  private async predict(i: number): Promise<void> {
    const user = i % 7 === 0 ? 'nobody-U' : `${i % KEYS}-U`
    const item = `${(i * 5) % KEYS}-I`
    const means = { coldLeft: 'MEAN-U', coldRight: 'MEAN-I' }
    try {
      const answer = await this.client.predictWithEnvelope(ALS_MODEL, user, item, means)
      if (!answer.ok) throw answer.error
      const { modelVersion } = answer.envelope
      this.answered += 1
      if (answer.value.score === 2 * modelVersion) return
      this.mixtures += 1
      this.example(`${user} ${item}: ${answer.value.score} from version ${modelVersion}`)
    } catch (error) {
      this.errors += 1
      this.example(String(error))
    }
  }

  private example(text: string): void {
    if (this.examples.length < EXAMPLES) this.examples.push(text)
  }

  /** Ends the load after the predictions in flight. */
  async stop(): Promise<void> {
    this.going = false
    await this.running
  }
}

interface Run {
  readonly count: number
  readonly kills: number
  readonly load: PredictionLoad
  readonly failures: readonly JobFailure[]
}

function reportOf(seed: number, { count: switches, kills, load, failures }: Run): SwitchesReport {
  const { answered, errors, mixtures, examples } = load
  const others = failures.filter(({ error }) => error.code !== 'SLOT_LOST')
  const restarts = others.map(({ error }) => `the job failed: ${error.code}: ${error.message}`)
  if (failures.length > kills) restarts.push(`${failures.length} failures after ${kills} kills`)
  const violations = [...examples, ...restarts]
  if (answered < switches) violations.push(`only ${answered} predictions for ${switches} switches`)
  return {
    campaign: 'switches',
    seed,
    verdict: violations.length === 0 ? 'passed' : 'failed',
    ...{ switches, kills },
    predictions: answered,
    ...{ errors, mixtures, violations },
  }
}
