import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { inProcess } from '../../cli/command-here.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { until } from '../../run/until.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { type CommandProcess, usesProcessor, weir } from './command-process.ts'

const PACKAGE = new URL('../../../src/index.ts', import.meta.url).href

const JOB = `
import { defineJob, GeneratorSource, MemorySink, noWatermarks } from '${PACKAGE}'
export default defineJob({
  name: 'numbers',
  build(env) {
    env
      .fromSource(new GeneratorSource({ generate: Number }), noWatermarks())
      .uid('numbers')
      .sinkTo(new MemorySink())
      .uid('sink')
  },
})
`

let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-interruption-'))
  writeFileSync(join(folder, 'ratings.data'), '1\t2\t3\t4\n2\t3\t4\t5\n')
  writeFileSync(join(folder, 'examples.svm'), '+1 1:1 2:0.5\n-1 3:1\n')
  const ratings = ['generate', 'ratings', '--users', '300', '--items', '200', '--ratings', '20000']
  await inProcess([...ratings, '--output', join(folder, 'many.data')])
  const examples = ['generate', 'svm-examples', '--features', '20000', '--examples', '5000']
  await inProcess([...examples, '--output', join(folder, 'many.svm')])
  writeFileSync(join(folder, 'job.mjs'), JOB)
  const lines = Array.from({ length: 1000 }, (_, i) => JSON.stringify({ value: i }))
  writeFileSync(join(folder, 'events.jsonl'), lines.join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const timeout = ['--timeout', '600000']

/** Verbs that wait for the server of queries: their words, without the port. */
const QUERIES: Readonly<Record<string, readonly string[]>> = {
  predict: ['1', '2', ...timeout],
  recommend: ['1', ...timeout],
  similar: ['1', ...timeout],
  query: ['ALS_MODEL', '1-U', ...timeout],
  evaluate: ['--ratings', '<ratings.data>', ...timeout],
  classify: ['1:1', ...timeout],
  gateway: ['--listen', '127.0.0.1:0'],
  load: timeout,
  infer: ['m', '--input', '<ratings.data>', ...timeout],
  'model unload': ['m', ...timeout],
  'model status': timeout,
  'model profile': ['m', ...timeout],
  'evaluate svm': ['--examples', '<examples.svm>', ...timeout],
}

/** Verbs that wait for a broker: their words, without the broker. */
const BROKERS: Readonly<Record<string, readonly string[]>> = {
  quickstart: ['--ratings', '<ratings.data>'],
  'train als': ['--ratings', '<ratings.data>'],
  'train bmf': ['--ratings', '<ratings.data>'],
  'train popularity': ['--ratings', '<ratings.data>'],
  'train svm': ['--examples', '<examples.svm>', '--publish'],
  'train logistic': ['--examples', '<examples.svm>', '--publish'],
  'learn als': [],
  'learn svm': [],
  'learn resume': [],
  run: ['als-serving'],
  'generate als-model': [],
  'generate svm-model': [],
  'model load': ['<many.data>'],
  retrain: [],
  'model list': [],
  'model show': ['1'],
  'model diff': ['1', '2'],
  'model promote': ['1'],
  'model rollback': [],
  'model drop': ['1'],
  forget: ['--user', '1'],
  'model export': ['1', '<exported>'],
  'topic list': [],
  'topic create': ['t'],
  'topic produce': ['t'],
  'topic consume': ['t'],
  'topic archive': ['t', '--to', '<archive>'],
  'kafka transactions list': [],
  'kafka transactions commit': ['t'],
  'kafka transactions abort': ['t'],
  doctor: [],
}

/** Verbs that compute or write for a long time: their words. */
const WORK: Readonly<Record<string, readonly string[]>> = {
  'train als': [
    '--ratings',
    '<many.data>',
    '--factors',
    '40',
    '--iterations',
    '9999',
    '--no-publish',
  ],
  'train bmf': ['--ratings', '<many.data>', '--sweeps', '99999', '--no-publish'],
  'train svm': ['--examples', '<many.svm>', '--tolerance', '1e-300', '--folds', '500'],
  'train logistic': ['--examples', '<many.svm>', '--tolerance', '1e-300', '--folds', '500'],
  'jobs test': ['<job.mjs>', '--events', '<events.jsonl>', '--runs', '1000000'],
  'generate ratings': ['--ratings', '100000000', '--output', '<r>'],
  'generate svm-examples': ['--examples', '100000000', '--output', '<e>'],
  'generate als-model': ['--users', '9000000', '--factors', '200'],
  'generate svm-model': ['--features', '900000000'],
}

/** Verbs that wait for the REST interface of a JobManager: their words. */
const CLUSTERS: Readonly<Record<string, readonly string[]>> = {
  list: [],
  info: ['a'],
  cancel: ['a'],
  stop: ['a'],
  savepoint: ['a'],
  checkpoint: ['a'],
  rescale: ['a', '--parallelism', '2'],
  members: ['a'],
  rebalance: ['a'],
}

/** Verbs that serve until Ctrl-C, and end with status 0: their words. */
const SERVERS: Readonly<Record<string, readonly string[]>> = {
  jobmanager: ['-D', 'rest.port=0'],
}

/** Verbs that read small local files only; `log check` and `repair` handle signals between two files. */
const SHORT = [
  'checkpoint list',
  'checkpoint verify',
  'cluster start',
  'cluster status',
  'cluster stop',
  'completion',
  'kubernetes render',
  'log check',
  'log repair',
  'model alias',
  'model configure',
  'model import',
  'model push',
  'model revisions',
  'token create',
  'token list',
  'token revoke',
]

const pathsIn = (words: readonly string[]): string[] =>
  words.map((word) => word.replace(/^<(.*)>$/, (_, name: string) => join(folder, name)))

let commands = 0
function start(verb: string, words: readonly string[]): CommandProcess {
  const data = [
    'doctor',
    'jobmanager',
    'quickstart',
    'run',
    'learn',
    'model',
    'topic',
    'retrain',
    'train als',
    'generate als-model',
    'generate svm-model',
  ]
  const takesData = !Object.hasOwn(QUERIES, verb) && data.some((prefix) => verb.startsWith(prefix))
  const place = takesData ? ['--data-dir', join(folder, `data-${commands++}`)] : []
  return weir([...verb.split(' '), ...pathsIn(words), ...place])
}

/** Below every timeout of the commands, and long enough for a machine that runs many tests at once. */
const LIMIT_MS = 60_000

/** A server that accepts connections and never answers: a command that asks it waits until Ctrl-C. */
async function silentServer() {
  const sockets = new Set<Socket>()
  const asked = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => asked.resolve())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: String((server.address() as AddressInfo).port),
    /** Resolves when something was asked. */
    asked: asked.promise,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Signals a command that is busy, and returns how it ended. */
async function interrupt(
  command: CommandProcess,
  busy: Promise<unknown>,
  signal: NodeJS.Signals,
): Promise<object> {
  await using _ = command
  const early = await Promise.race([command.ended, busy.then(() => undefined)])
  expect(early, 'ended before the signal').toBeUndefined()
  command.signal(signal)
  await until('the command ends', () => command.hasEnded, { timeoutMs: LIMIT_MS })
  const { code, stderr } = await command.ended
  return { code, stderr }
}

const seed = commitSeed()

/** The verbs of a table, each with a signal, by the seed. */
const signalled = (table: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(table).map(([verb, words], at) => {
    const isFirst = ((at >> 2) + (seed >> 2)) % 2 === 0
    return { verb, words, signal: isFirst ? ('SIGINT' as const) : ('SIGTERM' as const) }
  })

/** Those of the run: the short part has every fourth verb, by the seed. */
const cases = (table: Readonly<Record<string, readonly string[]>>) =>
  signalled(table).filter((_, at) => campaignSize(at % 4 === seed % 4, true))

describe('a verb that asks a job', () => {
  it.concurrent.each(Object.entries(QUERIES))(
    'ends at its deadline when the job is silent: %s',
    async (verb, words) => {
      using server = await silentServer()
      const given = pathsIn(words).map((word) => (word === '600000' ? '500' : word))
      const asked = [...verb.split(' '), ...given, '--port', server.port]
      const { code, stderr } = await inProcess(asked)
      expect({ code, stderr }).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/UNAVAILABLE|DEADLINE_EXCEEDED/),
      })
      // Not the deadline that a call has without the flag.
      if (words.includes('--timeout')) expect(stderr).toContain('within 500 ms')
    },
  )
})

