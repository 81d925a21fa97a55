import { openTopics, type TopicsPlace } from '../connectors/topics/open-topics.ts'
import { scanTopic } from '../connectors/topics/scan-topic.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { type Clock, sleep } from '../core/clock.ts'
import { isWeirError, WeirError } from '../core/errors.ts'
import type { ModelVersionMarker } from '../models/model-version-marker.ts'
import { adoption } from '../models/registry-adopt.ts'
import { verdictText } from '../models/registry-checks.ts'
import {
  decideCommand,
  type RegistryCommand,
  type RegistryOutcome,
} from '../models/registry-commands.ts'
import {
  foldRegistry,
  modelRecord,
  type RegistryRecord,
  versionRecord,
} from '../models/registry-format.ts'
import type { RegistryState } from '../models/registry-version.ts'

/** Topic of the registry: compacted, one partition. */
export const REGISTRY_TOPIC = 'model-registry'

/** Transactional id of every writer: the newest one fences the others. */
const TRANSACTIONAL_ID = 'weir/model-registry'

/** Waits between two attempts to be the only writer, ms. */
const RETRY_EVERY_MS = 20

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Options of a `ModelRegistry`. */
export interface ModelRegistryOptions {
  /** Where its topic is: a log folder of its own, so that no job's log stands in the way, or Kafka. */
  readonly place: TopicsPlace
  readonly clock: Clock
  /** How long a command waits for other writers. @default 10000 */
  readonly timeoutMs?: number
}

/** What a command left behind. */
export interface RegistryResult {
  /** The registry after the command. */
  readonly state: RegistryState
  readonly outcome: RegistryOutcome
}

/**
 * The model registry: versions and which of them is live, folded from a topic. A command reads the
 * topic, decides, and writes all it changes in one transaction; a writer that another one overtook is
 * fenced and decides again over what the other one left.
 */
export class ModelRegistry {
  private readonly options: ModelRegistryOptions

  constructor(options: ModelRegistryOptions) {
    this.options = options
  }

  /** The registry as it is; empty when nothing was ever written. */
  async read(): Promise<RegistryState> {
    await using topics = await openTopics(this.options.place)
    return foldRegistry(await recordsOf(topics))
  }

  /**
   * Executes a command and gives its outcome, whatever it is. Throws LOG_LOCKED or TRANSACTION_FENCED
   * when other writers did not give way in time.
   */
  execute(command: RegistryCommand): Promise<RegistryResult> {
    return this.exclusively((state) => decideCommand(state, command))
  }

  /** As `execute`; an outcome that is no success throws (`outcomeError`). */
  async require(command: RegistryCommand): Promise<RegistryResult> {
    const result = await this.execute(command)
    const error = outcomeError(result.outcome, command)
    if (error !== undefined) throw error
    return result
  }

  /** Registers what a model's topic holds and the registry does not know. */
  async adopt(topic: string, markers: readonly ModelVersionMarker[]): Promise<RegistryState> {
    const decide = (state: RegistryState): RegistryOutcome => {
      const found = adoption(state, topic, markers, this.options.clock.nowMs())
      const isNothing = markers.length === 0 || found.models.length + found.versions.length === 0
      if (isNothing) return { kind: 'unchanged' }
      return { kind: 'changed', ...found }
    }
    const present = await this.read()
    if (decide(present).kind === 'unchanged') return present
    return (await this.exclusively(decide)).state
  }

  private async exclusively(
    decide: (state: RegistryState) => RegistryOutcome,
  ): Promise<RegistryResult> {
    const { clock, timeoutMs = 10_000 } = this.options
    const end = clock.monotonicMs() + timeoutMs
    for (;;) {
      try {
        return await this.once(decide)
      } catch (error) {
        if (!isOvertaken(error) || clock.monotonicMs() >= end) throw error
        await sleep(clock, RETRY_EVERY_MS)
      }
    }
  }

