import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { formatRating } from '../../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../../src/models/ratings/generator.ts'
import { campaignSize } from '../../../run/campaign-size.ts'
import { needs } from '../../../run/needs.ts'
import { pythonWith } from '../../../services/python-packages.ts'
import { type CommandResult, weir } from '../../cli/command-process.ts'

const python = await pythonWith('pyspark==4.3.0', 'numpy==2.4.6')

/** Compiling costs a short run of Spark more than it gains: with these settings it takes half the processor time. */
const SETTINGS = `spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.sql.shuffle.partitions 2
spark.sql.adaptive.enabled false
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
`
const ON_SPARK = ['--engine', 'spark', '--master', 'local[2]']

let folder: string
let env: Record<string, string>

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-spark-'))
  mkdirSync(join(folder, 'conf'))
  writeFileSync(join(folder, 'conf/spark-defaults.conf'), SETTINGS)
  const path = `${dirname(python ?? '')}${delimiter}${process.env['PATH']}`
  env = { PATH: path, SPARK_CONF_DIR: join(folder, 'conf'), SPARK_HOME: '' }
  const lines = [...generateRatings({ users: 300, items: 120, ratings: 9000 })].map((rating) =>
    formatRating(rating, 'tab'),
  )
  writeFileSync(at('train.data'), lines.slice(0, 8000).join('\n'))
  writeFileSync(at('test.data'), lines.slice(8000).join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const at = (name: string): string => join(folder, name)

/** The result of a training, as `--json` prints it. */
async function train(words: readonly string[]): Promise<Record<string, number>> {
  const args = ['train', ...words, '--json', '--data-dir', at('data')]
  const result: CommandResult = await weir(args, { env }).ended
  expect(result.code, result.stderr).toBe(0)
  return JSON.parse(result.stdout) as Record<string, number>
}

describe(
  'weir train --engine spark, with PySpark from PyPI',
  needs(python, 'pyspark cannot be installed here'),
  () => {
    it('trains factors with the error of a training in this process at equal settings', async () => {
      const words = ['als', '--ratings', at('train.data'), '--test', at('test.data'), '--no-biases']
      const settings = ['--factors', '5', '--iterations', '8']
      const here = await train([...words, ...settings, '--no-publish'])
      const spark = await train([...words, ...settings, ...ON_SPARK])
      const { users, items, ratings } = here
      expect(spark).toMatchObject({ users, items, ratings, dimension: 5, version: 1 })
      expect(Math.abs(spark['rmse']! - here['rmse']!)).toBeLessThan(0.003)
      // Both start at random: what they fit of the training differs more.
      expect(Math.abs(spark['trainRmse']! - here['trainRmse']!)).toBeLessThan(0.02)
    }, 600_000)

    // A run of Spark takes half a minute of a processor: the default run has one.
    if (campaignSize(false, true)) {
      it('trains weights with the objective of a training in this process', async () => {
        writeFileSync(at('examples.svm'), [...examples(1200)].join('\n'))
        const words = ['logistic', '--examples', at('examples.svm'), '--l1', '1', '--cost', '0.5']
        const weights = async (
          file: string,
          more: readonly string[],
        ): Promise<Map<string, number>> => {
          await train([...words, '--weights', at(file), ...more])
          const lines = readFileSync(at(file), 'utf8').trim().split('\n')
          return new Map(lines.map((line) => [line.split(',')[0]!, Number(line.split(',')[1])]))
        }
        const here = await weights('here.txt', [])
        const spark = await weights('spark.txt', ON_SPARK)
        expect([...spark.keys()].toSorted()).toEqual([...here.keys()].toSorted())
        // MLlib does not penalise the intercept, and stops at another tolerance.
        for (const [feature, weight] of here)
          expect(spark.get(feature), feature).toBeCloseTo(weight, 1)
      }, 600_000)
    }
  },
)

/** Lines of LIBSVM text of two features that decide the label and one that does not. */
function* examples(count: number): Generator<string> {
  for (let n = 0; n < count; n++) {
    const [x, y, z] = [Math.sin(n * 1.3), Math.cos(n * 2.1), Math.sin(n * 0.7)]
    const label = 2 * x - y + Math.sin(n * 12.9898) > 0.2 ? '+1' : '-1'
    yield `${label} 1:${x.toFixed(3)} 2:${y.toFixed(3)} 3:${z.toFixed(3)}`
  }
}