describe('Ctrl-C and SIGTERM', () => {
  it('are tried with every verb', () => {
    const tried = [
      ...Object.keys({ ...QUERIES, ...BROKERS, ...CLUSTERS, ...WORK, ...SERVERS }),
      ...SHORT,
    ].sort()
    expect(tried).toEqual(COMMANDS.map(({ name }) => name).sort())
  })

  it.concurrent.each(cases(QUERIES))(
    '$signal ends "$verb" that waits for an answer',
    async (one) => {
      using server = await silentServer()
      const command = start(one.verb, [...one.words, '--port', server.port])
      expect(await interrupt(command, server.asked, one.signal)).toMatchObject({ code: 130 })
    },
  )

  it.concurrent.each(cases(BROKERS))(
    '$signal ends "$verb" that waits for a broker',
    async (one) => {
      using server = await silentServer()
      const command = start(one.verb, [...one.words, '--brokers', `127.0.0.1:${server.port}`])
      expect(await interrupt(command, server.asked, one.signal)).toMatchObject({ code: 130 })
    },
  )

  it.concurrent.each(cases(CLUSTERS))(
    '$signal ends "$verb" that waits for a JobManager',
    async (one) => {
      using server = await silentServer()
      const command = start(one.verb, [...one.words, '-m', `127.0.0.1:${server.port}`])
      expect(await interrupt(command, server.asked, one.signal)).toMatchObject({ code: 130 })
    },
  )

  it.concurrent.each(cases(WORK))('$signal ends "$verb" at work', async (one) => {
    const command = start(one.verb, one.words)
    // Loading the code takes less than half a second of processor time.
    const busy = usesProcessor(command.pid, 1)
    expect(await interrupt(command, busy, one.signal)).toMatchObject({ code: 130 })
  })

  it.concurrent.each(signalled(SERVERS))('$signal ends "$verb" that serves', async (one) => {
    const command = start(one.verb, one.words)
    const serving = command.printed(/press Ctrl-C to stop/)
    expect(await interrupt(command, serving, one.signal)).toMatchObject({ code: 0 })
  })
})
