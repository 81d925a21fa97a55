import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeFileSystem } from '../../../../src/files/node-file-system.ts'
import { LocalGateway } from '../../../../src/gateway/local.ts'
import { openInferenceEngine } from '../../../../src/inference/engine/engine.ts'
import { pushModel } from '../../../../src/inference/repository/push.ts'
import { ModelsProcess } from '../../../../src/jobs/models/process.ts'
import { smallTokenizer } from '../../../inference/transforms/small-tokenizer.ts'
import { until } from '../../../run/until.ts'
import { weir } from '../../cli/command-process.ts'
import { call, floatsOf } from './grpc-calls.ts'

/** Scores of "bad" and "good" are how often the text has them; padding counts for nothing, and a length is an output. */
const MODULE = `
const longs = (tensor) => Array.from(new BigInt64Array(tensor.data.slice().buffer), Number)
export default {
  signature: {
    batches: true,
    inputs: ['input_ids', 'attention_mask'].map((name) => ({ name, datatype: 'INT64', shape: [-1, -1] })),
    outputs: [{ name: 'scores', datatype: 'FP32', shape: [-1, 2] }],
  },
  run([ids, mask]) {
    const [rows, length] = ids.shape
    const [all, kept] = [longs(ids), longs(mask)]
    if (all.some((id) => id > 9)) throw new Error('an id is beyond the vocabulary')
    const scores = new Float32Array(rows * 2)
    all.forEach((id, i) => {
      if (kept[i] === 1 && (id === 4 || id === 5)) scores[2 * Math.floor(i / length) + (id === 4 ? 1 : 0)] += 1
    })
    return [{ name: 'scores', datatype: 'FP32', shape: [rows, 2], data: new Uint8Array(scores.buffer) }]
  },
}
`
/** Scores of a pair are its tokens with the type 0 and with the type 1, padding left out. */
const PAIRS = MODULE.replace("'attention_mask'].map", "'attention_mask', 'token_type_ids'].map")
  .replace('run([ids, mask])', 'run([ids, mask, types])')
  .replace(
    'const [all, kept] = [longs(ids), longs(mask)]',
    'const [all, kept, of] = [ids, mask, types].map(longs)',
  )
  .replace(
    /if \(kept\[i\] === 1 && .*/,
    'if (kept[i] === 1) scores[2 * Math.floor(i / length) + of[i]] += 1',
  )
const PAIR =
  'inputs: { query: { tokenizer: { file: tokenizer.json, pair: passage, truncate: only-second, max-length: 8, padding: 4 } } }'
const TOKENIZER =
  'inputs: { text: { tokenizer: { file: tokenizer.json, truncate: false, padding: 4 } } }'
const LABELS = 'outputs: { scores: { labels: { file: labels.txt, top: 1, softmax: true } } }'

let folder: string
let root: string
let models: ModelsProcess
let gateway: LocalGateway
let url: string

async function push(
  name: string,
  settings: string,
  tokenizer: object | undefined,
  code = MODULE,
): Promise<void> {
  const from = join(folder, `${name}-files`)
  await mkdir(from, { recursive: true })
  await writeFile(join(from, 'model.mjs'), code)
  await writeFile(join(from, 'labels.txt'), 'bad\ngood\n')
  if (tokenizer !== undefined) {
    await writeFile(join(from, 'tokenizer.json'), JSON.stringify(tokenizer))
  }
  await pushModel(nodeFileSystem, { root, name, file: from })
  await writeFile(join(root, name, 'deployment.yaml'), `slo-ms: 60000\n${settings}`)
}

const transforms = (...parts: readonly string[]): string =>
  `transforms:\n${parts.map((part) => `  ${part}\n`).join('')}`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-text-model-'))
  root = join(folder, 'models')
  await push('mood', transforms(TOKENIZER, LABELS), smallTokenizer())
  await push('mood-json', transforms(TOKENIZER, LABELS, 'json: true'), smallTokenizer())
  await push('pairs', transforms(PAIR), smallTokenizer(), PAIRS)
  await push('pairs-json', transforms(PAIR, 'json: true'), smallTokenizer(), PAIRS)
  models = await ModelsProcess.start({
    repository: root,
    port: 0,
    engine: openInferenceEngine(),
    scanMs: 50,
  })
  const grpc = { host: '127.0.0.1', port: 0 }
  const served = {
    state: models.state,
    host: '127.0.0.1',
    port: 0,
    repository: root,
    version: '1',
    grpc,
  }
  gateway = await LocalGateway.start({ ...served, access: models.access })
  url = `http://127.0.0.1:${gateway.port}`
}, 600_000)
afterAll(async () => {
  await gateway?.[Symbol.asyncDispose]()
  await models?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

async function asked(...words: readonly string[]) {
  const { code, stdout, stderr } = await weir(['infer', ...words, '--port', String(models.port)])
    .ended
  return { code, stdout, stderr }
}

const post = async (path: string, body: unknown) => {
  const sent = typeof body === 'string' ? body : JSON.stringify(body)
  const answer = await fetch(`${url}${path}`, { method: 'POST', body: sent })
  return { status: answer.status, body: (await answer.json()) as unknown }
}

describe('a model with a tokenizer', () => {
  it('is asked with texts, and prints labels with probabilities', async () => {
    const { code, stdout, stderr } = await asked('mood', 'Good, GOOD', 'bad film')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/scores_label {2}BYTES \[2, 1\] {2}good bad/)
    const sure = Math.exp(2) / (1 + Math.exp(2))
    const likely = Math.E / (1 + Math.E)
    const [, scores] = /scores_score {2}FP32 \[2, 1\] {2}(.*)/.exec(stdout)!
    const [first, second] = scores!.split(' ').map(Number)
    expect(first).toBeCloseTo(sure)
    expect(second).toBeCloseTo(likely)
  })

  it('shows what it takes, and that its requests share runs', async () => {
    const info = models.list().find(({ info }) => info.name === 'mood')!.info
    expect(info.problems).toEqual([])
    expect(info.inputs).toEqual([
      { name: 'text', datatype: 'BYTES', shape: [-1], itemAxis: 0, takes: 'text' },
    ])
    expect(info.batching).toContain('requests share runs')
  })

  it('answers a hundred texts of many lengths at once as one after the other', async () => {
    const texts = Array.from({ length: 100 }, (_, i) => {
      const words = ['good', 'bad', 'film', 'not']
      return Array.from({ length: i % 5 }, (_, w) => words[(i * 7 + w * 3) % 4]).join(' ')
    })
    const ask = (text: string) =>
      post('/v2/models/mood/infer', {
        inputs: [{ name: 'text', datatype: 'BYTES', shape: [1], data: [text] }],
      })
    const together = await Promise.all(texts.map(ask))
    for (const [i, text] of texts.entries()) {
      const { status, body } = await ask(text)
      const outputs = (answer: unknown) => (answer as { readonly outputs: unknown }).outputs
      expect(status).toBe(200)
      expect(outputs(together[i]!.body)).toEqual(outputs(body))
    }
  })

  it('refuses a text that is too long, and no text', async () => {
    const long = await asked('mood', 'good good good good good')
    expect(long.code).toBe(2)
    expect(long.stderr).toContain('INVALID_ARGUMENT')
    expect(long.stderr).toContain('text 0 has 7 tokens, and the model takes 6')
    const none = await post('/v2/models/mood/infer', {
      inputs: [{ name: 'text', datatype: 'BYTES', shape: [1], data: [7] }],
    })
    expect(none.status).toBe(400)
  })

  it.each([
    ['missing', undefined, 'tokenizer.json'],
    ['other', smallTokenizer({ normalizer: { type: 'Nmt' } }), 'normalizer Nmt'],
    [
      'larger',
      smallTokenizer({ added_tokens: [{ id: 12, content: '[NEW]', special: true }] }),
      'ids up to 12, which the model does not take',
    ],
  ])('is not served with a tokenizer that is %s', async (name, tokenizer, problem) => {
    await push(`mood-${name}`, transforms(TOKENIZER), tokenizer)
    await until(`the problem of mood-${name} is reported`, () => {
      const found = models.list().find(({ info }) => info.name === `mood-${name}`)
      return found?.info.problems.some((one) => one.includes(problem)) === true
    })
  })

  it('does not go live where its texts are answered in another way than golden.json says', async () => {
    const golden = (label: string) => [
      {
        inputs: [{ name: 'text', datatype: 'BYTES', shape: [1], data: ['good'] }],
        outputs: [
          { name: 'scores_label', datatype: 'BYTES', shape: [1, 1], data: [label] },
          { name: 'scores_score', datatype: 'FP32', shape: [1, 1], data: [Math.E / (1 + Math.E)] },
        ],
      },
    ]
    for (const label of ['good', 'bad']) {
      const name = `golden-${label}`
      await mkdir(join(root, name), { recursive: true })
      await writeFile(join(root, name, 'golden.json'), JSON.stringify(golden(label)))
      await push(name, transforms(TOKENIZER, LABELS), smallTokenizer())
    }
    const info = (name: string) => models.list().find((one) => one.info.name === name)?.info
    await until('the right one is live, and the other one refused', () => {
      const isRefused = info('golden-bad')?.problems.some((one) => one.includes('golden case 0'))
      return info('golden-good')?.liveVersion === 1 && isRefused === true
    })
    expect(info('golden-bad')!.liveVersion).toBe(0)
  })
})

describe('a model that takes pairs of texts', () => {
  // "good film" and "bad": three tokens and [CLS], [SEP], [SEP]; the other one is cut to 8.
  const queries = ['Good film', 'not']
  const passages = ['bad', 'good bad film not ! good']
  const SCORES = [4, 2, 3, 5]

  it('is asked over HTTP with two inputs', async () => {
    const inputs = Object.entries({ query: queries, passage: passages }).map(([name, data]) => ({
      name,
      datatype: 'BYTES',
      shape: [2],
      data,
    }))
    const { status, body } = await post('/v2/models/pairs/infer', { inputs })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { outputs: [{ name: 'scores', shape: [2, 2], data: SCORES }] },
    })
    const one = await post('/v2/models/pairs/infer', { inputs: inputs.slice(0, 1) })
    expect(one).toMatchObject({ status: 400, body: { code: 'INVALID_ARGUMENT' } })
    expect(JSON.stringify(one.body)).toContain('passage')
    const fewer = { ...inputs[1]!, shape: [1], data: ['bad'] }
    const uneven = await post('/v2/models/pairs/infer', { inputs: [inputs[0], fewer] })
    expect(uneven.status).toBe(400)
  })

  it('is asked with objects, over gRPC and from the command line', async () => {
    const objects = queries.map((query, i) => ({ query, passage: passages[i] }))
    expect((await post('/v2/models/pairs-json/json', objects)).body).toEqual([
      { scores: [4, 2] },
      { scores: [3, 5] },
    ])
    const reply = await call(gateway, 'ModelInfer', {
      model_name: 'pairs',
      inputs: Object.entries({ query: queries, passage: passages }).map(([name, texts]) => ({
        name,
        datatype: 'BYTES',
        shape: [2],
        contents: { bytes_contents: texts.map((text) => Buffer.from(text)) },
      })),
    })
    expect(floatsOf(reply.raw_output_contents[0]!)).toEqual(SCORES)
    const { code, stdout, stderr } = await asked('pairs', 'Good film', 'bad', 'not', passages[1]!)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/scores {2}FP32 \[2, 2\] {2}4 2 3 5/)
    const odd = await asked('pairs', 'Good film', 'bad', 'not')
    expect(odd.code).toBe(1)
    expect(odd.stderr).toContain(
      'takes 2 texts for each item (query and passage), and 3 were given',
    )
  })

  it('refuses a pair that cannot be cut so far', async () => {
    const { code, stderr } = await asked('pairs', 'good bad film not ! good', 'bad')
    expect(code).toBe(2)
    expect(stderr).toContain('pair 0 has 10 tokens, and the model takes 8')
    expect(stderr).toContain('set truncate: longest-first')
  })

  it('is not served where the model does not take the types of the second text', async () => {
    const refusing = PAIRS.replace(
      'const scores',
      "if (of.includes(1)) throw new Error('a type is beyond the table')\n    const scores",
    )
    await push('pairs-types', transforms(PAIR), smallTokenizer(), refusing)
    await until('the problem is reported', () => {
      const found = models.list().find(({ info }) => info.name === 'pairs-types')
      return found?.info.problems.some((one) => one.includes('and types up to 1')) === true
    })
  })
})

