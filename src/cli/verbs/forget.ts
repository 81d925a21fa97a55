import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { filesBelow } from '../../connectors/file/list.ts'
import { systemClock } from '../../core/clock.ts'
import { isWeirError } from '../../core/errors.ts'
import { printable } from '../../core/text/printable.ts'
import { auditTrail } from '../../http/access/audit.ts'
import { forget, type PersonsTopics, requireLearnedTopic } from '../../jobs/erasure/forget.ts'
import { type ForgottenPart, type LeftRange, PLACES } from '../../jobs/erasure/places.ts'
import { type Finding, isLeft, prove } from '../../jobs/erasure/prove.ts'
import { dataDirectory } from '../../jobs/serve/data-directory.ts'
import { loadStorage } from '../../runtime/checkpoint/storage/load.ts'
import { type Command, type CommandIo, Flags } from '../command/command.ts'
import { requireWritable } from '../command/text-file.ts'
import { address, addressOf, output, place } from '../flag-kinds/places.ts'
import { name, topicName, word } from '../flag-kinds/words.ts'
import { topicsOf } from '../flags/kafka.ts'
import { administrationOf, REGISTRY_OPTIONS } from '../flags/model-registry.ts'
import { CONNECTION_OPTIONS, connectionOf, connectTo } from '../flags/query.ts'
import { configurationOf, SERVING_OPTIONS } from '../flags/serving.ts'
import { counted } from '../text/counted.ts'

const ON_KAFKA = ['keep', 'delete-before'] as const

/** `weir forget`: erases a person, or searches for what is left of one. */
export const forgetCommand: Command = {
  name: 'forget',
  summary: 'Erase a user from topics and models, or prove that nothing is left',
  options: {
    user: { type: 'string', value: name(), isRequired: true, help: 'Id of the user' },
    prove: {
      type: 'boolean',
      help: 'Search every place and change nothing; exit status 1: something is left',
    },
    observations: {
      type: 'string',
      value: topicName,
      default: 'observations',
      help: 'Topic of ratings that the job learns',
    },
    also: {
      type: 'string',
      multiple: true,
      value: topicName,
      help: 'A further topic of ratings, as of a golden set (repeatable)',
    },
    quarantine: {
      type: 'string',
      multiple: true,
      value: topicName,
      help: 'A topic of refused ratings (repeatable)',
    },
    'on-kafka': {
      type: 'string',
      value: word(ON_KAFKA, 'WHAT'),
      help: 'Ratings in a Kafka topic that is not compacted: keep (until its retention) or delete-before (all records up to the last one of the user, also those of others)',
    },
    job: {
      type: 'string',
      multiple: true,
      value: address,
      help: 'With --prove: query port of a running job to search (repeatable)',
    },
    file: {
      type: 'string',
      multiple: true,
      value: place('PATH'),
      help: 'With --prove: a file or folder of yours to search (repeatable)',
    },
    'audit-file': {
      type: 'string',
      value: output(),
      help: 'Append the line of the audit to this file, as JSON',
    },
    ...CONNECTION_OPTIONS,
    set: SERVING_OPTIONS['set']!,
    ...REGISTRY_OPTIONS,
  },
  details: `Ratings, deltas and rows of the user are erased from the embedded log, and each version gets a tombstone, so that running
jobs drop the row; one in each partition of the ratings has jobs of histories drop the user. Everything else keeps its offset.
A run that was killed goes on when you repeat it. What stays, and how long, is printed, and is in the guide "Erasure of a
person". Exit status 1 without --prove: ratings or deltas stay in a Kafka, at the offsets that are printed.

Example:
  weir forget --user 405
  weir forget --user 405 --prove --job 9069`,
  async run({ flags: values, io }) {
    const flags = new Flags(values)
    return flags.boolean('prove') ? await proveNow(flags, io) : await forgetNow(flags, io)
  },
}

/** The topics of the flags, as far as a search may leave some out. */
function personsTopics(flags: Flags): PersonsTopics {
  return {
    model: flags.string('model'),
    observations: flags.string('observations'),
    also: flags.list('also'),
    quarantine: flags.list('quarantine'),
  }
}

/** Numbers of all versions that a job may serve, and the topic that the model is learned from. */
async function modelFacts(flags: Flags) {
  const { state, unfinished } = await administrationOf(flags).all()
  const model = flags.string('model')
  const registered = [...(state.versions.get(model)?.values() ?? [])]
  const served = registered.filter((version) => version.state !== 'retired')
  const numbers = [
    ...served.map(({ number }) => number),
    ...unfinished.map(({ marker }) => marker.version),
  ]
  const learnsFrom = state.models.get(model)?.learnsFrom
  return { versions: [...new Set(numbers)].sort((a, b) => a - b), learnsFrom }
}

