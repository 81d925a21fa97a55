import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { recordedIo } from '../recorded-io.ts'

const FACTORS = ['--factors', '4']
const LONGER = ['--factors', '6']

let folder: string
const at = (name: string): string => join(folder, name)

/** Runs a command on a data folder. */
async function run(data: string, argv: readonly string[]) {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine([...argv, '--data-dir', at(data)], io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

async function done(data: string, argv: readonly string[]): Promise<void> {
  const { code, err } = await run(data, argv)
  expect(code, `${argv.join(' ')}: ${err}`).toBe(0)
}

const alsModel = (factors: readonly string[]): readonly string[] => [
  ...['generate', 'als-model', '--users', '4', '--items', '4', ...factors],
]
const svmModel = (range: string): readonly string[] => [
  ...['generate', 'svm-model', '--features', '20', '--range', range],
]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-row-length-'))
  const rated = Array.from({ length: 40 }, (_, n) => `${n % 5},${n % 7},${1 + (n % 5)}`)
  writeFileSync(at('ratings.csv'), rated.join('\n'))
  writeFileSync(at('rows.txt'), '1,U,1;2;3;4;5;6\n1,I,1;2;3;4;5;6\n')
  const examples = Array.from(
    { length: 40 },
    (_, n) => `${n % 2 === 0 ? '+1' : '-1'} ${1 + (n % 9)}:1`,
  )
  writeFileSync(at('examples.svm'), examples.join('\n'))
  writeFileSync(at('weights.txt'), '1,0.5\n2,-1\n')
  await done('here', alsModel(FACTORS))
  await done('here', svmModel('16'))
  await done('here', ['topic', 'create', 'ratings', '--partitions', '1'])
  const { io } = recordedIo({ input: `${rated.join('\n')}\n` })
  const produce = ['topic', 'produce', 'ratings', '--data-dir', at('here')]
  expect(await runCommandLine(produce, io)).toBe(0)
  await done('other', alsModel(LONGER))
  await done('other', svmModel('32'))
  for (const model of ['als-model', 'svm-model']) {
    await done('other', ['model', 'export', '1', at(model), '--model', model])
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** By command, its words; each makes rows of factors of another length than the topic has. */
const FACTORS_PUBLISHERS: Readonly<Record<string, () => readonly string[]>> = {
  'train als': () => ['train', 'als', '--ratings', at('ratings.csv'), '--threads', '0', ...LONGER],
  'train bmf': () => [
    ...['train', 'bmf', '--ratings', at('ratings.csv'), '--threads', '0', '--sweeps', '4'],
    ...['--burn-in', '1', ...LONGER],
  ],
  'train popularity': () => [
    ...['train', 'popularity', '--ratings', at('ratings.csv'), '--topic', 'als-model'],
  ],
  'model load': () => ['model', 'load', at('rows.txt')],
  'generate als-model': () => alsModel(LONGER),
  'model import': () => ['model', 'import', at('als-model')],
  retrain: () => [
    ...['retrain', '--once', '--no-serving', '--trainer', 'als', '--iterations', '1'],
    ...['--threads', '0', ...LONGER],
  ],
}

/** The same for blocks of weights, of which all versions have one length. */
const WEIGHTS_PUBLISHERS: Readonly<Record<string, () => readonly string[]>> = {
  'train svm': () => [
    ...['train', 'svm', '--examples', at('examples.svm'), '--threads', '0'],
    ...['--publish', '--range', '32', '--allow-unconverged'],
  ],
  'model load --kind linear': () => [
    ...['model', 'load', '--kind', 'linear', at('weights.txt'), '--range', '32'],
  ],
  'generate svm-model': () => svmModel('32'),
  'model import, linear': () => ['model', 'import', at('svm-model'), '--model', 'svm-model'],
}

/** State and length of the rows of each version. */
async function versionsOf(model: string): Promise<readonly (readonly [string, number])[]> {
  const { out } = await run('here', ['model', 'list', '--model', model, '--json'])
  return out.split('\n').map((line) => {
    const { state, dimension } = JSON.parse(line) as { state: string; dimension: number }
    return [state, dimension] as const
  })
}

it.each(Object.entries(FACTORS_PUBLISHERS))(
  'weir %s publishes rows of another length as a version beside the live one',
  async (_, words) => {
    const before = (await versionsOf('als-model')).length
    await done('here', words())
    const versions = await versionsOf('als-model')
    expect(versions).toHaveLength(before + 1)
    expect(versions[0]).toEqual(['live', 4])
    expect(versions.at(-1)?.[0]).toBe('candidate')
    expect(versions.at(-1)?.[1]).not.toBe(4)
  },
)

it.each(Object.entries(WEIGHTS_PUBLISHERS))(
  'weir %s publishes no blocks of another length than those of its topic',
  async (_, words) => {
    const { code, err } = await run('here', words())
    expect(err).toContain('DIMENSION_MISMATCH')
    expect(code).toBe(1)
    expect(await versionsOf('svm-model')).toEqual([['live', 16]])
  },
)
