import { seededRandom } from '../../src/core/random.ts'
import { jsonLines } from '../system/cli/command-process.ts'
import type { Installation } from './installation.ts'
import type { Asked, ComparedPrediction, DeltaOrigin, Face, Kind } from './kind.ts'
import { LearnedWeights } from './plain/learned-weights.ts'
import { publicationOf } from './plain/publication.ts'
import type { Rows } from './service.ts'

const FEATURES = 120
const NON_ZEROS = 12
const BASE = 4000
const STREAM = 3000
const GOLDEN = 1500
/** Share of examples with a wrong label. */
const NOISE = 0.05
const RANGE = 1024
/** The feature of the intercept. */
const CONSTANT = 2 ** 32 - 1
/** The first of the features that no training knows: each has a step in the example that has it. */
const FIRST_UNKNOWN = 200

/** What kinds of linear models differ in. */
export interface LinearOptions {
  readonly name: string
  /** Publishes the first version. */
  readonly publish: (at: Installation) => Promise<void>
  /** @default hinge */
  readonly loss?: 'hinge' | 'logistic'
}

interface Example {
  readonly label: number
  readonly ids: readonly number[]
  readonly values: readonly number[]
}

/** Examples whose label is the side of a plane, in LIBSVM's format. */
function lines(): readonly string[] {
  const random = seededRandom(6)
  const plane = Array.from({ length: FEATURES }, () => random.normal())
  const one = (): string => {
    const chosen = new Set<number>()
    while (chosen.size < NON_ZEROS) chosen.add(random.below(FEATURES))
    const features = [...chosen]
      .sort((a, b) => a - b)
      .map((id) => [id, 1 + random.below(3)] as const)
    const side = features.reduce((sum, [id, value]) => sum + plane[id]! * value, 0.5) > 0
    const label = random.next() < NOISE ? !side : side
    return `${label ? '+1' : '-1'} ${features.map((pair) => pair.join(':')).join(' ')}`
  }
  return Array.from({ length: BASE + STREAM + GOLDEN }, one)
}

function exampleOf(line: string): Example {
  const [label, ...features] = line.split(' ')
  const pairs = features.map((feature) => feature.split(':').map(Number) as [number, number])
  return { label: Number(label), ids: pairs.map(([id]) => id), values: pairs.map(([, x]) => x) }
}

function weightOf(rows: Rows, feature: number): number {
  return rows.get(String(Math.floor(feature / RANGE)))?.[feature % RANGE] ?? 0
}

/** The decision value of an example, summed up feature by feature. */
function decisionOf(rows: Rows, { ids, values }: Example): number {
  return ids.reduce((sum, id, n) => sum + weightOf(rows, id) * values[n]!, weightOf(rows, CONSTANT))
}

/** A kind of linear models. */
export function linearKind({ name, publish, loss = 'hinge' }: LinearOptions): Kind {
  const all = lines()
  const golden = all.slice(BASE + STREAM)
  const examples = golden.map(exampleOf)
  let unknown = FIRST_UNKNOWN
  return {
    name,
    model: 'svm-model',
    observations: 'examples',
    state: 'SVM_MODEL',
    base: all.slice(0, BASE),
    stream: all.slice(BASE, BASE + STREAM),
    golden,
    keys: ['0', String(Math.floor(CONSTANT / RANGE))],
    serve: ['run', 'svm-serving'],
    learn: ['learn', 'svm', ...(loss === 'hinge' ? [] : ['--loss', loss])],
    stepsAlways: loss === 'logistic',
    publish,
    // An example of an unknown feature alone has a step under every loss: it is the last one, which tests wait for.
    sent: (given) => [...given.slice(0, -1), `+1 ${unknown++}:1`],
    losses: (rows) =>
      examples.map((example) => (decisionOf(rows, example) > 0 === example.label > 0 ? 0 : 1)),
    async recomputed(at, version, from) {
      const publication = await publicationOf(at, 'svm-model', version)
      const topics = { model: 'svm-model', observations: 'examples' }
      return new LearnedWeights({ ...topics, publication, range: RANGE, from })
    },
    async evaluated(at, { toAsk }) {
      const flags = ['--examples', at.file('golden'), '--json', ...toAsk]
      return 1 - JSON.parse(await at.run('evaluate', 'svm', ...flags)).accuracy.mean
    },
    predictions: (face, asked) => FACES[face](asked, examples),
    exportKey: (key) => `${key}-W`,
    originOf: ({ value }): DeltaOrigin => ({
      version: value.readUInt32LE(4),
      partition: value.readUInt32LE(8),
      offset: value.readDoubleLE(12),
    }),
  }
}

/** Whether an example surely has a step under hinge loss: its margin is below 1 with rows from before and after. */
export function surelySteps(line: string, versions: readonly Rows[]): boolean {
  const example = exampleOf(line)
  return versions.every((rows) => decisionOf(rows, example) * example.label < 0.5)
}

type Ask = (asked: Asked, examples: readonly Example[]) => Promise<readonly ComparedPrediction[]>

const compared = (rows: Rows, example: Example, n: number, answer: number): ComparedPrediction => ({
  what: `example ${n}`,
  answer,
  own: decisionOf(rows, example),
})

const FACES: Readonly<Record<Face, Ask>> = {
  async client({ service: { client }, rows }, examples) {
    return await Promise.all(
      examples.slice(0, 400).map(async (example, n) => {
        const features = {
          ids: Uint32Array.from(example.ids),
          values: Float32Array.from(example.values),
        }
        const { decision } = await client.predictLinear('SVM_MODEL', features)
        return compared(rows, example, n, decision)
      }),
    )
  },
  async command({ at, service, rows }, examples) {
    const flags = ['--examples', at.file('golden'), '--json', ...service.toAsk]
    const answers = jsonLines(await at.run('classify', ...flags))
    return examples.map((example, n) =>
      compared(rows, example, n, Number(answers[n]?.['decision'] ?? Number.NaN)),
    )
  },
  async gateway({ gateway, rows }, examples) {
    const asked = examples.slice(0, 40)
    const answers = asked.map(async ({ ids, values }, n) => {
      const inputs = [
        { name: 'index', datatype: 'INT64', shape: [ids.length], data: ids },
        { name: 'value', datatype: 'FP32', shape: [ids.length], data: values },
      ]
      const answer = await gateway!('/v2/models/SVM_MODEL/infer', { inputs })
      const { outputs } = answer as { outputs: { name: string; data: number[] }[] }
      const decision = outputs.find(({ name }) => name === 'decision')!.data[0]!
      return compared(rows, asked[n]!, n, decision)
    })
    return await Promise.all(answers)
  },
}