async function forgetNow(flags: Flags, io: CommandIo): Promise<number> {
  const user = flags.string('user')
  const note = auditOf(flags, io)
  const topicsNamed = personsTopics(flags)
  try {
    const { versions, learnsFrom } = await modelFacts(flags)
    requireLearnedTopic(topicsNamed.observations, learnsFrom)
    await using topics = await topicsOf(flags)
    const onKafka = flags.optionalChoice('on-kafka', ON_KAFKA)
    const options = { ...topicsNamed, topics, user, versions, onKafka, clock: systemClock }
    const parts = await forget(options)
    const isAll = parts.every(({ left = [] }) => left.length === 0)
    note('done', isAll ? 'ok' : 'not all')
    print(flags, io, parts)
    if (!isAll) io.err('not all: records of the user stay in the Kafka, at the offsets above')
    return isAll ? 0 : 1
  } catch (error) {
    note('failed', isWeirError(error) ? error.code : 'error')
    throw error
  }
}

function print(flags: Flags, io: CommandIo, parts: readonly ForgottenPart[]): void {
  if (flags.boolean('json')) {
    const left = Object.entries(PLACES).flatMap(([place, { what, ...row }]) =>
      'left' in row ? [{ place, what, left: row.left }] : [],
    )
    io.out(JSON.stringify({ user: flags.string('user'), parts, left }))
    return
  }
  for (const part of parts) {
    io.out(lineOf(part))
    for (const range of part.left ?? []) io.out(`  ${rangeText(range)}`)
  }
  io.out('')
  io.out('What stays:')
  for (const { what, ...row } of Object.values(PLACES)) {
    if ('left' in row) io.out(`  ${what}: ${row.left}`)
  }
}

const DID: Readonly<Record<ForgottenPart['did'], string>> = {
  erased: 'erased',
  announced: 'written, by which jobs of histories drop the user',
  tombstones: 'deleted by tombstones',
  'deleted-before': 'deleted with all records before them',
  kept: 'kept, until the retention of the topic',
}

function lineOf({ topic, count, did, place }: ForgottenPart): string {
  const what = did === 'tombstones' ? 'key' : did === 'announced' ? 'tombstone' : 'record'
  return `${topic} (${place}): ${counted(count, what)} ${DID[did]}`
}

function rangeText({ partition, first, last, count, notBeforeMs }: LeftRange): string {
  const at = first === last ? `offset ${first}` : `offsets ${first} to ${last}`
  const until =
    notBeforeMs === null
      ? 'no retention that ends is known'
      : `not removed before ${new Date(notBeforeMs).toISOString()}`
  return `partition ${partition}, ${at}: ${counted(count, 'record')}, ${until}`
}

async function proveNow(flags: Flags, io: CommandIo): Promise<number> {
  const { versions } = await modelFacts(flags)
  await using topics = await topicsOf(flags)
  await using stack = new AsyncDisposableStack()
  const served = []
  for (const text of flags.list('job')) {
    const connection = { ...connectionOf(flags, addressOf(text)) }
    served.push(stack.use(await connectTo(connection, 'give --job HOST:PORT of a running job')))
  }
  const storage = await storageOf(flags)
  if (storage !== undefined) stack.defer(() => storage.close())
  const findings = await prove({
    ...personsTopics(flags),
    ...{ topics, user: flags.string('user'), versions, storage, served },
    files: [...(await ownFiles(flags)), ...flags.list('file')],
  })
  if (flags.boolean('json')) io.out(JSON.stringify({ isLeft: isLeft(findings), findings }))
  else for (const finding of findings) io.out(printable(findingLine(finding)))
  return isLeft(findings) ? 1 : 0
}

function findingLine({ place, where, verdict, detail }: Finding): string {
  return `${verdict.padEnd(13)}${place}${where === '' ? '' : ` ${where}`}: ${detail}`
}

/** The storage of checkpoints; undefined where there is none yet. */
async function storageOf(flags: Flags) {
  const { checkpoints } = dataDirectory(flags.string('data-dir'))
  const set = configurationOf(flags)['execution.checkpointing.dir']
  if (set === undefined && !existsSync(checkpoints)) return undefined
  return await loadStorage(set ?? checkpoints)
}

/** Files below the data folder that hold bytes of rows and records: spilled state, cut ends of a damaged log. */
async function ownFiles(flags: Flags): Promise<readonly string[]> {
  const { state, log } = dataDirectory(flags.string('data-dir'))
  const cut = existsSync(log) ? await filesBelow(log) : []
  const spilled = existsSync(state) ? [state] : []
  return [...spilled, ...cut.filter((file) => file.endsWith('.damaged'))]
}

/** Takes the line of the audit. The id is a digest there: the audit must not keep what was erased. */
function auditOf(flags: Flags, io: CommandIo) {
  const file = flags.optional('audit-file')
  if (file !== undefined) requireWritable('--audit-file', file)
  const isJson = flags.optional('log-format') === 'json'
  const write = (line: string): void => io.err(line)
  const trail = auditTrail({ write, isJson, file, clock: systemClock })
  const digest = createHash('sha256').update(flags.string('user')).digest('hex').slice(0, 16)
  const on = `model=${flags.string('model')} user=sha256:${digest}`
  return (outcome: 'done' | 'failed', status: string): void =>
    trail({ who: 'command', name: '', from: '', did: 'forget', on, outcome, status })
}
