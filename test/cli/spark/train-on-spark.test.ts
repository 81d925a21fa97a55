import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { temporaryFolder } from '../../connectors/log/fixture.ts'
import { recordedIo } from '../recorded-io.ts'
import { fakeSpark } from './fake-spark.ts'

const TRAINED = join(import.meta.dirname, 'trained')
const SVC = join(import.meta.dirname, '../../models/spark/folders/svc')
const ON_SPARK = ['--engine', 'spark', '--master', 'local[2]']
/** Writes its task beside the ratings, and the files of a training that Spark has done. */
const COPIES = `fs.writeFileSync(process.env.TASK_FILE, JSON.stringify({ words, task }))
console.log('weir stage training')
fs.cpSync(${JSON.stringify(TRAINED)}, out, { recursive: true })`

let folder: string
let ratings: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-spark-'))
  ratings = join(folder, 'u.data')
  const lines = [...generateRatings({ users: 300, items: 120, ratings: 9000 })]
  writeFileSync(ratings, lines.map((rating) => formatRating(rating, 'tab')).join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function train(
  words: readonly string[],
  { env = {}, data = temporaryFolder() }: { env?: Record<string, string>; data?: string } = {},
) {
  const taskFile = join(data, 'task.json')
  const { io, out, err } = recordedIo({ env: { ...env, TASK_FILE: taskFile } })
  const code = await runCommandLine(['train', ...words, '--data-dir', data], io)
  const sent = (): { words: string[]; task: Record<string, unknown> } =>
    JSON.parse(readFileSync(taskFile, 'utf8'))
  return { code, out: out.join('\n'), err: err.join('\n'), data, sent }
}

it('weir train als --engine spark publishes the rows that Spark trained, with what it says of the ratings', async () => {
  const words = ['als', '--ratings', ratings, '--test', ratings, ...ON_SPARK, '--no-biases']
  const own = ['--factors', '5', '--iterations', '5', '--json']
  const { code, out, err, data, sent } = await train([...words, ...own], { env: fakeSpark(COPIES) })
  expect(code, err).toBe(0)
  const result = JSON.parse(out) as Record<string, number>
  expect(result).toMatchObject({
    ...{ users: 297, items: 120, dimension: 5, ratings: 9000, engine: 'spark' },
    ...{ topic: 'als-model', version: 1 },
  })
  // Spark measured 0.6956 without clipping, so its rows have about the same error here.
  expect(result['trainRmse']).toBeCloseTo(0.6955892, 6)
  expect(result['rmse']).toBeLessThan(0.6956)
  expect(result['rmse']).toBeGreaterThan(0.68)
  expect(err).toMatch(/^Spark \(local\[2\]\): training$/m)
  expect(sent().words.slice(0, 2)).toEqual(['--master', 'local[2]'])
  expect(sent().task).toMatchObject({
    ...{ kind: 'als', ratings: `file://${ratings}`, format: 'text', separator: '\t' },
    ...{ header: false, columns: { user: 0, item: 1, rating: 2 }, countBadLines: false },
    ...{ factors: 5, iterations: 5, regularization: 0.12, implicit: false },
  })
  const { io, out: shown } = recordedIo()
  await runCommandLine(['model', 'show', '1', '--data-dir', data, '--json'], io)
  expect(JSON.parse(shown[0]!)).toMatchObject({
    lineage: {
      hyperparameters: { factors: 5, biases: false, penalty: 'n', engine: 'spark' },
      metrics: { observations: 9000, unparsable: 0, smallestRating: 1, largestRating: 5 },
    },
  })
  expect(readdirSync(join(data, 'training')), 'what Spark wrote is deleted').toEqual([])
})

it('Spark gets the separator, the header and the columns that a training in this process would read', async () => {
  const csv = join(folder, 'ratings.csv')
  writeFileSync(csv, 'when,movieId,userId,rating\n1,10,7,3.5\n')
  const parquet = join(import.meta.dirname, '../files/parquet/types/of-spark.parquet')
  const options = { env: fakeSpark(COPIES) }
  const words = (file: string): string[] => [
    ...['als', '--ratings', file, ...ON_SPARK, '--no-biases', '--no-publish'],
  ]
  expect((await train(words(csv), options)).sent().task).toMatchObject({
    ...{ format: 'text', separator: ',', header: true, columns: { user: 2, item: 1, rating: 3 } },
  })
  const read = await train(words(parquet), options)
  expect(read.sent().task, read.err).toMatchObject({ format: 'parquet', header: true })
})

it('weir train svm --engine spark publishes weights with ids as in the text', async () => {
  const examples = join(folder, 'examples.svm')
  writeFileSync(examples, '+1 1:1 3:2\n-1 2:1\n')
  const body = `fs.cpSync(${JSON.stringify(SVC)}, out + '/model', { recursive: true })
fs.mkdirSync(out + '/facts')
fs.writeFileSync(out + '/facts/part-0', JSON.stringify({ examples: 2, features: 6, iterations: 9,
  objective: 0.5, cost: 1, positiveLabel: 1, negativeLabel: -1 }) + '\\n')`
  const weights = join(folder, 'weights.txt')
  const words = ['svm', '--examples', examples, ...ON_SPARK, '--publish', '--weights', weights]
  const { code, out, err } = await train(words, { env: fakeSpark(body) })
  expect(code, err).toBe(0)
  expect(out).toMatch(/^2 examples, 7 features in .* on Spark\nobjective 0\.5000 .* 9 iterations/)
  expect(out).toMatch(/published as version 1 to topic svm-model/)
  const lines = readFileSync(weights, 'utf8').split('\n')
  expect(lines.slice(0, 3)).toEqual([
    ...['bias,0.3067560045886348', '1,0.6932480184099581', '2,-0.6932480184099581'],
  ])
})

it.each([
  ['process.exit(1)', 'CONNECTOR_FAILED: Spark (--master local[2]) ended with status 1'],
  [
    "console.error('JAVA_HOME is not set'); process.exit(1)",
    'Spark finds no Java: install Java 17',
  ],
  [
    `console.error("ModuleNotFoundError: No module named 'numpy'"); process.exit(1)`,
    'the Python of Spark has no numpy: run `pip install numpy`',
  ],
  [
    "console.error('weir: 3 of 9 lines of F have no user'); process.exit(3)",
    'MALFORMED_DATA: 3 of 9 lines of F have no user',
  ],
])('a Spark that ends with %s is an error that says what to do', async (body, message) => {
  const words = ['als', '--ratings', ratings, ...ON_SPARK, '--no-biases']
  const { code, err } = await train(words, { env: fakeSpark(body) })
  expect(code).toBe(1)
  expect(err).toContain(message)
})

it('without Spark the command that installs it is named', async () => {
  const words = ['als', '--ratings', ratings, ...ON_SPARK, '--no-biases']
  const { code, err } = await train(words, { env: { PATH: temporaryFolder() } })
  expect(code).toBe(1)
  expect(err).toMatch(
    /UNSUPPORTED: --engine spark needs Spark.*pip install pyspark numpy.*SPARK_HOME/,
  )
})

it.each([
  [['als'], ['--engine', 'spark'], /needs --master/],
  [['als'], ON_SPARK, /has no biases: give --no-biases, or --implicit/],
  [['als'], [...ON_SPARK, '--no-biases', '--penalty', 'constant'], /has --penalty n only/],
  [['als'], [...ON_SPARK, '--no-biases', '--threads', '4'], /--threads/],
  [
    ['als'],
    [...ON_SPARK, '--implicit', '--test', import.meta.filename],
    /needs all rows in memory/,
  ],
  [['als'], ['--master', 'yarn'], /--master needs --engine spark/],
  [['als'], ['--no-biases', '--engine', 'spark', '--master', 'yarn'], /needs --spark-folder/],
  [['svm'], [...ON_SPARK, '--loss', 'squared-hinge'], /the loss hinge only/],
  [['svm'], [...ON_SPARK, '--l1', '2'], /has no --l1/],
  [['logistic'], [...ON_SPARK, '--scale', 'max'], /--scale none or deviation/],
])('weir train %s %j is refused before any work', async (verb, words, message) => {
  const input = verb[0] === 'als' ? '--ratings' : '--examples'
  const { code, err } = await train([...verb, input, ratings, ...words])
  expect(code).not.toBe(0)
  expect(err).toMatch(message)
})
