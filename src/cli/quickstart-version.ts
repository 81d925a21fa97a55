import { createHash } from 'node:crypto'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import { systemClock } from '../core/clock.ts'
import { publishAls } from '../jobs/publish-als.ts'
import { isCandidate } from '../models/registry-adopt.ts'
import type { RatingsTable } from '../training/ratings-table.ts'
import { alsOptionsOf, trainWithProgress } from './als-training-flags.ts'
import type { CommandIo, Flags } from './command.ts'
import { refuseOtherDimension } from './model-topic-dimension.ts'
import { readyVersions } from './model-versions.ts'
import type { Tell } from './quickstart-text.ts'

/** The version that the ratings gave, now or at an earlier start. */
export interface QuickstartVersion {
  readonly version: number
  readonly users: number
  readonly items: number
  /** False when it was found in the topic. */
  readonly trained: boolean
  readonly trainSeconds?: number
}

/** What `ensureVersion` works with. */
export interface VersionContext {
  readonly flags: Flags
  readonly topics: TopicStore
  readonly io: CommandIo
  readonly tell: Tell
}

/** Trains and publishes, unless the same ratings and parameters gave the latest version before. */
export async function ensureVersion(
  train: RatingsTable,
  { flags, topics, io, tell }: VersionContext,
): Promise<QuickstartVersion> {
  const options = alsOptionsOf(flags)
  const fingerprint = fingerprintOf(train, options as Record<string, unknown>)
  const topic = flags.string('topic')
  const known = (await topics.has(topic)) ? await readyVersions(topics, topic) : []
  const latest = known.at(-1)
  // What was retrained from it since does not make it another one.
  const base = known.findLast((marker) => !isCandidate(marker))
  if (base?.hyperparameters['fingerprint'] === fingerprint) {
    const { version, users, items } = base
    tell('train', `not needed: version ${version} in the topic came from the same ratings`)
    return { version, users, items, trained: false }
  }
  await refuseOtherDimension(topics, topic, options)
  const startMs = systemClock.monotonicMs()
  const model = await trainWithProgress(train, options, io)
  const trainSeconds = (systemClock.monotonicMs() - startMs) / 1000
  const [users, items] = [model.users.length, model.items.length]
  const count = (n: number): string => n.toLocaleString('en-US')
  tell(
    'train',
    `ALS finds ${model.factors} factors for each of ${count(users)} users and ${count(items)} items: ${options.iterations} iterations in ${trainSeconds.toFixed(2)} s`,
  )
  const version = (latest?.version ?? 0) + 1
  await publishAls(model, {
    log: topics,
    topic,
    version,
    clock: systemClock,
    hyperparameters: { fingerprint, factors: model.factors },
  })
  tell(
    'publish',
    `${count(users + items)} rows into topic ${topic} of ${placeInWords(flags)}, as version ${version}`,
  )
  return { version, users, items, trained: true, trainSeconds }
}

/** Where the quickstart's topics are. */
export function placeInWords(flags: Flags): string {
  const brokers = flags.optional('brokers')
  return brokers === undefined ? 'the embedded log' : `Kafka at ${brokers}`
}

/** 16 digits that differ for other ratings or options. */
export function fingerprintOf(table: RatingsTable, options: Record<string, unknown>): string {
  const hash = createHash('sha256').update(JSON.stringify(options))
  for (const ids of [table.users, table.items]) hash.update(ids.join('\n'))
  for (const column of [table.user, table.item, table.rating]) hash.update(column)
  return hash.digest('hex').slice(0, 16)
}
