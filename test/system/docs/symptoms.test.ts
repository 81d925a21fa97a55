import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../../cli/command-here.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { type CommandProcess, REPOSITORY, weir } from '../cli/command-process.ts'

/** Rows of the table by symptom that another test follows from symptom to cure, by file and name. */
const FOLLOWED_ELSEWHERE: Readonly<Record<string, readonly [file: string, test: string]>> = {
  '`weir run` ended with exit status 1': [
    'test/system/cli/dead-ends.test.ts',
    'ends with exit status 1 and the code when an input file is missing',
  ],
  'stuck: the job is RUNNING and nothing happens': [
    'test/system/kafka/outages/readiness.test.ts',
    'weir run is not ready while its broker is away, says why over REST, and lives and is ready again when it is back',
  ],
  'SIGTERM: the job does not end': [
    'test/system/runtime/held-back.test.ts',
    'SIGTERM of a job that is held back says so at once',
  ],
  'queries fail with `UNAVAILABLE`': [
    'test/client/connecting.test.ts',
    'survives a restart of its server',
  ],
  'queries wait and then fail': [
    'test/jobs/serving-while-restoring.test.ts',
    'answers queries of restored keys while others still restore',
  ],
  'checkpoints fail': [
    'test/system/hdfs/faults.test.ts',
    'says what it waits for when the NameNode is killed during a checkpoint, and continues when it is back',
  ],
  'output on Kafka stays invisible': [
    'test/system/kafka/cli.test.ts',
    'lists those that stay open, and commits or aborts exactly one',
  ],
  'a file is said to be damaged': [
    'test/cli/verbs/log-commands.test.ts',
    'repairs with --yes, keeps the damaged file, and the log is whole afterwards',
  ],
}

const PAGE = readFileSync(join(REPOSITORY, 'docs/guide/troubleshooting.md'), 'utf8')
const TABLE = PAGE.split('\n## By symptom\n')[1]!.split('\n## ')[0]!
/** What the page says, by symptom. */
const ADVICE = new Map(
  TABLE.split('\n')
    .filter((line) => /^\| (?!what you see|-)/.test(line))
    .map((line) => line.split(' | '))
    .map(([symptom, advice]) => [symptom!.slice(2), advice!]),
)

function adviceOn(symptom: string): string {
  const advice = ADVICE.get(symptom)
  if (advice === undefined) throw new Error(`the page has no row "${symptom}"`)
  return advice
}

/** What the page says that Weir prints at a symptom: the text between quotes, with any number in the place of each. */
function printedAt(symptom: string): RegExp {
  const quoted = /"([^"]+?)\??"/.exec(adviceOn(symptom))![1]!
  const text = quoted.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(text.replaceAll(/\d+/g, '\\d+'), 'i')
}

/** The command, flag or setting with this beginning that the page names as the cure of a symptom. */
function cureOf(symptom: string, beginning: string): readonly string[] {
  const codes = [...adviceOn(symptom).matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
  const found = codes.find((code) => code.startsWith(beginning))
  if (found === undefined) throw new Error(`the row "${symptom}" names no ${beginning}`)
  return found
    .replace('NAME', 'clicks')
    .replace(/^weir /, '')
    .split(' ')
}

const source = pathToFileURL(join(REPOSITORY, 'src/index.ts')).href
/** A job that keeps the first click of each user and second. It needs a file, and takes some time for each click, where asked. */
const JOB = `import { existsSync } from 'node:fs'
import {
  boundedOutOfOrderness, defineJob, deserializeValue, jsonFormat, LineFileSink, LogSource, tumblingEventTimeWindows,
} from '${source}'
export default defineJob({
  name: 'clicks',
  build(env, { log, output, idleAfterMs, costMs, needs }) {
    const deserialize = deserializeValue(jsonFormat())
    const clicks = new LogSource({ directory: log, topic: 'clicks', deserialize })
    const idle = idleAfterMs === undefined ? {} : { idleAfterMs: Number(idleAfterMs) }
    const watermarks = boundedOutOfOrderness(0, { timestampOf: ({ time }) => time, ...idle })
    env
      .fromSource(clicks, watermarks, 'clicks').uid('clicks')
      .map((click) => {
        if (needs !== undefined && !existsSync(needs)) throw new Error(needs + ' is missing')
        const cell = new Int32Array(new SharedArrayBuffer(4))
        if (costMs !== undefined) Atomics.wait(cell, 0, 0, Number(costMs))
        return click
      }).uid('prices')
      .keyBy(({ user }) => user)
      .window(tumblingEventTimeWindows(1000))
      .reduce((first) => first).uid('first')
      .sinkTo(new LineFileSink({ directory: output, format: ({ user }) => user })).uid('out')
  },
})
`

let folder: string
let job: string
const running: CommandProcess[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-symptoms-'))
  job = join(folder, 'clicks.ts')
  writeFileSync(job, JOB)
})

