import { createHash } from 'node:crypto'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import type { RetrainAlsOptions } from '../../kinds/als/options.ts'
import { publishAls } from '../../kinds/factors/publish.ts'
import { refuseOtherDimension } from '../../models/publish/topic-dimension.ts'
import { isCandidate } from '../../models/registry/adopt.ts'
import {
  type Hyperparameters,
  type RegistryState,
  versionsOf,
} from '../../models/registry/version.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import { readyVersions } from '../../models/versions/model-versions.ts'
import type { RatingsTable } from '../../training/data/ratings-table.ts'
import type { CommandIo, Flags } from '../command/command.ts'
import { count, type Report } from './text.ts'
import { trainingOf, trainQuickstart } from './training.ts'

/** The version that was trained on the ratings, by this start or an earlier one. */
export interface QuickstartVersion {
  readonly version: number
  readonly users: number
  readonly items: number
  /** False if an earlier start trained it. */
  readonly trained: boolean
  readonly trainSeconds?: number
}

/** Options of `ensureVersion`. */
export interface VersionContext {
  readonly flags: Flags
  readonly topics: TopicStore
  readonly io: CommandIo
  readonly report: Report
}

/** Trains and publishes a version, unless the topic has one of the same ratings and options. */
export async function ensureVersion(
  train: RatingsTable,
  { flags, topics, io, report }: VersionContext,
): Promise<QuickstartVersion> {
  const options = trainingOf(flags)
  const fingerprint = fingerprintOf(train, { ...options })
  const topic = flags.string('topic')
  const known = (await topics.has(topic)) ? await readyVersions(topics, topic) : []
  const latest = known.at(-1)
  // Versions that were retrained from it do not count.
  const base = known.findLast((marker) => !isCandidate(marker))
  if (base?.hyperparameters['fingerprint'] === fingerprint) {
    const { version, users, items } = base
    report('train', `not needed: version ${version} in the topic was trained on the same ratings`)
    return { version, users, items, trained: false }
  }
  await refuseOtherDimension(topics, topic, options)
  const startMs = systemClock.monotonicMs()
  const { model, trainer, work } = await trainQuickstart(train, options, io)
  const trainSeconds = (systemClock.monotonicMs() - startMs) / 1000
  const [users, items] = [model.users.length, model.items.length]
  report(
    'train',
    `${trainer} with ${model.factors} factors for ${count(users)} users and ${count(items)} items: ${work} in ${trainSeconds.toFixed(2)} s`,
  )
  const version = (latest?.version ?? 0) + 1
  await publishAls(model, {
    log: topics,
    topic,
    version,
    clock: systemClock,
    hyperparameters: { fingerprint, ...chainOf(options), factors: model.factors },
  })
  report(
    'publish',
    `${count(users + items)} rows as version ${version} to topic ${topic} of ${placeText(flags)}`,
  )
  return { version, users, items, trained: true, trainSeconds }
}

/** What a retraining of a version of a chain inherits; nothing of ALS. */
function chainOf({ trainer, sweeps, seed }: RetrainAlsOptions): Hyperparameters {
  return trainer === 'bmf' ? { trainer, sweeps: sweeps ?? 30, seed: seed ?? 1 } : {}
}

/** Description of the place of the quickstart's topics. */
export function placeText(flags: Flags): string {
  const brokers = flags.optional('brokers')
  return brokers === undefined ? 'the embedded log' : `Kafka at ${brokers}`
}

/** A hash of ratings and options: 16 hexadecimal digits. */
export function fingerprintOf(table: RatingsTable, options: Record<string, unknown>): string {
  const hash = createHash('sha256').update(JSON.stringify(options))
  for (const ids of [table.users, table.items]) hash.update(ids.join('\n'))
  for (const column of [table.user, table.item, table.rating]) hash.update(column)
  return hash.digest('hex').slice(0, 16)
}

/**
 * The version to serve: the live version of the registry, else the base version. If the base version
 * was just trained and the registry knows the model, it is made live.
 */
export async function liveVersion(
  registry: ModelRegistry,
  topics: TopicStore,
  { topic, base }: { readonly topic: string; readonly base: QuickstartVersion },
): Promise<number> {
  const state = await registry.read()
  const live = state.models.get(topic)?.live
  if (live === undefined) return base.version
  if (!base.trained) return live
  await registry.adopt(topic, await readyVersions(topics, topic))
  await registry.require({
    kind: 'promote',
    name: topic,
    number: base.version,
    expectedLive: live,
    atMs: systemClock.nowMs(),
    force: 'trained by the quickstart on other ratings',
  })
  return base.version
}

/** The version that the loop of an earlier start retrained from `base`, in any state. */
export function retrainedSince(
  state: RegistryState,
  model: string,
  { base, observations }: { readonly base: number; readonly observations: string },
): number | undefined {
  return versionsOf(state, model).findLast(
    ({ number, lineage }) =>
      number > base && lineage.ranges.some(({ topic }) => topic === observations),
  )?.number
}
