import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/core/random.ts'
import { configOf } from '../../../../src/gateway/inference/descriptions.ts'
import { TensorModel } from '../../../../src/gateway/inference/tensor-model.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { ALONE_KINDS } from '../../../inference/onnx/alone-kinds.ts'
import { BATCHED_KINDS } from '../../../inference/onnx/batched-kinds.ts'
import { randomFloats } from '../../../inference/onnx/graphs.ts'
import { floats, floatsOf } from '../models.ts'

/* Models whose rows depend on one another, and one whose rows do not, in a process that serves them. */

/** A module of rows of two numbers; the function has all numbers of a run. */
const module = (run: string, more = ''): string => `
const spec = (name) => ({ name, datatype: 'FP32', shape: [-1, 2] })
const of = (numbers) => ({
  name: 'y', datatype: 'FP32', shape: [numbers.length / 2, 2],
  data: new Uint8Array(Float32Array.from(numbers).buffer),
})
const run = ${run}
export default {
  signature: { inputs: [spec('x')], outputs: [spec('y')], ${more} },
  run: ([x]) => [of(run([...new Float32Array(x.data.slice().buffer)]))],
}
`
const CENTRED = '(all) => all.map((one) => one - all.reduce((a, b) => a + b) / all.length)'
const WAITING = 'batching: { rule: window, delay-ms: 200 }\nslo-ms: 60000\n'

let folder: string
let models: ModelsProcess

function write(name: string, file: string, content: string | Uint8Array, settings = WAITING): void {
  mkdirSync(join(folder, name, '1'), { recursive: true })
  writeFileSync(join(folder, name, '1', file), content)
  writeFileSync(join(folder, name, 'deployment.yaml'), settings)
}

const graphOf = (name: string): Uint8Array =>
  (BATCHED_KINDS[name] ?? ALONE_KINDS[name]!).make(seededRandom(1)).bytes

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-rows-'))
  write('linear', 'model.onnx', graphOf('linear layer'), `${WAITING}max-batch: 8\n`)
  write('ranker', 'model.onnx', graphOf('listwise ranker'), `${WAITING}cache: 1 MiB\n`)
  write('bounded', 'model.onnx', graphOf('listwise ranker'), `${WAITING}max-batch: 2\n`)
  write('detector', 'model.onnx', graphOf('detector of a batch'))
  write('later', 'model.onnx', graphOf('LSTM over [seq, batch, n]'))
  write('silent', 'model.mjs', module('(all) => all.map((one) => one * 2)'))
  write('honest', 'model.mjs', module('(all) => all.map((one) => one * 2)', 'batches: true'))
  write('lying', 'model.mjs', module(CENTRED), `${WAITING}batches: true\ncache: 1 MiB\n`)
  models = await ModelsProcess.start({ repository: folder, port: 0, engine: openInferenceEngine() })
})

