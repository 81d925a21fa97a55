import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import type { JobDefinition, JobOptions } from '../../dataflow/job/definition.ts'
import type { JobBuilder, RestoreFailure, RestoreTestReport } from '../../testing/test-restores.ts'
import type { TimedEvent } from '../../testing/timed-events.ts'
import { type Command, type CommandIo, Flags } from '../command/command.ts'
import { textOfFile } from '../command/text-file.ts'
import { UsageError } from '../command/usage-error.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { keyValue } from '../flag-kinds/pairs.ts'
import { input } from '../flag-kinds/places.ts'
import { keyValuesOf } from '../flags/serving.ts'
import type { JobModule } from '../serve/job-module.ts'
import { counted } from '../text/counted.ts'

/** Most runs that differ, and most results of one, that are shown in words. */
const MOST_SHOWN = 5

/** `weir jobs test`: compares a job with kills and restores with the same job without them. */
export const jobsTestCommand: Command = {
  name: 'jobs test',
  summary: 'Run your own job over a file of events, with kills and restores at random',
  positions: [{ value: input('MODULE') }],
  options: {
    events: {
      type: 'string',
      isRequired: true,
      value: input(),
      help: 'Events, one JSON object a line',
    },
    seed: {
      type: 'string',
      value: wholeNumber(),
      default: '1',
      help: 'The same seed draws the same kills',
    },
    runs: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 1_000_000 }),
      default: '20',
      help: 'Runs with kills',
    },
    option: {
      type: 'string',
      multiple: true,
      value: keyValue,
      help: 'Option for the job (repeatable)',
    },
  },
  details: `The events take the place of what the sources of the job read, and what its sinks would write is compared:
neither is opened. The job runs in one subtask without threads, so that a seed gives the same runs on every machine. A run
is killed one to four times, and goes on from its newest checkpoint; its results must be those of the run
without kills, each as often. They are not where a function keeps something outside of its state. Exit status 1: they differ.

A line is one of
  {"value": {"page": "home"}, "timestamp": 1000}    a record; the watermark follows the strategy of its source
  {"watermark": 60000}                              a watermark beside those of the strategy
  {"clock": 30000}                                  the wall clock, in ms from the start on
with "source": the uid or the name of a source, in records and watermarks of a job with several sources.

Examples:
  weir jobs test ./visits.ts --events visits.jsonl --option output=/tmp/unused
  weir jobs test ./visits.ts --events visits.jsonl --runs 1000 --seed 7 --json`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const path = args[0]!
    const events = await eventsOf(flags.string('events'))
    const { loadJobModule, logOptions } = await import('../serve/job-module.ts')
    const { checkedOptions } = await import('../../dataflow/job/definition.ts')
    const module = await loadJobModule(path, (warning) => io.err(`warning: ${warning}`))
    const log = mkdtempSync(join(tmpdir(), 'weir-jobs-test-'))
    try {
      const options = checkedOptions(module.definition, {
        ...logOptions(module.definition, log),
        ...keyValuesOf(flags, 'option'),
      })
      const { testRestores } = await import('../../testing/test-restores.ts')
      const report = await testRestores(startsOf(module, options), events, {
        seed: flags.number('seed'),
        runs: flags.number('runs'),
      })
      print(report, { path, json: flags.boolean('json'), io })
      return report.verdict === 'passed' ? 0 : 1
    } finally {
      rmSync(log, { recursive: true, force: true })
    }
  },
}

async function eventsOf(file: string): Promise<readonly TimedEvent[]> {
  const { parseTimedEvents } = await import('../../testing/timed-events.ts')
  const text = textOfFile('--events', file)
  try {
    return parseTimedEvents(text)
  } catch (error) {
    throw new UsageError(`--events: ${file}: ${messageOf(error)}`)
  }
}

/** Builds the job for each start from its module, which is loaded again: variables of the module are gone, too. */
function startsOf({ url }: JobModule, options: JobOptions): JobBuilder {
  let starts = 0
  return async () => {
    starts += 1
    const { buildJob } = await import('../../dataflow/job/definition.ts')
    const module = (await import(`${url.href}?start=${starts}`)) as { default: JobDefinition }
    return await buildJob(module.default, options, { parallelism: 1 })
  }
}

interface Printed {
  readonly path: string
  readonly json: boolean
  readonly io: CommandIo
}

function print(report: RestoreTestReport, { path, json, io }: Printed): void {
  if (json) {
    io.out(JSON.stringify(report))
    return
  }
  io.out(`${path}: ${sentenceOf(report)}`)
  for (const failure of report.failures.slice(0, MOST_SHOWN)) {
    for (const line of linesOf(failure)) io.out(line)
  }
  const more = report.failures.length - MOST_SHOWN
  if (more > 0) io.out(`and ${counted(more, 'other difference')}; --json has all`)
}

function sentenceOf({ verdict, events, runs, kills, results, seed, failures }: RestoreTestReport) {
  const all = Object.values(results).reduce((sum, each) => sum + each, 0)
  if (verdict === 'no-results') {
    return `${counted(events, 'event')}, and no result reaches a sink, so that there is nothing to compare`
  }
  if (verdict === 'not-repeatable') {
    return `${counted(events, 'event')}; two runs without kills give other results, so that there is nothing to compare: the job depends on random numbers, on the real time, or on what is outside of it`
  }
  const done = `${counted(events, 'event')}, ${counted(all, 'result')}, ${counted(runs, 'run')} with ${counted(kills, 'kill')} (seed ${seed})`
  if (verdict === 'passed') return `${done}: all runs have the results of the run without kills`
  const differing = new Set(failures.map(({ run }) => run)).size
  return `${done}: ${counted(differing, 'run')} ${differing === 1 ? 'differs' : 'differ'} from the run without kills`
}

function linesOf({ run, kills, sink, lost, wrong, error }: RestoreFailure): readonly string[] {
  const moments = kills.map(({ checkpoint, kill }) => {
    const from = checkpoint === 0 ? 'no checkpoint' : `the checkpoint after event ${checkpoint}`
    return `killed after event ${kill}, restored from ${from}`
  })
  const of = sink === undefined ? '' : ` of sink "${sink}"`
  return [
    `run ${run}: ${moments.length === 0 ? 'repeated without kills' : moments.join('; ')}`,
    ...(error === undefined ? [] : [`  failed: ${error}`]),
    ...shown(`  lost${of}`, lost),
    ...shown(`  wrong${of}`, wrong),
  ]
}

function shown(what: string, results: readonly string[]): readonly string[] {
  if (results.length === 0) return []
  const more = results.length - MOST_SHOWN
  const rest = more > 0 ? `, and ${more} more` : ''
  return [`${what}: ${results.slice(0, MOST_SHOWN).join(', ')}${rest}`]
}
