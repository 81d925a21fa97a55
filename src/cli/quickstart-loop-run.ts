import { writeFileSync } from 'node:fs'
import { WeirClient } from '../client/weir-client.ts'
import type { TopicStore } from '../connectors/topics/topic-store.ts'
import type { ServedJob } from '../jobmanager/served-job.ts'
import type { ModelRegistry } from '../jobs/model-registry.ts'
import { type RatingsTable, ratingStatistics } from '../training/ratings-table.ts'
import type { CommandIo, Flags } from './command.ts'
import type { DataDirectory } from './data-directory.ts'
import { readyVersions } from './model-versions.ts'
import { StreamFeeder } from './quickstart-feeder.ts'
import { FrozenModel } from './quickstart-frozen.ts'
import { retrainedSince } from './quickstart-live.ts'
import { type LoopFigures, QuickstartLoop } from './quickstart-loop.ts'
import { driftedTestFile, textOf } from './quickstart-ratings.ts'
import type { LoopStream } from './quickstart-stream.ts'
import type { Tell } from './quickstart-text.ts'
import { BackgroundTraffic } from './quickstart-traffic.ts'
import { fingerprintOf, type QuickstartVersion } from './quickstart-version.ts'

/** What the loop of a start works with. */
export interface LoopRunContext {
  readonly flags: Flags
  readonly io: CommandIo
  readonly tell: Tell
  readonly data: DataDirectory
  readonly topics: TopicStore
  readonly registry: ModelRegistry
  readonly job: ServedJob
  /** The version that ratings are learned on now. */
  readonly learningOn: () => number
  readonly train: RatingsTable
  readonly base: QuickstartVersion
  /** The version that is live now. */
  readonly live: number
  readonly stream: () => LoopStream
}

/** What `--json` says of the loop. */
export type LoopResult =
  | ({ readonly ran: true } & LoopFigures)
  /** An earlier start has run it. */
  | { readonly ran: false; readonly liveVersion: number }

const PAIRS = 500

/** Runs the loop, unless an earlier start did. Throws InterruptedError after Ctrl-C. */
export async function runLoop(context: LoopRunContext): Promise<LoopResult> {
  const { flags, topics, registry, base, live, tell } = context
  const topic = flags.string('topic')
  const observations = flags.string('observations')
  const state = await registry.adopt(topic, await readyVersions(topics, topic))
  const made = retrainedSince(state, topic, { base: base.version, observations })
  if (made !== undefined) {
    tell(
      'loop',
      `not needed: version ${made} was retrained at an earlier start; version ${live} is live and learns from topic ${observations}`,
    )
    tell('', 'held-out ratings are from before the drift: their error tells what the drift did')
    return { ran: false, liveVersion: live }
  }
  const stream = context.stream()
  const options = { version: base.version, range: ratingStatistics(context.train) }
  const frozen = await FrozenModel.read(topics, topic, options)
  const feed = fingerprintOf(context.train, { stream: flags.string('loop-ratings') })
  const feeder = await StreamFeeder.open({ stream, topics, topic: observations, feed })
  await using client = await clientOf(context)
  await using traffic = new BackgroundTraffic(client, pairsOf(context.train))
  const loop = new QuickstartLoop({ ...context, client, traffic, feeder, stream, frozen })
  const figures = await loop.run()
  writeFileSync(driftedTestFile(flags), textOf(stream.golden))
  return { ran: true, ...figures }
}

function clientOf({ flags, job }: LoopRunContext): Promise<WeirClient> {
  const token = flags.optional('token')
  return WeirClient.connect({
    host: flags.string('host'),
    port: job.port,
    ...(token === undefined ? {} : { token }),
  })
}

/** Some pairs of the training, of many users. */
function pairsOf({ users, items, user, item, size }: RatingsTable): [string, string][] {
  const stride = Math.max(1, Math.floor(size / PAIRS))
  return Array.from({ length: Math.min(PAIRS, size) }, (_, n) => [
    users[user[n * stride]!]!,
    items[item[n * stride]!]!,
  ])
}
