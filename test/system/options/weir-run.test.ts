import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type CommandResult, REPOSITORY, weir } from '../cli/command-process.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-checked-jobs-'))
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Runs a job, the text of a module, as a user does. */
function run(
  name: string,
  text: string,
  flags: readonly string[] = [],
  cwd = REPOSITORY,
): Promise<CommandResult> {
  const file = join(folder, name)
  writeFileSync(file, text)
  const args = ['run', file, '--data-dir', join(folder, 'data'), '--port', '0', ...flags]
  return weir([...args, '-D', 'rest.enabled=false'], { cwd }).ended
}

const SOURCE = join(REPOSITORY, 'src')
const jobOf = (body: string): string => `
import { defineJob, jsonFormat, LogSink, serializeValue, valueState } from '${SOURCE}/index.ts'
import { KafkaSink } from '${SOURCE}/connectors/kafka/index.ts'
export default defineJob({ name: 'checked', build(env) {
  ${body}
} })
`

const KAFKA = `brokers: 'localhost:9092', topic: 'results', serialize: serializeValue(jsonFormat())`

it.each([
  [
    'a guarantee in the spelling of Flink',
    `env.fromElements([1]).sinkTo(new KafkaSink({ ${KAFKA}, guarantee: 'EXACTLY_ONCE' }))`,
    'new KafkaSink(...): guarantee must be "none", "at-least-once" or "exactly-once", not the string "EXACTLY_ONCE"; did you mean "exactly-once"?',
  ],
  [
    'a time to live as text',
    `valueState('seen', { ttl: { ttlMs: '1000' } }); env.fromElements([1]).discard()`,
    'valueState(...): ttl.ttlMs must be a number above 0, not the string "1000"',
  ],
  [
    'a misspelt name',
    `env.fromElements([1]).sinkTo(new LogSink({ directory: 'log', topic: 't', serialize() {}, garantee: 'none' }))`,
    'new LogSink(...): there is no option "garantee"; did you mean "guarantee"?',
  ],
])('weir run ends with status 2 and the sentence: %s', async (_, body, sentence) => {
  const { code, stderr } = await run('job.ts', jobOf(body))
  expect(stderr).toContain(sentence)
  expect(code).toBe(2)
})

it('weir run names the line of build that throws, and what caused it', async () => {
  const { code, stderr } = await run(
    'throws.ts',
    jobOf(`const prices = (): never => {
      throw new Error('no prices', { cause: new Error('connect ECONNREFUSED 127.0.0.1:39999') })
    }
  prices()`),
  )
  expect(stderr).toMatch(
    /no prices \(at prices, \/.*throws\.ts:6:13; caused by connect ECONNREFUSED 127\.0\.0\.1:39999\)/,
  )
  expect(code).toBe(1)
})

it('weir run names the line of a module that throws while it is loaded', async () => {
  const { code, stderr } = await run('top.ts', `const limits: any = undefined\nlimits.most()\n`)
  expect(stderr).toMatch(/top\.ts cannot be loaded: .*undefined.* \(at .*top\.ts:2:8\)/)
  expect(code).toBe(2)
})

/** A job without imports, so that only its own types are checked. */
const typedJob = (type: string): string => `
interface Env { fromElements(elements: readonly ${type}[]): { discard(): void } }
export default { name: 'typed', build(env: Env) {
  env.fromElements([1]).discard()
} }
`
const UNCHECKED = typedJob('string')

it('weir run --check-types names the line of a wrong type, and starts nothing', async () => {
  const { code, stderr } = await run('types.ts', UNCHECKED, ['--check-types'])
  expect(stderr).toContain('types.ts has type errors')
  expect(stderr).toMatch(/types\.ts\(4,\d+\): error TS2322/)
  expect(code).toBe(2)
  expect(await run('types.ts', UNCHECKED)).toMatchObject({ code: 0 })
})

it('weir run --check-types runs a job whose types are right', async () => {
  const { code, stderr } = await run('right.ts', typedJob('number'), ['--check-types'])
  expect(code, stderr).toBe(0)
})

it('weir run --check-types says that TypeScript is missing', async () => {
  const { code, stderr } = await run('alone.ts', UNCHECKED, ['--check-types'], folder)
  expect(stderr).toContain('--check-types needs TypeScript')
  expect(code).toBe(1)
})

it('weir run --check-types refuses a job that is no file', async () => {
  const { code, stderr } = await weir(['run', 'als-serving', '--check-types']).ended
  expect(stderr).toContain('--check-types is for a job of your own')
  expect(code).toBe(2)
})
