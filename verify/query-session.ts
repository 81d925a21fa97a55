import { WeirClient } from '../src/client/weir-client.ts'
import { ByteReader } from '../src/core/byte-reader.ts'
import { isWeirError, messageOf } from '../src/core/errors.ts'
import { msgpackSerializer } from '../src/core/formats/msgpack-serializer.ts'
import type { Random } from '../src/core/random.ts'
import type { Answer, Consistency, QueryOptions } from '../src/wire/model-reader.ts'
import type { Level, Observation, Violation } from './checks/observation.ts'
import type { Count } from './jobs/counts.ts'
import type { Load } from './kafka/load.ts'
import { checkOfHash, checkOfRow } from './workloads.ts'
import { QUERY_HOST } from './world/query-line.ts'

/** A queryable state and the way to read it. */
export interface QueryTarget {
  readonly state: string
  /** Vector rows, or values of the counts. */
  readonly kind: 'rows' | 'values'
  readonly keys: readonly string[]
  readonly levels: readonly Level[]
  /** Suffix that record keys have after the state's key. */
  readonly recordSuffix: string
  readonly load: Load
  /** Model versions of rows; the last float of a row is its version minus one. @default only 1 */
  readonly versions?: readonly number[]
}

/** Options of a session. */
export interface SessionOptions {
  readonly session: number
  /** The current bootstrap port of the job. */
  readonly port: () => number
  readonly job: string
  readonly targets: readonly QueryTarget[]
  readonly random: Random
  readonly history: Observation[]
  readonly violations: Violation[]
}

const KEYS_PER_QUERY = 8
const HOT_KEYS = 12
const PAUSE_MS = 30
const DEADLINE_MS = 1500
/** Time after its deadline from which a call without an end counts as hanging: a busy machine needs seconds of its own. */
const GRACE_MS = 30_000
const MAX_AGE_MS = [150, 600, 2000]
const count = msgpackSerializer<Count>()
/** Error codes that a client can get during a fault. */
const EXPECTED = new Set([
  'UNAVAILABLE',
  'RESTORING',
  'NOT_UP_TO_BOUND',
  'DEADLINE_EXCEEDED',
  'SLOT_LOST',
  'OVERLOADED',
  'NOT_OWNER',
  'UNKNOWN_STATE',
  'UNKNOWN_VERSION',
])

interface Question {
  readonly target: QueryTarget
  readonly level: Level
  readonly keys: readonly string[]
  readonly consistency: Consistency
  /** Time at which the record of an `at-least` bound was stored. */
  readonly boundStoredMs: number
}

interface TimedAnswer {
  readonly key: string
  readonly answer: Answer<Content>
  readonly startedMs: number
  readonly answeredMs: number
}

/** A session that makes one query after the other through one client, and records the answers. */
export class QuerySession {
  /** Start of the last query with an answer. */
  answeredMs = 0
  /** Time at which the newest record was stored that an `at-least` query has read. */
  freshMs = 0
  queries = 0
  /** Failed answers by code. */
  readonly errors = new Map<string, number>()
  readonly job: string
  private readonly options: SessionOptions
  private readonly seen = new Map<string, { partition: number; offset: number }>()
  private client: WeirClient | undefined
  /** Port that the client is connected to. */
  private port = 0
  private going = true
  private asking = Promise.resolve()

  constructor(options: SessionOptions) {
    this.options = options
    this.job = options.job
  }

  /** Starts the queries. */
  start(): void {
    this.asking = this.run()
  }

