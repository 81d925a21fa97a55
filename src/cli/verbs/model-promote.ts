import type { TopicStore } from '../../connectors/topics/store.ts'
import { systemClock } from '../../core/clock.ts'
import { hashingOf } from '../../core/features/hashing.ts'
import {
  type CheckedData,
  type PromotionChecks,
  recordGolden,
  runPromotionChecks,
} from '../../jobs/promotion/checks.ts'
import { kindOfVersion } from '../../kinds/registered.ts'
import {
  type RegisteredVersion,
  type RegistryState,
  versionsOf,
} from '../../models/registry/version.ts'
import type { ModelRegistry } from '../../models/versions/model-registry.ts'
import { presentVersion } from '../../models/versions/trained-ranges.ts'
import { type Command, type CommandIo, Flags, UsageError } from '../command/command.ts'
import { type RatingsReading, ratingsReadingOf } from '../files/ratings-reading.ts'
import { versionNamed } from '../flag-kinds/named.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { name } from '../flag-kinds/words.ts'
import { topicsOf } from '../flags/kafka.ts'
import { administrationOf, REGISTRY_OPTIONS, registryOf } from '../flags/model-registry.ts'
import {
  CHECK_OPTIONS,
  goldenExamples,
  goldenRatings,
  limitsOf,
  stateOf,
} from '../flags/promotion-checks.ts'
import { connectWith } from '../flags/query.ts'
import { RETAIN_OPTION, retireOld } from '../flags/retain.ts'
import { checkLines } from '../text/promotion-checks.ts'
import { isServed, servedText } from '../text/served.ts'

/** `weir model promote`: makes a version live. */
export const modelPromoteCommand: Command = {
  name: 'model promote',
  summary: 'Make a version live if it passes the data, quality and serving checks',
  positions: [{ value: versionNamed, isOptional: true }],
  options: {
    ...REGISTRY_OPTIONS,
    ...CHECK_OPTIONS,
    'expect-live': {
      type: 'string',
      value: wholeNumber(),
      help: 'Fail if another version is live (default: the current one)',
    },
    force: {
      type: 'string',
      value: name('REASON'),
      help: 'Promote without passed checks; the reason is stored in the lineage',
    },
    ...RETAIN_OPTION,
  },
  details: `VERSION is as in "weir model show"; the default is latest. With --golden, the three checks run now, on a
job that serves the model, and their results are stored. Without --golden, the stored results count. The
error of a refused promotion shows the check and the measured value.

Examples:
  weir model promote 3 --golden golden.data
  weir model promote 3 --force "the golden set is outdated"`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const registry = registryOf(flags)
    const administration = administrationOf(flags)
    const named = await administration.registered(args[0] ?? 'latest')
    const { state, version } = named
    const live = flags.optionalNumber('expect-live') ?? state.models.get(version.name)?.live ?? 0
    const golden = flags.optional('golden')
    if (golden !== undefined) {
      const reading = ratingsReadingOf(flags, io)
      const checks = await check(flags, { registry, state, version, live, golden, io, reading })
      for (const line of checkLines(checks)) io.err(line)
    }
    const force = flags.optional('force')
    const { isForced: forced } = await administration.promote(named, {
      expectLive: live,
      ...(force === undefined ? {} : { force }),
    })
    const served = await isServed(registry, version.name, systemClock)
    if (flags.boolean('json')) {
      const how = forced ? 'forced' : 'promoted'
      const switched = { model: version.name, live: version.number, before: live, how }
      io.out(JSON.stringify({ ...switched, served }))
    } else if (live === version.number) {
      io.out(`version ${version.number} of ${version.name} is live already`)
    } else {
      const before = live === 0 ? 'no version was live' : `was ${live}`
      const how = forced ? ', forced' : ''
      const sentence = `version ${version.number} of ${version.name} is live (${before}${how})`
      io.out(sentence + servedText(served))
    }
    await retireOld(flags, registry, io)
    return 0
  },
}

async function check(
  flags: Flags,
  given: {
    readonly registry: ModelRegistry
    readonly state: RegistryState
    readonly version: RegisteredVersion
    readonly live: number
    readonly golden: string
    readonly io: CommandIo
    readonly reading: RatingsReading
  },
): Promise<PromotionChecks> {
  const { registry, version, live } = given
  await using client = await connectWith(flags)
  await using topics = await topicsOf(flags)
  const versions = versionsOf(given.state, version.name)
  const present = await Promise.all(
    versions.map((each) =>
      presentVersion(topics, each, each.number === version.number || each.number === live),
    ),
  )
  const candidate = present.find((each) => each.version.number === version.number)!
  const notes = [candidate, ...present.filter((each) => each.version.number === live)]
  for (const note of new Set(notes.flatMap((each) => each.note ?? []))) given.io.err(note)
  const found = await runPromotionChecks({
    reader: client,
    ...(await checkedData(flags, version, given, topics)),
    state: stateOf(flags, kindOfVersion(version)),
    version: candidate.version,
    live,
    positions: await positionsOf(flags, version.topic),
    limits: limitsOf(flags),
    versions: present.map((each) => each.version),
    clock: systemClock,
  })
  const { name, number } = version
  await registry.require({ kind: 'record-checks', name, number, checks: found.checks })
  await recordGolden(registry, name, found)
  return found
}

/** The golden set of a file, and the reader of the same kind of observations. */
async function checkedData(
  flags: Flags,
  version: RegisteredVersion,
  given: { readonly golden: string; readonly reading: RatingsReading },
  topics: TopicStore,
): Promise<CheckedData> {
  const { golden, reading } = given
  const kind = kindOfVersion(version)
  const { hyperparameters } = version.lineage
  const hashing = hashingOf(hyperparameters)
  const isOfRatings = kind.observations === 'ratings'
  if (!isOfRatings && flags.optional('cohorts') !== undefined) {
    throw new UsageError(
      '--cohorts is not of a linear model: its examples have no users; leave it out',
    )
  }
  return {
    golden: isOfRatings
      ? await goldenRatings(golden, reading, flags)
      : await goldenExamples(golden, hashing),
    observations: (ranges) => kind.read(topics, ranges, hyperparameters),
  }
}

/** The last position of each partition: a job that has applied them has all rows of every version. */
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
