import { openTopics } from '../../connectors/topics/open.ts'
import { TOPICS_PLACE, type TopicsPlace } from '../../connectors/topics/place.ts'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { type Clock, sleep } from '../../core/clock.ts'
import { isWeirError, WeirError } from '../../core/errors.ts'
import {
  listOf,
  milliseconds,
  name,
  objectWith,
  optional,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { CLOCK } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, nested, type OptionShape } from '../../core/options/shape.ts'
import { type Adoption, adoption, withAdoption } from '../registry/adopt.ts'
import { notLearnableHint } from '../registry/checks/not-learnable.ts'
import { type PromotionVerdict, verdictText } from '../registry/checks/promotion-verdict.ts'
import { REGISTRY_COMMAND } from '../registry/command-shape.ts'
import { decideCommand, type RegistryCommand, type RegistryOutcome } from '../registry/commands.ts'
import { forgottenVersions } from '../registry/forgotten-versions.ts'
import {
  deletedVersionRecord,
  foldRegistry,
  modelRecord,
  type RegistryRecord,
  versionRecord,
} from '../registry/format.ts'
import type { RetrainingLease } from '../registry/retraining-lease.ts'
import type { RegistryState } from '../registry/version.ts'
import type { ModelVersionMarker } from '../registry/version-marker.ts'

/** Topic of the registry: compacted, one partition. */
export const REGISTRY_TOPIC = 'model-registry'

/** Transactional id of every writer: the newest one fences the others. */
const TRANSACTIONAL_ID = 'weir/model-registry'

/** Small, so that compaction soon removes the earlier records of a version. */
const SEGMENT_BYTES = 64 * 1024
/** Pause between two attempts to become the only writer, ms. */
const RETRY_EVERY_MS = 20

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Options of a `ModelRegistry`. */
export interface ModelRegistryOptions {
  /** Place of the registry's topic: Kafka, or a log folder that no job locks. */
  readonly place: TopicsPlace
  readonly clock: Clock
  /** Longest time that a command waits for other writers, ms. @default 10000 */
  readonly timeoutMs?: number
}

const REGISTRY: OptionShape<ModelRegistryOptions> = {
  place: required(nested(TOPICS_PLACE)),
  clock: required(CLOCK),
  timeoutMs: milliseconds,
}

const MARKERS = listOf(objectWith<ModelVersionMarker>('the marker of a version'))
const PUBLISHED = optional(wholeNumber({ min: 1 }))

/** Result of a command. */
export interface RegistryResult {
  /** The registry after the command. */
  readonly state: RegistryState
  readonly outcome: RegistryOutcome
}

/**
 * The model registry: versions, and which of them is live, folded from a topic. A command reads the
 * topic, decides, and writes all changes in one transaction. If another writer comes first, this one
 * is fenced, reads again and decides again.
 */
export class ModelRegistry {
  private readonly options: ModelRegistryOptions

  constructor(options: ModelRegistryOptions) {
    checkOptions('new ModelRegistry', REGISTRY, options)
    this.options = options
  }

  /** The current registry; empty before the first write. */
  async read(): Promise<RegistryState> {
    await using topics = await openTopics(this.options.place)
    return foldRegistry(await recordsOf(topics))
  }

  /**
   * Executes a command and returns its outcome, success or not. Throws INVALID_ARGUMENT, LOG_LOCKED or
   * TRANSACTION_FENCED if other writers block it for longer than `timeoutMs`.
   */
  async execute(command: RegistryCommand): Promise<RegistryResult> {
    checkArgument('registry.execute', 'command', REGISTRY_COMMAND, command)
    return await this.exclusively((state) => decideCommand(state, command))
  }

  /** As `execute`, but throws the error of an outcome that is no success (`outcomeError`). */
  async require(command: RegistryCommand): Promise<RegistryResult> {
    const result = await this.execute(command)
    const error = outcomeError(result.outcome, command)
    if (error !== undefined) throw error
    return result
  }

  /**
   * Registers the versions of a model's topic that the registry does not know; `published`: the one that its publisher
   * registers (`adoption`).
   */
  async adopt(
    topic: string,
    markers: readonly ModelVersionMarker[],
    published?: number,
  ): Promise<RegistryState> {
    checkArgument('registry.adopt', 'topic', name, topic)
    checkArgument('registry.adopt', 'markers', MARKERS, markers)
    checkArgument('registry.adopt', 'published', PUBLISHED, published)
    const decide = (state: RegistryState): RegistryOutcome => {
      const found = this.adoptionOf(state, topic, markers, published)
      return found === undefined ? { kind: 'unchanged' } : { kind: 'changed', ...found }
    }
    const present = await this.read()
    if (decide(present).kind === 'unchanged') return present
    return (await this.exclusively(decide)).state
  }