  private async once(decide: (state: RegistryState) => RegistryOutcome): Promise<RegistryResult> {
    await using topics = await openTopics(this.options.place)
    await createRegistryTopic(topics)
    const producer = await topics.producer(REGISTRY_TOPIC, TRANSACTIONAL_ID)
    try {
      const records = await recordsOf(topics)
      const outcome = decide(foldRegistry(records))
      if (outcome.kind !== 'changed') return { state: foldRegistry(records), outcome }
      const changes = [...outcome.models.map(modelRecord), ...outcome.versions.map(versionRecord)]
      const nowMs = this.options.clock.nowMs()
      for (const { key, value } of changes) {
        producer.sendRecord(encoder.encode(key), value, nowMs, 0, [])
      }
      await producer.sync()
      return { state: foldRegistry([...records, ...changes]), outcome }
    } finally {
      await producer.close()
    }
  }
}

/** Whether another writer came between, so that nothing was written; the log aborts whom it fences. */
function isOvertaken(error: unknown): boolean {
  const codes = ['LOG_LOCKED', 'TRANSACTION_FENCED', 'INVALID_TRANSACTION'] as const
  return codes.some((code) => isWeirError(error, code))
}

async function createRegistryTopic(topics: TopicStore): Promise<void> {
  if (await topics.has(REGISTRY_TOPIC)) return
  try {
    await topics.create(REGISTRY_TOPIC, { partitions: 1, cleanupPolicy: 'compact' })
  } catch (error) {
    if (!isWeirError(error, 'TOPIC_EXISTS')) throw error
  }
}

/** All records, oldest first. */
export async function recordsOf(topics: TopicStore): Promise<readonly RegistryRecord[]> {
  const records: RegistryRecord[] = []
  if (!(await topics.has(REGISTRY_TOPIC))) return records
  await scanTopic(topics, REGISTRY_TOPIC, (record) => {
    const key = record.key()
    if (key !== null) records.push({ key: decoder.decode(key), value: copied(record.value()) })
    return true
  })
  return records
}

function copied(bytes: Uint8Array | null): Uint8Array | null {
  return bytes === null ? null : Uint8Array.from(bytes)
}

/** The typed error of an outcome that is no success; undefined for one that is. */
export function outcomeError(
  outcome: RegistryOutcome,
  command: RegistryCommand,
): WeirError | undefined {
  const name = command.kind === 'register' ? command.version.name : command.name
  switch (outcome.kind) {
    case 'changed':
    case 'unchanged':
    case 'exists':
      return undefined
    case 'number-taken':
      return new WeirError(
        'REGISTRY_CONFLICT',
        `another version of ${name} has this number; register it as ${outcome.next}`,
        { details: { next: outcome.next } },
      )
    case 'conflict':
      return new WeirError(
        'REGISTRY_CONFLICT',
        `version ${outcome.live} of ${name} is live by now; look at it and decide again`,
        { details: { live: outcome.live } },
      )
    case 'unknown-version':
      return new WeirError(
        'UNKNOWN_VERSION',
        `the registry does not know this version of ${name}; it knows ${outcome.known.join(', ') || 'none'}`,
      )
    case 'refused':
      return refusal(outcome, name)
    case 'no-rollback-target':
      return new WeirError(
        'ILLEGAL_STATE',
        `no version of ${name} was live before; promote one instead`,
      )
    case 'in-use':
      return new WeirError(
        'ILLEGAL_STATE',
        `this version of ${name} is live or what a rollback goes back to; promote another one first`,
      )
    case 'retired':
      return new WeirError(
        'ILLEGAL_STATE',
        `this version of ${name} was retired and its rows are gone; train it again`,
      )
  }
}

function refusal(
  { verdict }: RegistryOutcome & { readonly kind: 'refused' },
  name: string,
): WeirError {
  const details =
    verdict.kind === 'failed'
      ? {
          check: verdict.check,
          measure: verdict.measure.name,
          value: verdict.measure.value,
          bound: verdict.measure.bound,
        }
      : verdict.kind === 'allowed'
        ? {}
        : { check: verdict.check, reason: verdict.kind }
  return new WeirError(
    'PROMOTION_REFUSED',
    `this version of ${name} may not go live: ${verdictText(verdict)}`,
    { details },
  )
}