  private async run(): Promise<void> {
    while (this.going) {
      try {
        const client = await this.currentClient()
        await this.ask(client, this.nextQuestion())
      } catch (error) {
        this.count(error)
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    await this.client?.close()
  }

  /** The client; a new one when the job's port has changed. */
  private async currentClient(): Promise<WeirClient> {
    if (this.client !== undefined && this.port !== this.options.port()) {
      await this.client.close()
      this.client = undefined
    }
    this.client ??= await this.connect()
    return this.client
  }

  private connect(): Promise<WeirClient> {
    const { job } = this.options
    const port = this.options.port()
    this.port = port
    const connecting = WeirClient.connect({ host: QUERY_HOST, port, job, deadlineMs: DEADLINE_MS })
    return this.within(connecting, 'connect')
  }

  private nextQuestion(): Question {
    const { random, targets } = this.options
    const target = targets[random.below(targets.length)]!
    const level = target.levels[random.below(target.levels.length)]!
    const keys = this.someKeys(target)
    const live = { target, level, keys, boundStoredMs: 0 }
    if (level === 'live' || level === 'checkpoint') return { ...live, consistency: { level } }
    if (level === 'bounded') {
      const maxAgeMs = MAX_AGE_MS[random.below(MAX_AGE_MS.length)]!
      return { ...live, consistency: { level, maxAgeMs } }
    }
    return this.readYourWrite(target) ?? { ...live, level: 'live', consistency: { level: 'live' } }
  }

  /** A query for a recently stored record, or for the last position of a key that this session has read. */
  private readYourWrite(target: QueryTarget): Question | undefined {
    const { random } = this.options
    const { recent } = target.load
    const stored = recent[random.below(Math.max(1, recent.length))]
    if (stored === undefined) return undefined
    const key = stored.key.slice(0, stored.key.length - target.recordSuffix.length)
    const seen = this.seen.get(`${target.state}/${key}`)
    const useSeen = seen !== undefined && random.below(3) === 0
    const { partition, offset } = useSeen ? seen : stored
    const boundStoredMs = useSeen ? 0 : stored.storedMs
    const consistency = { level: 'at-least', partition, offset } as const
    return { target, level: 'at-least', keys: [key], consistency, boundStoredMs }
  }

  private someKeys({ keys }: QueryTarget): string[] {
    const { random } = this.options
    const chosen = new Set<string>()
    while (chosen.size < KEYS_PER_QUERY) {
      const isHot = random.below(3) > 0
      chosen.add(keys[random.below(isHot ? HOT_KEYS : keys.length)]!)
    }
    return [...chosen]
  }

  private async ask(client: WeirClient, question: Question): Promise<void> {
    const { target, keys, consistency, boundStoredMs } = question
    const options = { consistency, deadlineMs: DEADLINE_MS }
    const { versions = [1] } = target
    const version = versions[this.options.random.below(versions.length)]!
    const startedMs = Date.now()
    const what = `${target.kind} of ${target.state} at ${question.level}`
    const answers = await this.within(
      fetchAnswers(client, { target, version, keys, options }),
      what,
    )
    const answeredMs = Date.now()
    for (const [i, answer] of answers.entries()) {
      this.record(question, { key: keys[i]!, answer, startedMs, answeredMs })
    }
    if (answers.some((answer) => answer.ok)) {
      this.answeredMs = startedMs
      this.freshMs = Math.max(this.freshMs, boundStoredMs)
    }
  }

  private record(
    { target, level, consistency }: Question,
    { key, answer, startedMs, answeredMs }: TimedAnswer,
  ): void {
    const { session, history } = this.options
    const { state } = target
    if (!answer.ok) {
      this.count(answer.error)
      return
    }
    this.queries += 1
    const { version, check } = answer.value
    const { partition, offset, checkpointId, ageMs } = answer.envelope
    if (level !== 'checkpoint' && partition >= 0)
      this.seen.set(`${state}/${key}`, { partition, offset })
    history.push({
      ...{ state, key, session, level, version, check, partition, offset, checkpointId, ageMs },
      ...{ startedMs, answeredMs },
      ...(consistency.level === 'at-least' ? { bound: consistency } : {}),
      ...(consistency.level === 'bounded' ? { maxAgeMs: consistency.maxAgeMs } : {}),
    })
  }

  private async within<T>(work: Promise<T>, what: string): Promise<T> {
    const limitMs = DEADLINE_MS + GRACE_MS
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const detail = `${what} by session ${this.options.session} does not end in ${limitMs} ms`
      this.options.violations.push({ kind: 'hangs', detail })
      late.reject(new Error(detail))
    }, limitMs)
    try {
      return await Promise.race([work, late.promise])
    } finally {
      clearTimeout(timer)
    }
  }

  private count(error: unknown): void {
    const code = isWeirError(error) ? error.code : 'no WeirError'
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1)
    if (EXPECTED.has(code)) return
    const detail = `${code} in session ${this.options.session}: ${messageOf(error)}`
    this.options.violations.push({ kind: 'unexpected-error', detail })
  }

  /** Ends the session after its current query. */
  async stop(): Promise<void> {
    this.going = false
    await this.asking
  }
}

interface Fetch {
  readonly target: QueryTarget
  readonly version: number
  readonly keys: readonly string[]
  readonly options: QueryOptions
}

async function fetchAnswers(
  client: WeirClient,
  { target: { state, kind }, version, keys, options }: Fetch,
): Promise<Answer<Content>[]> {
  if (kind === 'values') {
    return (await client.values(state, keys, options)).map((answer) => contentOf(answer, ofValue))
  }
  const rows = await client.rows(state, keys, { ...options, version })
  return rows.map((answer) => contentOf(answer, (row) => ofRow(row, version)))
}

/** The content of a value: the number of its records, and the rest as one number. */
interface Content {
  readonly version: number
  readonly check: number
}

const NOTHING: Content = { version: -1, check: 0 }

/** Reads the value of an answer. UNKNOWN_KEY is an answer, too. */
function contentOf<T>(answer: Answer<T>, read: (value: T) => Content): Answer<Content> {
  if (answer.ok) return { ...answer, value: read(answer.value) }
  if (answer.error.code !== 'UNKNOWN_KEY') return answer
  const envelope = {
    ...{ modelVersion: 0, partition: -1, offset: 0, checkpointId: 0, ageMs: -1 },
    servedBy: '',
  }
  return { ok: true, value: NOTHING, envelope }
}

/** The check of a row of version 1. */
function ofRow(row: Float32Array, version: number): Content {
  const asFirst = Float32Array.from(row)
  asFirst[row.length - 1]! -= version - 1
  return { version: row[0]!, check: checkOfRow(asFirst) }
}

function ofValue(bytes: Uint8Array): Content {
  const { count: version, hash } = count.read(new ByteReader(bytes))
  return { version, check: checkOfHash(hash) }
}
