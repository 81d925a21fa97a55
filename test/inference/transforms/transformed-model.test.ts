import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LoadedModel } from '../../../src/inference/port/runner.ts'
import type { ModelSignature } from '../../../src/inference/port/signature.ts'
import type { Tensor } from '../../../src/inference/port/tensor.ts'
import type { Transforms } from '../../../src/inference/port/transforms.ts'
import { stringsOfBytes, stringsToBytes } from '../../../src/inference/runners/byte-strings.ts'
import { withTransforms } from '../../../src/inference/transforms/open.ts'
import { smallTokenizer } from './small-tokenizer.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-transforms-'))
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(smallTokenizer()))
  await writeFile(join(folder, 'labels.txt'), 'bad\ngood\n')
})
afterAll(() => rm(folder, { recursive: true }))

const floats = (name: string, shape: readonly number[], values: readonly number[]): Tensor => ({
  name,
  datatype: 'FP32',
  shape,
  data: new Uint8Array(Float32Array.from(values).buffer),
})

const texts = (name: string, ...all: readonly string[]): Tensor => ({
  name,
  datatype: 'BYTES',
  shape: [all.length],
  data: stringsToBytes(all),
})

const numbersOf = ({ data }: Tensor): number[] => [...new Float32Array(data.slice().buffer)]
const longsOf = ({ data }: Tensor): number[] =>
  Array.from(new BigInt64Array(data.slice().buffer), Number)

const SIGNATURE: ModelSignature = {
  inputs: [
    { name: 'input_ids', datatype: 'INT64', shape: [-1, -1] },
    { name: 'bias', datatype: 'FP32', shape: [-1, 1] },
  ],
  outputs: [{ name: 'scores', datatype: 'FP32', shape: [-1, 2] }],
}

/** A model that notes the sizes of its runs: the scores of a text are its length and its sum of ids plus the bias. */
function counting(signature = SIGNATURE, most = 9): LoadedModel & { readonly runs: number[][] } {
  const runs: number[][] = []
  return {
    runs,
    signature,
    run(inputs) {
      const [ids, bias] = inputs as [Tensor, Tensor]
      const [rows, length] = ids.shape as [number, number]
      const all = longsOf(ids)
      if (all.some((id) => id > most)) return Promise.reject(new Error('indices out of bounds'))
      runs.push([rows, length])
      const more = numbersOf(bias)
      const scores = more.flatMap((one, row) => {
        const own = all.slice(row * length, (row + 1) * length)
        return [length, own.reduce((sum, id) => sum + id, one)]
      })
      return Promise.resolve([floats('scores', [rows, 2], scores)])
    },
    close: () => Promise.resolve(),
  }
}

const TEXT = { tokenizers: { text: { file: 'tokenizer.json' } } } satisfies Transforms

async function opened(transforms: Transforms, model = counting()): Promise<LoadedModel> {
  const source = { kind: 'onnx', file: join(folder, 'model.onnx') } as const
  const open = await withTransforms(model, model.signature, { transforms, source })
  model.runs.length = 0
  return open
}

const BIASES = floats('bias', [4, 1], [0, 10, 20, 30])