afterAll(async () => {
  for (const one of running) await one[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

const dataOf = (name: string): readonly string[] => ['--data-dir', join(folder, name)]

/** Starts the job over a data folder. */
function start(name: string, options: Record<string, string>, ...flags: string[]): CommandProcess {
  const places = { log: join(folder, name, 'log'), output: join(folder, `${name}-out`) }
  const words = Object.entries({ ...places, ...options }).flatMap(([key, value]) => [
    ...['--option', `${key}=${value}`],
  ])
  const listen = flags.includes('--listen') ? [] : ['--listen', '0']
  const settings = ['rest.port=0', 'execution.checkpointing.interval=300ms']
  const started = weir([
    ...['run', job, ...dataOf(name), ...listen, ...words, ...flags],
    ...settings.flatMap((setting) => ['-D', setting]),
  ])
  running.push(started)
  return started
}

async function end(process: CommandProcess): Promise<void> {
  await process[Symbol.asyncDispose]()
}

/** A topic of clicks in a data folder. */
async function clicksTopic(name: string, partitions: number): Promise<void> {
  const words = ['topic', 'create', 'clicks', '--partitions', String(partitions)]
  expect(await inProcess([...words, ...dataOf(name)])).toMatchObject({ code: 0 })
}

let time = 0

/** Appends clicks, each a second after the one before; of some users, or of one. */
async function click(name: string, clicks: number, userOf: (i: number) => string): Promise<void> {
  const lines = Array.from({ length: clicks }, (_, i) => {
    time += 1000
    return `${userOf(i)};${JSON.stringify({ user: userOf(i), time })}`
  })
  const words = ['topic', 'produce', 'clicks', '--key-separator', ';', ...dataOf(name)]
  const produced = await inProcess(words, `${lines.join('\n')}\n`)
  expect(produced, produced.stderr).toMatchObject({ code: 0 })
}

/** Appends clicks, some each `everyMs`, until something has happened. */
async function clickUntil(
  happened: Promise<unknown>,
  name: string,
  userOf: (i: number) => string,
  everyMs: number,
): Promise<void> {
  let hasHappened = false
  const ended = happened.finally(() => {
    hasHappened = true
  })
  ended.catch(() => undefined)
  while (!hasHappened) {
    await click(name, 50, userOf)
    await pause(everyMs, 'clicks come all the time')
  }
  await ended
}

/** Users whose clicks the job has kept in completed windows. */
function usersOut(name: string): readonly string[] {
  const out = join(folder, `${name}-out`)
  if (!existsSync(out)) return []
  const files = readdirSync(out, { recursive: true, withFileTypes: true })
  const parts = files.filter((file) => file.isFile() && file.name.startsWith('part'))
  return parts.flatMap((file) =>
    readFileSync(join(file.parentPath, file.name), 'utf8')
      .split('\n')
      .filter((line) => line !== ''),
  )
}

const isServing = (process: CommandProcess) => process.printed(/REST interface on (http:[^"\s]+)/)

/** What the dashboard shows of a running job. */
async function live(process: CommandProcess) {
  const [, url = ''] = await isServing(process)
  const overview = await (await fetch(`${url}/jobs/overview`)).json()
  const { jid } = (overview as { jobs: { jid: string }[] }).jobs[0]!
  const answer = await (await fetch(`${url}/weir/jobs/${jid}/live`)).json()
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const lags = [...metrics.matchAll(/^\w*pending_?records\w*\{[^}]*\} (\d+)/gim)]
  const { vertices } = answer as { vertices: { uid: string; busy: number }[] }
  // A job that has just begun has no lag yet, which is not a lag of 0.
  const lag = lags.length === 0 ? Number.NaN : lags.reduce((sum, [, each]) => sum + Number(each), 0)
  return { vertices, lag }
}

describe('the table of troubleshooting by symptom', () => {
  it('has a test for each row, here or in another file, from symptom to cure', () => {
    const here = readFileSync(import.meta.filename, 'utf8').split('\ndescribe(')[1]!
    const unheld = [...ADVICE.keys()].filter((symptom) => {
      const elsewhere = FOLLOWED_ELSEWHERE[symptom]
      if (elsewhere === undefined) return !here.includes(`'${symptom}'`)
      const path = join(REPOSITORY, elsewhere[0])
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(elsewhere[1])
    })
    expect(unheld).toEqual([])
  })

  // Each has a job, a folder and ports of its own, and waits for most of its time.
  it.concurrent('no output: the partition is named after a minute, and with an idle timeout there is output', async () => {
    const symptom = 'no output: windows do not fire'
    await clicksTopic('silent', 2)
    const process = start('silent', {})
    await isServing(process)
    // Where no partition has records, none holds the others back.
    await clickUntil(process.printed(printedAt(symptom)), 'silent', () => 'ann', 1_000)
    expect(usersOut('silent')).toEqual([])
    await end(process)
    const [option = ''] = cureOf(symptom, 'idle')
    const cured = start('silent', { [option]: '500' })
    await isServing(cured)
    const output = until('there is output', () => usersOut('silent').includes('ann'))
    await clickUntil(output, 'silent', () => 'ann', 200)
    await end(cured)
  })

  it.concurrent('exit status 2: the message names the right flag, and the command works with it', async () => {
    const symptom = 'exit status 2'
    const words = ['topic', 'create', 'clicks', ...dataOf('flags')]
    const wrong = await weir([...words, '--partition', '2']).ended
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(printedAt(symptom))
    const named = /did you mean (--\w+)/.exec(wrong.stderr)![1]!
    expect(await weir([...words, named, '2']).ended).toMatchObject({ code: 0 })
  })

  it.concurrent('ends at once: with the topic, another port, and the taken folder, the job runs', async () => {
    const [noTopic, taken, inUse] = [
      'ends at once: no topic',
      'ends at once: port taken',
      'ends at once: folder in use',
    ]
    await inProcess(['topic', 'create', 'views', ...dataOf('ends')])
    const without = await start('ends', { idleAfterMs: '500' }).ended
    expect(without.code).toBe(1)
    expect(without.stderr).toMatch(printedAt(noTopic!))
    const create = cureOf(noTopic!, 'weir topic create')
    expect(await weir([...create, ...dataOf('ends')]).ended).toMatchObject({ code: 0 })

    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const [listen = ''] = cureOf(taken!, '--listen')
    const onPort = await start('ends', { idleAfterMs: '500' }, listen, String(port)).ended
    server.close()
    expect(onPort.code).toBe(1)
    expect(onPort.stderr).toMatch(printedAt(taken!))
    expect(onPort.stderr).toContain(String(port))
    const first = start('ends', { idleAfterMs: '500' }, listen, '0')
    await isServing(first)
    await click('ends', 5, () => 'bob')
    await until('there is output', () => usersOut('ends').includes('bob'))

    const second = await start('ends', { idleAfterMs: '500' }).ended
    expect(second.code).toBe(1)
    expect(second.stderr).toMatch(printedAt(inUse!))
    expect(first.hasEnded).toBe(false)
    const over = start('ends', { idleAfterMs: '500' }, ...cureOf(inUse!, '--take-over'))
    await isServing(over)
    expect((await first.ended).stderr).toContain('COORDINATOR_FENCED')
    await click('ends', 5, () => 'cid')
    await until('the other one goes on', () => usersOut('ends').includes('cid'))
    await end(over)
  })

  it.concurrent('restarts again and again: the message has the place, and with a right function the job goes on', async () => {
    const symptom = 'the job restarts again and again'
    await clicksTopic('restarts', 1)
    await click('restarts', 5, () => 'dan')
    const needs = join(folder, 'prices.json')
    const process = start('restarts', { needs })
    await process.printed(printedAt(symptom))
    const line = 1 + JOB.split('\n').findIndex((text) => text.includes('throw new Error'))
    await process.printed(
      new RegExp(`clicks\\.ts:${line}:\\d+; at the record 0:0 of source clicks`),
    )
    expect(adviceOn(symptom)).toContain('correct the function')
    await end(process)
    writeFileSync(needs, '{}')
    const cured = start('restarts', { needs })
    await until('there is output', () => usersOut('restarts').includes('dan'))
    await end(cured)
  })

  it.concurrent('lag grows: one vertex is busy all the time, and with more slots the lag is gone', async () => {
    const symptom = 'lag grows'
    await clicksTopic('slow', 4)
    const process = start('slow', { costMs: '100', idleAfterMs: '500' }, '--slots', '1')
    await isServing(process)
    // More than one slot can take, which is 10 a second, also where a click takes its time.
    const grows = until('the lag grows, and one vertex is busy', async () => {
      const { lag, vertices } = await live(process)
      return lag > 100 && vertices.some(({ busy }) => busy > 0.8)
    })
    await clickUntil(grows, 'slow', (i) => `user${i}`, 200)
    await end(process)
    const cured = start(
      'slow',
      { costMs: '100', idleAfterMs: '500' },
      ...cureOf(symptom, '--slots'),
    )
    await until('the lag is gone', async () => (await live(cured)).lag === 0)
    await end(cured)
  })
})
