import { WeirClient } from '../src/client/weir-client.ts'
import { ByteReader } from '../src/core/byte-reader.ts'
import { isWeirError, messageOf } from '../src/core/errors.ts'
import type { Random } from '../src/core/random.ts'
import { msgpackSerializer } from '../src/core/serializer.ts'
import type { Answer, Consistency, QueryOptions } from '../src/wire/model-reader.ts'
import type { Count } from './counts-job.ts'
import type { Load } from './load.ts'
import type { Level, Observation, Violation } from './observation.ts'
import { QUERY_HOST } from './query-line.ts'
import { checkOfHash, checkOfRow } from './workloads.ts'

/** One queryable state and how it is read. */
export interface QueryTarget {
  readonly state: string
  /** Vector rows, or values of the counts. */
  readonly kind: 'rows' | 'values'
  readonly keys: readonly string[]
  readonly levels: readonly Level[]
  /** Record keys have this behind the state's key. */
  readonly recordSuffix: string
  readonly load: Load
}

/** Number, server, targets and chance of a session. */
export interface SessionOptions {
  readonly session: number
  readonly port: number
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
/** A call that has not ended so long after its deadline hangs. */
const GRACE_MS = 6000
const MAX_AGE_MS = [150, 600, 2000]
const count = msgpackSerializer<Count>()
/** Codes that a client may see while something is broken. */
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
  /** Time when the record of an `at-least` bound was stored. */
  readonly boundStoredMs: number
}

/** Asks one thing after the other through one client and keeps what was answered. */
export class QuerySession {
  /** Start of the last question that was answered. */
  answeredMs = 0
  /** Time when the newest record was stored whose effect was read with `at-least`. */
  freshMs = 0
  queries = 0
  /** Failed answers by code. */
  readonly errors = new Map<string, number>()
  readonly job: string
  private readonly options: SessionOptions
  private readonly seen = new Map<string, { partition: number; offset: number }>()
  private client: WeirClient | undefined
  private going = true
  private asking = Promise.resolve()

  constructor(options: SessionOptions) {
    this.options = options
    this.job = options.job
  }

  start(): void {
    this.asking = this.run()
  }

  private async run(): Promise<void> {
    while (this.going) {
      try {
        this.client ??= await this.connect()
        await this.ask(this.client, this.nextQuestion())
      } catch (error) {
        this.count(error)
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
    await this.client?.close()
  }

  private connect(): Promise<WeirClient> {
    const { port, job } = this.options
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

  /** A record that was stored a moment ago, or what this session has seen of a key. */
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
    const startedMs = Date.now()
    const what = `${target.kind} of ${target.state} at ${question.level}`
    const answers = await this.within(this.fetch(client, target, keys, options), what)
    const answeredMs = Date.now()
    for (const [i, answer] of answers.entries()) {
      this.note(question, keys[i]!, answer, startedMs, answeredMs)
    }
    if (answers.some((answer) => answer.ok)) {
      this.answeredMs = startedMs
      this.freshMs = Math.max(this.freshMs, boundStoredMs)
    }
  }

  private async fetch(
    client: WeirClient,
    { state, kind }: QueryTarget,
    keys: readonly string[],
    options: QueryOptions,
  ): Promise<Answer<Said>[]> {
    if (kind === 'values') {
      return (await client.values(state, keys, options)).map((answer) => said(answer, ofValue))
    }
    const rows = await client.rows(state, keys, { ...options, version: 1 })
    return rows.map((answer) => said(answer, ofRow))
  }

  private note(
    { target, level, consistency }: Question,
    key: string,
    answer: Answer<Said>,
    startedMs: number,
    answeredMs: number,
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
      const detail = `${what} by session ${this.options.session} has no end after ${limitMs} ms`
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

  async stop(): Promise<void> {
    this.going = false
    await this.asking
  }
}

/** What a value says: how many records it holds, and the rest as one number. */
interface Said {
  readonly version: number
  readonly check: number
}

const NOTHING: Said = { version: -1, check: 0 }

/** That there is no such key is an answer, too. */
function said<T>(answer: Answer<T>, read: (value: T) => Said): Answer<Said> {
  if (answer.ok) return { ...answer, value: read(answer.value) }
  if (answer.error.code !== 'UNKNOWN_KEY') return answer
  const envelope = {
    ...{ modelVersion: 0, partition: -1, offset: 0, checkpointId: 0, ageMs: -1 },
    servedBy: '',
  }
  return { ok: true, value: NOTHING, envelope }
}

function ofRow(row: Float32Array): Said {
  return { version: row[0]!, check: checkOfRow(row) }
}

function ofValue(bytes: Uint8Array): Said {
  const { count: version, hash } = count.read(new ByteReader(bytes))
  return { version, check: checkOfHash(hash) }
}
