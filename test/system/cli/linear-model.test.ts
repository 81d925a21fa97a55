import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LogTopics } from '../../../src/connectors/topics/log-topics.ts'
import { scanTopic } from '../../../src/connectors/topics/scan.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { decodeLinearDelta } from '../../../src/models/linear/delta.ts'
import { deltasTopic } from '../../../src/models/topic/topics.ts'
import { inProcess } from '../../cli/command-here.ts'
import { type CommandProcess, type CommandResult, jsonLines, weir } from './command-process.ts'

const MODEL = 'svm-model'
const random = seededRandom(3)
let folder: string
let data: string
let golden: string
let learning: CommandProcess
let port: string

/** Lines with the labels 1 and 2: feature 1 speaks for 2, feature 3 against it. */
function lines(count: number): string {
  const one = (): string => {
    const [x, y, z] = [random.normal(), random.normal(), random.normal()]
    const label = random.next() < 1 / (1 + Math.exp(-3 * x + 3 * z)) ? 2 : 1
    return `${label} 1:${x.toFixed(3)} 2:${y.toFixed(3)} 3:${z.toFixed(3)}`
  }
  return `${Array.from({ length: count }, one).join('\n')}\n`
}

async function run(...args: string[]): Promise<CommandResult> {
  const result = await inProcess([...args, '--data-dir', data])
  if (result.code !== 0) throw new Error(`weir ${args.join(' ')}: ${result.stderr}`)
  return result
}

async function produce(text: string): Promise<void> {
  const produced = await inProcess(['topic', 'produce', 'examples', '--data-dir', data], text)
  expect(produced).toMatchObject({ code: 0 })
}

const ask = (...args: string[]): Promise<CommandResult> => run(...args, '--port', port)

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-linear-'))
  data = join(folder, 'data')
  golden = join(folder, 'golden.svm')
  const first = join(folder, 'first.svm')
  writeFileSync(golden, lines(1000))
  writeFileSync(first, lines(200))
  await run('train', 'logistic', '--examples', first, '--cost', '0.1', '--range', '32', '--publish')
  await run('topic', 'create', 'examples', '--partitions', '2')
  const args = ['--loss', 'logistic', '--positive', '2', '--port', '0', '--json']
  learning = weir(['learn', 'svm', '--data-dir', data, ...args])
  port = (await learning.printed(/"started","port":(\d+)/))[1]!
  await learning.printed(/"event":"learning","version":1/)
})

afterAll(async () => {
  learning?.signal('SIGINT')
  await learning?.ended
  rmSync(folder, { recursive: true, force: true })
})

describe('a linear model from its training to a rollback', () => {
  it('predicts the labels that it was trained on', async () => {
    const { stdout } = await ask('classify', '1:2', '3:-2')
    expect(stdout).toMatch(/^ {2}2 {2}\d/)
    expect((await ask('classify', '1:-2', '3:2')).stdout).toMatch(/^ {2}1 {2}-\d/)
    const evaluated = await ask('evaluate', 'svm', '--examples', golden, '--json')
    const summary = JSON.parse(evaluated.stdout) as { accuracy: { mean: number } }
    expect(summary.accuracy.mean).toBeGreaterThan(0.75)
  })

  it('is retrained, checked, promoted and rolled back; each version learns each example once', async () => {
    await produce(lines(2000))
    const flags = ['--model', MODEL, '--golden', golden, '--max-latency', '60000']
    const retrained = await ask('retrain', '--once', ...flags, '--json')
    expect(jsonLines(retrained.stdout)).toMatchObject([
      {
        event: 'promoted',
        version: {
          number: 2,
          dimension: 32,
          lineage: {
            code: 'linear/1',
            hyperparameters: { loss: 'logistic', cost: 0.1, positiveLabel: 2, negativeLabel: 1 },
            metrics: { observations: 2000 },
          },
        },
      },
    ])
    await learning.printed(/"event":"learning","version":2/)
    await produce(lines(10))
    await expect.poll(() => learnedOffsets(2), { interval: 200 }).toHaveLength(10)
    const offsets = await learnedOffsets(2)
    expect(new Set(offsets).size).toBe(10)
    const shown = await run('model', 'show', '2', '--model', MODEL)
    expect(shown.stdout).toContain('golden examples in the training data')
    await run('model', 'rollback', '--model', MODEL)
    await learning.printed(/"event":"learning","version":1[\s\S]*"event":"learning","version":1/)
    // Version 1 goes on where it was left: the ten examples are new to it.
    const everything = async () => (await learnedOffsets(1)).length
    await expect.poll(everything, { interval: 200 }).toBe(2010)
    expect(new Set(await learnedOffsets(1)).size).toBe(2010)
  })

  it('is not promoted when its examples are poisoned', async () => {
    const turned = lines(3000).replaceAll(/^[12]/gm, (label) => (label === '1' ? '2' : '1'))
    await produce(turned)
    const flags = ['--model', MODEL, '--golden', golden, '--max-latency', '60000', '--port', port]
    const args = ['retrain', '--once', ...flags, '--data-dir', data]
    const { code, stdout } = await inProcess(args)
    expect(code).toBe(1)
    expect(stdout).toMatch(/was not promoted: the quality check failed/)
  })

  it('is loaded from text weights, and answers with its labels', async () => {
    const file = join(folder, 'weights.txt')
    writeFileSync(file, 'bias,0.5\n1,2\n3,-2\n')
    const load = ['model', 'load', file, '--kind', 'linear', '--labels', '7,3']
    const refused = await inProcess([...load, '--data-dir', data])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('use --range 32') })
    const loaded = await run(...load, '--range', '32', '--json')
    const [figures] = jsonLines(loaded.stdout)
    expect(figures).toMatchObject({ topic: MODEL, range: 32, weights: 3, features: 4, blocks: 2 })
    const version = String((figures as { version: number }).version)
    // The job reads the rows of the version some time after they are written.
    const words = ['classify', '1:1', '--version', version, '--port', port, '--data-dir', data]
    const classify = () => inProcess(words)
    await expect
      .poll(classify, { interval: 200 })
      .toMatchObject({ code: 0, stdout: expect.stringMatching(/^ {2}7 {2}2\.5/) })
    expect((await ask('classify', '3:1', '--version', version)).stdout).toMatch(/^ {2}3 {2}-1\.5/)
  })
})

/** Positions of the examples whose deltas are of a version, as `<partition>/<offset>`. */
async function learnedOffsets(version: number): Promise<readonly string[]> {
  await using topics = new LogTopics(join(data, 'log'))
  const found: string[] = []
  await scanTopic(topics, deltasTopic(MODEL), (record) => {
    const delta = decodeLinearDelta(record.value()!)
    if (delta.version === version) found.push(`${delta.partition}/${delta.offset}`)
    return true
  })
  return found
}