  /** The registry as `adopt` would leave it; writes nothing. */
  async withVersions(
    topic: string,
    markers: readonly ModelVersionMarker[],
  ): Promise<RegistryState> {
    checkArgument('registry.withVersions', 'topic', name, topic)
    checkArgument('registry.withVersions', 'markers', MARKERS, markers)
    const state = await this.read()
    const found = this.adoptionOf(state, topic, markers)
    return found === undefined ? state : withAdoption(state, found)
  }

  private adoptionOf(
    state: RegistryState,
    topic: string,
    markers: readonly ModelVersionMarker[],
    published?: number,
  ): Adoption | undefined {
    if (markers.length === 0) return undefined
    const atMs = this.options.clock.nowMs()
    const whose = published === undefined ? {} : { published }
    const found = adoption(state, { topic, markers, atMs, ...whose })
    return found.models.length + found.versions.length === 0 ? undefined : found
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
      const changes = withoutForgotten(records, [
        ...outcome.models.map(modelRecord),
        ...outcome.versions.map(versionRecord),
      ])
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

/** The changes, and the deletions of the versions that the registry then forgets. */
function withoutForgotten(
  records: readonly RegistryRecord[],
  changes: readonly RegistryRecord[],
): readonly RegistryRecord[] {
  const state = foldRegistry([...records, ...changes])
  const forgotten = [...state.versions.keys()].flatMap((name) => forgottenVersions(state, name))
  return [...changes, ...forgotten.map(deletedVersionRecord)]
}

/** Whether another writer came first, so that nothing was written. The log aborts a fenced writer. */
function isOvertaken(error: unknown): boolean {
  const codes = [
    'LOG_LOCKED',
    'TRANSACTION_FENCED',
    'TRANSACTION_ABORTED',
    'INVALID_TRANSACTION',
  ] as const
  return codes.some((code) => isWeirError(error, code))
}

async function createRegistryTopic(topics: TopicStore): Promise<void> {
  if (await topics.has(REGISTRY_TOPIC)) return
  try {
    await topics.create(REGISTRY_TOPIC, {
      partitions: 1,
      cleanupPolicy: 'compact',
      segmentBytes: SEGMENT_BYTES,
    })
  } catch (error) {
    if (!isWeirError(error, 'TOPIC_EXISTS')) throw error
  }
}

/** All records of the registry, oldest first. */
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

/** The error of an outcome that is no success; undefined for a success. */
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
        `another version of ${name} has this number; register it as version ${outcome.next}`,
        { details: { next: outcome.next } },
      )
    case 'conflict':
      return new WeirError(
        'REGISTRY_CONFLICT',
        `version ${outcome.live} of ${name} is live now; check it and run the command again`,
        { details: { live: outcome.live } },
      )
    case 'unknown-version':
      return new WeirError(
        'UNKNOWN_VERSION',
        `unknown version of ${name}; the registry has ${outcome.known.join(', ') || 'none'}`,
      )
    case 'refused':
      return refusal(outcome, command)
    case 'no-rollback-target':
      return new WeirError(
        'ILLEGAL_STATE',
        `${name} has no earlier live version; promote a version instead`,
      )
    case 'in-use':
      return new WeirError(
        'ILLEGAL_STATE',
        `this version of ${name} is live or the target of a rollback; promote another one first`,
      )
    case 'held':
      return alreadyRetrained(name, outcome.lease)
    case 'retired':
      return new WeirError(
        'ILLEGAL_STATE',
        `this version of ${name} is retired and its rows are deleted; train it again`,
      )
  }
}

function alreadyRetrained(name: string, lease: RetrainingLease | undefined): WeirError {
  const { process = 'that has ended', sinceMs = 0 } = lease ?? {}
  return new WeirError(
    'JOB_ALREADY_RUNNING',
    `${name} is retrained already, by the loop of process ${process} since ${new Date(sinceMs).toISOString()}. Stop that one, or start this one with --take-over, which ends the other; a loop of another machine that has died is followed ten minutes later`,
  )
}

function refusal(
  { verdict }: RegistryOutcome & { readonly kind: 'refused' },
  command: RegistryCommand,
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
        : { ...('check' in verdict ? { check: verdict.check } : {}), reason: verdict.kind }
  const hint = refusalHint(verdict)
  return new WeirError(
    'PROMOTION_REFUSED',
    `${versionText(command)} was not promoted: ${verdictText(verdict)}${hint}`,
    { details },
  )
}

function refusalHint(verdict: PromotionVerdict): string {
  if (verdict.kind === 'failed') return ''
  return verdict.kind === 'not-learnable'
    ? `. ${notLearnableHint(verdict)}`
    : '; run the checks with --golden FILE, or skip them with --force REASON'
}

function versionText(command: RegistryCommand): string {
  return command.kind === 'promote' ? `version ${command.number} of ${command.name}` : 'the version'
}