describe('a model that takes objects', () => {
  it('answers an object with an object, and a list with a list', async () => {
    const one = await post('/v2/models/mood-json/json', { text: 'good' })
    expect(one).toEqual({
      status: 200,
      body: { scores_label: 'good', scores_score: expect.closeTo(Math.E / (1 + Math.E)) },
    })
    const two = await post('/v2/models/mood-json/json', [{ text: 'bad' }, { text: 'good good' }])
    expect(two.body).toMatchObject([{ scores_label: 'bad' }, { scores_label: 'good' }])
    expect(await post('/v2/models/mood-json/json', [])).toEqual({ status: 200, body: [] })
  })

  it('is asked from the command line, too', async () => {
    const { code, stdout } = await asked('mood-json', '{"text": "bad film"}')
    expect(code).toBe(0)
    expect(stdout).toContain('{"scores_label":"bad"')
  })

  it.each([
    ['mood-json', { txt: 'good' }, 400, 'did you mean \\"text\\"?'],
    ['mood-json', {}, 400, 'has no field \\"text\\"'],
    ['mood-json', '"good"', 400, 'no object of JSON'],
    ['mood-json', '{"text": ', 400, 'no JSON'],
    ['mood', { text: 'good' }, 400, 'takes no objects'],
    ['nobody', { text: 'good' }, 404, 'no model is named'],
  ])('of %s and the body %j says what is wrong', async (model, body, status, message) => {
    const answer = await post(`/v2/models/${model}/json`, body)
    expect(answer.status).toBe(status)
    expect(JSON.stringify(answer.body)).toContain(message)
  })
})