afterAll(async () => {
  await models[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Columns of the graphs of the seed above. */
const WIDTH = 6
const width = { linear: WIDTH, ranker: WIDTH, bounded: WIDTH } as const
const ask = async (model: string, rows: number, seed = 1) => {
  const columns = width[model as keyof typeof width] ?? (model === 'detector' ? 8 : 2)
  const input = randomFloats(seededRandom(seed), 'x', rows, columns)
  const { outputs } = await models.state.inferRaw(model, { inputs: [input], outputs: [] })
  return { input: floatsOf(input), output: outputs[0]!, numbers: floatsOf(outputs[0]!) }
}
const batchingOf = async (model: string) => (await models.state.signature(model)).batching
const runsOf = async (model: string) => (await models.state.signature(model)).statistics['batches']

/** The numbers of each column minus their mean over the rows, by plain sums. */
function centred(numbers: readonly number[], columns: number): number[] {
  const rows = numbers.length / columns
  return numbers.map((one, i) => {
    let sum = 0
    for (let row = 0; row < rows; row++) sum += numbers[row * columns + (i % columns)]!
    return one - sum / rows
  })
}

const expectNear = (actual: readonly number[], wanted: readonly number[]): void => {
  expect(actual).toHaveLength(wanted.length)
  actual.forEach((one, i) => {
    expect(one).toBeCloseTo(wanted[i]!, 4)
  })
}

describe('the status of a model', () => {
  it('says along which axes requests share runs, or why each runs alone', async () => {
    expect(await batchingOf('linear')).toBe(
      'requests share runs of up to 8 items along axis 0 of x',
    )
    expect(await batchingOf('later')).toBe(
      'requests share runs of up to 64 items along axis 1 of x',
    )
    expect(await batchingOf('honest')).toBe(
      'requests share runs of up to 64 items along axis 0 of x',
    )
    expect(await batchingOf('ranker')).toBe('not batched: ReduceMean over axis 0')
    expect(await batchingOf('silent')).toBe(
      'not batched: nothing says that its rows are independent; if they are, write "batches: true" into its settings',
    )
  })

  it('says that a probe has found what the settings deny', async () => {
    expect(await batchingOf('lying')).toBe(
      'not batched: outputs of requests that run together differ ("y")',
    )
  })

  it('is in the configuration over HTTP, with the largest batch where it is along the first axes', async () => {
    const configured = async (name: string) => {
      const info = await models.state.signature(name)
      const model = new TensorModel(models.state, info)
      return configOf({ info: { name } as never, model, versions: [], problems: [] })
    }
    expect(await configured('linear')).toMatchObject({
      max_batch_size: 8,
      input: [{ dims: [WIDTH] }],
      parameters: { batching: { string_value: expect.stringContaining('up to 8 items') } },
    })
    expect(await configured('later')).toMatchObject({
      max_batch_size: 0,
      input: [{ dims: [-1, -1, 4] }],
    })
    expect(await configured('ranker')).toMatchObject({
      max_batch_size: 0,
      input: [{ dims: [-1, WIDTH] }],
      parameters: { batching: { string_value: 'not batched: ReduceMean over axis 0' } },
    })
  })
})

describe('many requests at once', () => {
  it('get their own rows from a model whose rows depend on one another, and the cache keeps no other', async () => {
    const asked = Array.from({ length: 60 }, (_, seed) => ask('ranker', 1 + (seed % 5), seed))
    const together = await Promise.all(asked)
    for (const { input, numbers } of together) expectNear(numbers, centred(input, WIDTH))
    for (const [seed, { numbers }] of together.entries()) {
      expect((await ask('ranker', 1 + (seed % 5), seed)).numbers).toEqual(numbers)
    }
  })

  it('get their own rows from a module that says the wrong thing of its rows', async () => {
    const asked = Array.from({ length: 40 }, (_, seed) => ask('lying', 2, seed))
    for (const { input, numbers } of await Promise.all(asked))
      expectNear(numbers, centred(input, 1))
  })

  it('share runs where rows are independent', async () => {
    const before = (await runsOf('honest'))!
    await Promise.all(Array.from({ length: 40 }, (_, seed) => ask('honest', 1, seed)))
    await expect.poll(() => runsOf('honest')).toBeLessThan(before + 40)
  })

  it('get as many boxes as there are in their own pictures (triton#8107)', async () => {
    const asked = Array.from({ length: 60 }, (_, seed) => ask('detector', 1 + (seed % 3), seed))
    for (const { input, output } of await Promise.all(asked)) {
      expect(output.shape).toEqual([input.filter((one) => one > 0).length, 2])
    }
  })
})

describe('a request of more items than max-batch', () => {
  it('is split where rows are independent, and no run has more', async () => {
    const { input, output, numbers } = await ask('linear', 21)
    expect(output.shape).toEqual([21, 3])
    for (let row = 0; row < 21; row++) {
      const x = floats('x', [1, WIDTH], input.slice(row * WIDTH, (row + 1) * WIDTH))
      const alone = await models.state.inferRaw('linear', { inputs: [x], outputs: [] })
      expectNear(numbers.slice(row * 3, row * 3 + 3), floatsOf(alone.outputs[0]!))
    }
    const { statistics } = await models.state.signature('linear')
    const larger = Object.entries(statistics).filter(
      ([name, count]) => Number(/^batchItems\.bucket\.(.*)$/.exec(name)?.[1]) > 8 && count > 0,
    )
    expect(larger).toEqual([])
  })

  it('is refused before it is computed where they are not, in those words', async () => {
    const before = await runsOf('bounded')
    await expect(ask('bounded', 3)).rejects.toMatchObject({
      code: 'SIGNATURE_MISMATCH',
      message:
        'the request has 3 items, max-batch is 2, and it cannot be split (ReduceMean over axis 0); send at most 2, or raise max-batch',
    })
    expect(await runsOf('bounded')).toBe(before)
    expect((await ask('bounded', 2)).output.shape).toEqual([2, WIDTH])
  })

  it('has no limit but its bytes where nobody has set one', async () => {
    const { input, numbers } = await ask('ranker', 5000)
    expectNear(numbers, centred(input, WIDTH))
  })
})

it('a request without items gets outputs without rows', async () => {
  expect((await ask('linear', 0)).output.shape).toEqual([0, 3])
  expect((await ask('honest', 0)).output.shape).toEqual([0, 2])
})
