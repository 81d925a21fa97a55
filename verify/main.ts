import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../src/core/errors.ts'
import { CAMPAIGNS } from './campaign.ts'
import { FAULTS } from './faults.ts'
import { HOSTILE_ATTACKS, HOSTILE_DOORS } from './hostile-campaign.ts'
import { Interruptible } from './interruption.ts'
import { MUTANTS } from './mutants/seeded.ts'
import { TESTED_MUTANTS } from './mutants/tested.ts'
import { runVerification } from './run.ts'
import { SCALE_OUT_FAULTS } from './scale-out/faults.ts'
import type { Mutation, VerifyOptions } from './verification.ts'
import { runWhole } from './whole.ts'
import { World } from './world/world.ts'

const ALL_MUTANTS = [...MUTANTS, ...TESTED_MUTANTS]

const HELP = `Usage: npm run verify
       npm run verify -- [--minutes N] [--seed S] [--rounds N] [--faults A,B] [--mutate M]
                         [--deadline S] [--keep]
       npm run verify -- --campaign NAME [--seed S] [--schedules N] [--minutes N] [--count N]

Without arguments: the campaigns of npm test, whole, in some minutes. WEIR_SEED sets their seed.

With arguments: runs three real Kafka brokers, a real HDFS and real jobs, and injects faults in rotation. Checks that no record is lost
or counted twice, and that no query returned a value that its level forbids. Progress goes to standard error;
the last line of standard output is the verdict as JSON. The exit code is 1 when the verdict is "failed".

  --minutes N   Minimum duration of the faults (default 1), or of a campaign that has one (soak: 120, models: 15, scale-out: 5, hostile: as long as each attack
                once takes)
  --seed S      Seed of the order and place of faults, of keys and values (default: from the clock)
  --rounds N    Minimum number of times that each fault comes (default 1)
  --faults A,B  Only these faults: ${FAULTS.map(({ name }) => name).join(', ')};
                of the campaign scale-out: ${SCALE_OUT_FAULTS.map(({ name }) => name).join(', ')}
  --mutate M    Put an error into a job, so that the verdict must be "failed": at-least-once (a sink that
                repeats results), repeated-deltas (a fold that does not drop repeated deltas)
  --deadline S  Maximum seconds of a recovery (default 240)
  --keep        Keep the working folder also when the verdict is "passed"
  --campaign C  Run only this campaign (mutants: the verifier on Weirs with an error; combinations and
                scale-out use a Kafka; the others need no Kafka and no HDFS): ${Object.keys(CAMPAIGNS).join(', ')}
  --schedules N Number of schedules or cases of the campaign (default: all)
  --count N     Number of switches of the campaign switches (default 10000), of loads of loads (500), or of trials
                of combinations (default: all of its table)
  --mutants A,B Only these mutants of the campaign: ${ALL_MUTANTS.map(({ name }) => name).join(', ')}
  --attack A    Only this attack of the campaign hostile; may be given again: ${HOSTILE_ATTACKS.join('; ')}
  --door D      Only this port of the campaign hostile, without frames and mutated input; may be given again: ${HOSTILE_DOORS.join('; ')}
`

const MUTATIONS: readonly Mutation[] = ['none', 'at-least-once', 'repeated-deltas']