describe('a model with a tokenizer', () => {
  it('takes texts in the place of ids, beside its other inputs', async () => {
    const model = await opened(TEXT)
    expect(model.signature.inputs).toEqual([
      { name: 'text', datatype: 'BYTES', shape: [-1], itemAxis: 0, takes: 'text' },
      SIGNATURE.inputs[1],
    ])
    expect(model.signature.bare).toBe(SIGNATURE)
  })

  it('answers each text as if it were alone, whatever comes with it: texts of one length share a run', async () => {
    const bare = counting()
    const model = await opened(TEXT, bare)
    const given = ['good', 'bad film', 'not', 'bad film not !']
    const [together] = await model.run([texts('text', ...given), BIASES], 4)
    expect(bare.runs).toEqual([
      [2, 3],
      [1, 4],
      [1, 6],
    ])
    const apart = await Promise.all(
      given.map(async (text, i) => {
        const [scores] = await model.run([texts('text', text), floats('bias', [1, 1], [i * 10])], 1)
        return numbersOf(scores!)
      }),
    )
    expect(together!.shape).toEqual([4, 2])
    expect(numbersOf(together!)).toEqual(apart.flat())
    expect(apart[0]).toEqual([3, 2 + 4 + 3])
  })

  it('takes pairs in two inputs, and answers each pair as if it were alone', async () => {
    const transforms = {
      tokenizers: { text: { file: 'tokenizer.json', pair: 'second', maxLength: 9 } },
    }
    const bare = counting()
    const model = await opened(transforms, bare)
    expect(model.signature.inputs.map(({ name }) => name)).toEqual(['text', 'second', 'bias'])
    const given = [texts('text', 'good', 'bad film'), texts('second', 'not !', 'good')]
    const [scores] = await model.run([...given, floats('bias', [2, 1], [0, 10])], 2)
    expect(bare.runs).toEqual([[2, 6]])
    expect(numbersOf(scores!)).toEqual([6, 2 + 4 + 3 + 8 + 9 + 3, 6, 10 + 2 + 5 + 6 + 3 + 4 + 3])
    const json = await opened({ ...transforms, json: { columns: {} } })
    const object = { text: 'good', second: 'not !', bias: 1 }
    const [answer] = await json.run([texts('json', JSON.stringify(object))], 1)
    expect(stringsOfBytes(answer!.data, 'json')).toEqual(['{"scores":[6,30]}'])
  })

  it.each([
    ['bias', 'has an input of this name that takes no tokens'],
    ['text', 'two texts have this name'],
  ])('is refused where the second text is called %s', async (pair, message) => {
    const transforms = { tokenizers: { text: { file: 'tokenizer.json', pair } } }
    await expect(opened(transforms)).rejects.toThrow(message)
  })

  it('is refused where two texts of their own go into one input, and says how pairs are declared', async () => {
    const one = { file: 'tokenizer.json' }
    await expect(opened({ tokenizers: { text: one, second: one } })).rejects.toThrow(
      'or pair of one if they are pairs',
    )
  })

  it('pads the texts of a request to the longest where that is declared, and requests share no run', async () => {
    const bare = counting({
      ...SIGNATURE,
      inputs: [...SIGNATURE.inputs, { ...SIGNATURE.inputs[0]!, name: 'attention_mask' }],
    })
    const transforms = {
      tokenizers: { text: { file: 'tokenizer.json', padding: 'longest' as const } },
    }
    const model = await opened(transforms, bare)
    expect(model.signature.alone).toBe('padding of "text" is longest')
    await model.run([texts('text', 'good', 'bad film'), floats('bias', [2, 1], [0, 0])], 2)
    expect(bare.runs).toEqual([[2, 4]])
  })

  it('runs each request alone where its outputs are as long as the text', async () => {
    const free = { ...SIGNATURE, outputs: [{ ...SIGNATURE.outputs[0]!, shape: [-1, -1] }] }
    const model = await opened(TEXT, counting(free))
    expect(model.signature.alone).toBe('the output "scores" has a size of its own for each text')
  })

  it('is refused where the model does not take all ids of the vocabulary', async () => {
    await expect(opened(TEXT, counting(SIGNATURE, 8))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('has ids up to 9, which the model does not take'),
    })
  })

  it('answers no texts with no rows', async () => {
    const [scores] = await (await opened(TEXT)).run([texts('text'), floats('bias', [0, 1], [])], 0)
    expect(scores!.shape).toEqual([0, 2])
  })
})

