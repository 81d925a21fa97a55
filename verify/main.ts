import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../src/core/errors.ts'
import { FAULTS } from './faults.ts'
import { type Mutation, Verification } from './verification.ts'
import { World } from './world.ts'

const HELP = `Usage: npm run verify -- [--minutes N] [--seed S] [--rounds N] [--faults A,B] [--mutate M]
                         [--deadline S] [--keep]

Runs a real Kafka, a real HDFS and real jobs, breaks them in rotation and checks that nothing is lost
or doubled and that no query returned a value that its level forbids. Progress goes to standard error;
the last line of standard output is the verdict as JSON. Ends with 1 when it is "failed".

  --minutes N   Break things for at least so long (default 1)
  --seed S      Order and place of the faults, keys and values (default: from the clock)
  --rounds N    Every fault comes so often at least (default 1)
  --faults A,B  Only these: ${FAULTS.map(({ name }) => name).join(', ')}
  --mutate M    Make Weir wrong on purpose, so that the verdict must be "failed": at-least-once (a sink
                that repeats), repeated-deltas (a fold that does not drop what came before)
  --deadline S  A recovery that takes more seconds is a violation (default 60; more on a busy machine)
  --keep        Keep the working folder (it is kept when the verdict is "failed")
`

const MUTATIONS: readonly Mutation[] = ['none', 'at-least-once', 'repeated-deltas']

const say = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

function settingsOf() {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      rounds: { type: 'string', default: '1' },
      faults: { type: 'string' },
      deadline: { type: 'string', default: '60' },
      mutate: { type: 'string', default: 'none' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const number = (name: 'minutes' | 'seed' | 'rounds' | 'deadline'): number => {
    const value = Number(values[name])
    if (Number.isFinite(value) && value >= 0) return value
    throw new Error(`--${name} takes a number from 0, not "${values[name]}"`)
  }
  const faults = values.faults?.split(',')
  const unknown = faults?.find((name) => !FAULTS.some((fault) => fault.name === name))
  if (unknown !== undefined) throw new Error(`there is no fault "${unknown}"; see --help`)
  const mutation = MUTATIONS.find((one) => one === values.mutate)
  if (mutation === undefined) throw new Error(`there is no mutation "${values.mutate}"; see --help`)
  return {
    ...{ minutes: number('minutes'), seed: Math.floor(number('seed')), rounds: number('rounds') },
    ...(faults === undefined ? {} : { faults }),
    deadlineMs: number('deadline') * 1000,
    ...{ mutation, keep: values.keep, help: values.help },
  }
}

/** The first Ctrl-C ends the faults and judges; the second ends at once. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(130)
    say('interrupted: judging what was done; once more to end at once')
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return controller.signal
}

async function main(): Promise<number> {
  const { keep, help, ...options } = settingsOf()
  if (help) {
    process.stdout.write(HELP)
    return 0
  }
  const signal = interruption()
  const folder = mkdtempSync(join(tmpdir(), 'weir-verify-'))
  say(`seed ${options.seed}; logs in ${folder}; starting Kafka and HDFS`)
  let passed = false
  try {
    await using world = await World.start()
    const report = await Verification.run(world, { ...options, folder, say, signal })
    passed = report.verdict === 'passed'
    process.stdout.write(`${JSON.stringify(report)}\n`)
    return passed ? 0 : 1
  } finally {
    if (passed && !keep) rmSync(folder, { recursive: true, force: true })
    else say(`the working folder is kept: ${folder}`)
  }
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`)
  process.exitCode = 1
}