const say = (line: string): void => {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`)
}

/** Options as they were given. */
type Given = ReturnType<typeof given>

function given() {
  return parseArgs({
    options: {
      minutes: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      rounds: { type: 'string', default: '1' },
      faults: { type: 'string' },
      deadline: { type: 'string', default: '240' },
      mutate: { type: 'string', default: 'none' },
      keep: { type: 'boolean', default: false },
      campaign: { type: 'string' },
      schedules: { type: 'string' },
      count: { type: 'string' },
      mutants: { type: 'string' },
      attack: { type: 'string', multiple: true },
      door: { type: 'string', multiple: true },
      help: { type: 'boolean', default: false },
    },
  }).values
}

/** A number from 0 of an option; undefined where it is not given. */
function numberOf(
  values: Given,
  name: 'minutes' | 'seed' | 'rounds' | 'deadline',
): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (Number.isFinite(value) && value >= 0) return value
  throw new Error(`--${name} takes a number from 0, not "${text}"`)
}

/** A whole number above 0 of an option; undefined where it is not given. */
function countOf(values: Given, name: 'schedules' | 'count'): number | undefined {
  const text = values[name]
  if (text === undefined) return undefined
  const value = Number(text)
  if (Number.isInteger(value) && value > 0) return value
  throw new Error(`--${name} takes a whole number above 0, not "${text}"`)
}

/** The names, each of which must be known. */
function knownNames(
  names: readonly string[] | undefined,
  what: string,
  known: readonly string[],
): readonly string[] | undefined {
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`there is no ${what} "${unknown}"; see --help`)
  return names
}

/** Names of a list, each of which must be known. */
function namesOf(
  list: string | undefined,
  what: string,
  known: readonly { readonly name: string }[],
): readonly string[] | undefined {
  return knownNames(
    list?.split(','),
    what,
    known.map(({ name }) => name),
  )
}

const seedOf = (values: Given): number => Math.floor(numberOf(values, 'seed')!)

/** The options of a verification, without its folder and its output. */
function verificationOf(values: Given): Omit<VerifyOptions, 'folder' | 'say'> {
  const faults = namesOf(values.faults, 'fault', FAULTS)
  const mutation = MUTATIONS.find((one) => one === values.mutate)
  if (mutation === undefined) throw new Error(`there is no mutation "${values.mutate}"; see --help`)
  return {
    seed: seedOf(values),
    minutes: numberOf(values, 'minutes') ?? 1,
    rounds: numberOf(values, 'rounds')!,
    ...(faults === undefined ? {} : { faults }),
    deadlineMs: numberOf(values, 'deadline')! * 1000,
    mutation,
  }
}

/** A signal that the first Ctrl-C aborts, to end the faults and judge. The second Ctrl-C ends the process. */
function interruption(): AbortSignal {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(130)
    say('interrupted: the faults end, the verdict follows; press Ctrl-C again to stop at once')
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return controller.signal
}

async function runCampaign(name: string, values: Given): Promise<number> {
  const run = CAMPAIGNS[name]
  if (run === undefined) throw new Error(`there is no campaign "${name}"; see --help`)
  const options = {
    seed: seedOf(values),
    schedules: countOf(values, 'schedules'),
    count: countOf(values, 'count'),
    minutes: numberOf(values, 'minutes'),
    mutants: namesOf(values.mutants, 'mutant', ALL_MUTANTS),
    attacks: knownNames(values.attack, 'attack', HOSTILE_ATTACKS),
    doors: knownNames(values.door, 'door', HOSTILE_DOORS),
    faults: namesOf(values.faults, 'fault', SCALE_OUT_FAULTS),
  }
  say(`campaign ${name}, seed ${options.seed}`)
  using _ = new Interruptible(say)
  const startMs = performance.now()
  const report = await run({ ...options, say }).catch((error: unknown) => ({
    ...{ campaign: name, seed: options.seed, verdict: 'failed' },
    violations: [messageOf(error)],
  }))
  const seconds = Math.round((performance.now() - startMs) / 1000)
  process.stdout.write(`${JSON.stringify({ ...report, seconds })}\n`)
  return report.violations.length === 0 ? 0 : 1
}

async function main(): Promise<number> {
  if (process.argv.length === 2) return await runWhole(say)
  const values = given()
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (values.campaign !== undefined) return await runCampaign(values.campaign, values)
  return await verify(verificationOf(values), values.keep)
}

async function verify(
  options: Omit<VerifyOptions, 'folder' | 'say'>,
  keep: boolean,
): Promise<number> {
  const signal = interruption()
  const folder = mkdtempSync(join(tmpdir(), 'weir-verify-'))
  say(`seed ${options.seed}; logs in ${folder}; starting Kafka and HDFS`)
  let passed = false
  try {
    await using world = await World.start()
    const report = await runVerification(world, { ...options, folder, say, signal })
    passed = report.verdict === 'passed'
    process.stdout.write(`${JSON.stringify(report)}\n`)
    return passed ? 0 : 1
  } catch (error) {
    const report = { verdict: 'failed', seed: options.seed, details: [messageOf(error)] }
    process.stdout.write(`${JSON.stringify(report)}\n`)
    return 1
  } finally {
    if (passed && !keep) rmSync(folder, { recursive: true, force: true })
    else say(`logs and results are in ${folder}`)
  }
}

async function exitCode(): Promise<number> {
  try {
    return await main()
  } catch (error) {
    process.stderr.write(`${messageOf(error)}\n`)
    return 1
  }
}

// Node waits without end for sockets of killed brokers when a process ends by itself, and keeps a processor busy.
process.exit(await exitCode())