describe('a model that takes objects', () => {
  const JSON_TEXT: Transforms = {
    ...TEXT,
    labels: { scores: { file: 'labels.txt', top: 1 } },
    json: { columns: {} },
  }

  async function answersOf(model: LoadedModel, ...objects: readonly unknown[]): Promise<unknown[]> {
    const given = texts('json', ...objects.map((one) => JSON.stringify(one)))
    const [answer] = await model.run([given], objects.length)
    return stringsOfBytes(answer!.data, 'json').map((text) => JSON.parse(text) as unknown)
  }

  it('answers each with an object of its outputs', async () => {
    const model = await opened(JSON_TEXT)
    expect(model.signature.inputs).toMatchObject([{ name: 'json', datatype: 'BYTES', shape: [-1] }])
    const objects = [
      { text: 'good', bias: 1 },
      { bias: [-100], text: 'bad film' },
    ]
    expect(await answersOf(model, ...objects)).toEqual([
      { scores_label: 'good', scores_score: 10 },
      { scores_label: 'bad', scores_score: 4 },
    ])
    expect(await answersOf(await opened({ ...TEXT, json: { columns: {} } }), objects[0])).toEqual([
      { scores: [3, 10] },
    ])
  })

  it.each([
    [{ text: 'good' }, 'object 0 has no field "bias"'],
    [{ text: 'good', bias: 1, biass: 2 }, 'did you mean "bias"?'],
    [{ text: 3, bias: 1 }, '3 is not a string'],
    [{ text: 'good', bias: [1, 2] }, '"bias" has the shape [2]; the model takes [1]'],
    [{ text: 'good', bias: 'x' }, '"x" is not a number'],
    [{ text: 'good', bias: null }, 'null is not a number'],
    [['good'], 'item 0 is no object'],
    [null, 'item 0 is no object'],
  ])('refuses %j', async (object, message) => {
    const model = await opened(JSON_TEXT)
    await expect(answersOf(model, object)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(message),
    })
  })

  it('refuses an item that is no JSON, or no UTF-8', async () => {
    const model = await opened(JSON_TEXT)
    await expect(model.run([texts('json', '{"text"')], 1)).rejects.toThrow('object 0 is no JSON')
    const data = Uint8Array.of(1, 0, 0, 0, 0xff)
    await expect(model.run([{ ...texts('json', ''), data }], 1)).rejects.toThrow('no JSON')
  })

  it('takes fields as the columns of one input, and keeps whole numbers of 64 bits', async () => {
    const signature: ModelSignature = {
      inputs: [{ name: 'x', datatype: 'INT64', shape: [-1, 2] }],
      outputs: [{ name: 'y', datatype: 'INT64', shape: [-1, 2] }],
    }
    const echo: LoadedModel = {
      signature,
      run: ([x]) => Promise.resolve([{ ...x!, name: 'y', data: x!.data.slice() }]),
      close: () => Promise.resolve(),
    }
    const source = { kind: 'onnx', file: join(folder, 'model.onnx') } as const
    const open = (columns: Readonly<Record<string, readonly string[]>>) =>
      withTransforms(echo, signature, { transforms: { json: { columns } }, source })
    const model = await open({ x: ['age', 'id'] })
    const [answer] = await model.run([texts('json', '{"id": 9007199254740993, "age": 3}')], 1)
    expect(stringsOfBytes(answer!.data, 'json')).toEqual(['{"y":[3,9007199254740993]}'])
    await expect(open({ x: ['age'] })).rejects.toThrow('columns has 1 fields')
    await expect(open({ y: ['age', 'id'] })).rejects.toThrow('no input "y"')
    await expect(open({ x: ['age', 'age'] })).rejects.toThrow('two inputs take the field "age"')
  })

  it('says of a model that mixes rows what belongs to which object, or refuses', async () => {
    const boxes: ModelSignature = {
      ...SIGNATURE,
      alone: 'NonMaxSuppression',
      outputs: [{ name: 'boxes', datatype: 'FP32', shape: [-1, 2] }],
    }
    const run = async (signature: ModelSignature, rows: number, ...objects: readonly unknown[]) => {
      const model: LoadedModel = {
        signature,
        run: () => Promise.resolve([floats('boxes', [rows, 2], Array(rows * 2).fill(0.5))]),
        close: () => Promise.resolve(),
      }
      const source = { kind: 'onnx', file: join(folder, 'model.onnx') } as const
      const transforms: Transforms = { ...TEXT, json: { columns: {} } }
      return await answersOf(
        await withTransforms(model, signature, { transforms, source }),
        ...objects,
      )
    }
    const object = { text: 'good', bias: 0 }
    const whole = { ...boxes, outputs: [{ ...boxes.outputs[0]!, itemAxis: null }] }
    await expect(run(boxes, 3, object)).rejects.toThrow('item-axes: { boxes: null }')
    expect(await run(whole, 1, object)).toEqual([{ boxes: [[0.5, 0.5]] }])
    await expect(run(whole, 3, object, object)).rejects.toThrow('a request of its own')
    expect(await run(boxes, 2, object, object)).toEqual([
      { boxes: [0.5, 0.5] },
      { boxes: [0.5, 0.5] },
    ])
  })
})
