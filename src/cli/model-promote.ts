import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { systemClock } from '../core/clock.ts'
import type { ModelRegistry } from '../jobs/model-registry.ts'
import {
  type GoldenSet,
  type PromotionChecks,
  type PromotionLimits,
  runPromotionChecks,
} from '../jobs/promotion-checks.ts'
import type { RegisteredVersion, RegistryState } from '../models/registry-version.ts'
import { type Command, type CommandIo, Flags, type OptionSpec } from './command.ts'
import { topicsOf } from './kafka-flags.ts'
import { REGISTRY_OPTIONS, registryOf, versionNamed } from './model-registry-flags.ts'
import { retireOld } from './model-retire.ts'
import { short } from './model-text.ts'
import { connectWith } from './query-flags.ts'
import { ratingsOfFile } from './ratings-file.ts'
import { rangeOf } from './retrain-triggers.ts'

/** Flags of the checks that a promotion needs. */
export const CHECK_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  golden: {
    type: 'string',
    value: 'FILE',
    help: 'Ratings that no version was trained on: runs the three checks on them first',
  },
  tolerance: {
    type: 'string',
    value: 'SHARE',
    default: '0.01',
    help: "How much worse than live's RMSE the candidate's may be",
  },
  'min-observations': {
    type: 'string',
    value: 'N',
    default: '100',
    help: 'Fewest observations that a version may be trained on',
  },
  'rating-range': { type: 'string', value: 'MIN,MAX', help: 'Ratings must lie in this range' },
  'max-unknown': {
    type: 'string',
    value: 'SHARE',
    default: '0.5',
    help: 'Largest share of golden pairs with an unknown user or item',
  },
  'max-latency': { type: 'string', value: 'MS', default: '100', help: 'Largest p99 of an answer' },
  'load-timeout': { type: 'string', value: 'MS', default: '60000', help: 'Longest time to load' },
  host: { type: 'string', value: 'HOST', default: '127.0.0.1', help: 'Host of the serving job' },
  port: { type: 'string', value: 'PORT', default: '9069', help: 'Its port for queries' },
  token: { type: 'string', value: 'TEXT', help: 'Token, if the server asks for one' },
  state: { type: 'string', value: 'NAME', default: 'ALS_MODEL', help: 'Queryable state' },
}

/** `weir model promote`: makes a version live. */
export const modelPromoteCommand: Command = {
  name: 'model promote',
  summary: 'Make a version live, if it passed the data, quality and serving checks',
  usage: '[VERSION]',
  options: {
    ...REGISTRY_OPTIONS,
    ...CHECK_OPTIONS,
    'expect-live': {
      type: 'string',
      value: 'N',
      help: 'Fail if another version is live (default: whichever is)',
    },
    force: {
      type: 'string',
      value: 'REASON',
      help: 'Go live without passes; the reason is kept in the lineage',
    },
    retain: { type: 'string', value: 'N', help: 'Then drop all but the N newest versions' },
  },
  details: `VERSION is as in "weir model show"; the default is latest. With --golden the three checks are run now, on
a job that serves the model, and kept; without it those that were kept before count. A refused
promotion says which check, and by how much.

Examples:
  weir model promote 3 --golden golden.data
  weir model promote 3 --force "the golden set is outdated"`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const registry = registryOf(flags)
    const { state, version } = await versionNamed(flags, registry, args[0] ?? 'latest')
    const live = flags.optionalInteger('expect-live') ?? state.models.get(version.name)?.live ?? 0
    const golden = flags.optional('golden')
    if (golden !== undefined) {
      tellChecks(await check(flags, { registry, version, live, golden }), io)
    }
    const force = flags.optional('force')
    const { state: after } = await registry.require({
      kind: 'promote',
      name: version.name,
      number: version.number,
      expectedLive: live,
      atMs: systemClock.nowMs(),
      ...(force === undefined ? {} : { force }),
    })
    tellPromotion(flags, io, version, after, live)
    const retain = flags.optionalInteger('retain', 1)
    if (retain !== undefined) await retireOld(flags, registry, retain, io)
    return 0
  },
}

async function check(
  flags: Flags,
  given: {
    readonly registry: ModelRegistry
    readonly version: RegisteredVersion
    readonly live: number
    readonly golden: string
  },
): Promise<PromotionChecks> {
  const { registry, version, live } = given
  await using client = await connectWith(flags)
  const found = await runPromotionChecks({
    reader: client,
    state: flags.string('state'),
    version,
    live,
    golden: await goldenFile(given.golden),
    positions: await positionsOf(flags, version.topic),
    limits: limitsOf(flags),
    clock: systemClock,
  })
  const { name, number } = version
  await registry.require({ kind: 'record-checks', name, number, checks: found.checks })
  return found
}

/** Where the topic ends now: whoever applied it has all rows of every version in it. */
async function positionsOf(
  flags: Flags,
  topic: string,
): Promise<readonly { readonly partition: number; readonly offset: number }[]> {
  await using topics = await topicsOf(flags)
  const bounds = await topics.bounds(topic)
  return bounds
    .filter(({ end }) => end > 0)
    .map(({ partition, end }) => ({ partition, offset: end - 1 }))
}

/** A golden set in a file, named by its path and hash. */
export async function goldenFile(path: string): Promise<GoldenSet> {
  const ratings = await ratingsOfFile(path)
  const isLocal = !path.startsWith('hdfs://')
  const hash = isLocal
    ? createHash('sha256')
        .update(await readFile(path))
        .digest('hex')
        .slice(0, 16)
    : `${ratings.size} ratings`
  return { ratings, subject: `${path} ${hash}` }
}

/** The bounds that the flags say. Throws UsageError. */
export function limitsOf(flags: Flags): PromotionLimits {
  const range = rangeOf(flags)
  return {
    data: {
      minObservations: flags.integer('min-observations'),
      maxUnknownShare: flags.number('max-unknown'),
      ...(range === undefined ? {} : { smallest: range.min, largest: range.max }),
    },
    quality: { tolerance: flags.number('tolerance') },
    serving: {
      maxP99Ms: flags.number('max-latency'),
      maxLoadMs: flags.integer('load-timeout', 1),
    },
  }
}

/** Tells what the checks measured, on standard error. */
export function tellChecks({ checks, difference }: PromotionChecks, io: CommandIo): void {
  for (const { check: name, passed, measures } of checks) {
    const parts = measures.map(
      (measure) =>
        `${measure.name} ${short(measure.value)} ${measure.passed ? '' : 'NOT '}${measure.relation} ${short(measure.bound)}`,
    )
    io.err(`${name.padEnd(8)} ${passed ? 'passed' : 'FAILED'}  ${parts.join(', ')}`)
  }
  if (!Number.isFinite(difference.mean)) return
  const { mean, low, high } = difference
  io.err(
    `MSE of the candidate minus live: ${short(mean)} (95 %: ${short(low)} to ${short(high)}, paired)`,
  )
}

function tellPromotion(
  flags: Flags,
  io: CommandIo,
  version: RegisteredVersion,
  state: RegistryState,
  before: number,
): void {
  const note = state.versions.get(version.name)?.get(version.number)?.notes.at(-1)
  const how = note?.event === 'forced' ? 'forced' : 'promoted'
  if (flags.boolean('json')) {
    io.out(JSON.stringify({ model: version.name, live: version.number, before, how }))
    return
  }
  const was = before === 0 ? 'none was before' : `it was version ${before}`
  io.out(`version ${version.number} of ${version.name} is live (${how}; ${was})`)
}
