import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import type { RankingSummary } from '../../../src/training/metrics/ranking.ts'
import { inProcess } from '../../cli/command-here.ts'
import { until } from '../../run/until.ts'
import { type CommandResult, weir } from '../cli/command-process.ts'

const BASE = 9000
const FRESH = 1500
/** A step that promised not to lower the quality may lower NDCG at 10 by this much. */
const INTERVAL = 0.02

let folder: string
const at = (name: string): string => join(folder, name)

/** Lines of uses, `user,item,count`: what someone liked in a planted model, with counts that say nothing. */
function uses(): readonly string[] {
  const all = [...generateRatings({ users: 400, items: 200, ratings: 40_000, seed: 3 })]
  const used = all.filter(({ rating }) => rating >= 4)
  return used.map(({ user, item }, n) => `${user},${item},${1 + ((n * 7) % 10)}`)
}

async function run(...args: string[]): Promise<CommandResult> {
  return await inProcess([...args, '--data-dir', at('data')])
}

async function ok(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args)
  if (code !== 0) throw new Error(`weir ${args.join(' ')}: ${stderr}`)
  return stdout
}

async function produce(topic: string, lines: readonly string[]): Promise<void> {
  const produce = ['topic', 'produce', topic, '--data-dir', at('data')]
  expect(await inProcess(produce, `${lines.join('\n')}\n`)).toMatchObject({ code: 0 })
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-implicit-'))
  const lines = uses()
  writeFileSync(at('base.csv'), lines.slice(0, BASE).join('\n'))
  writeFileSync(at('golden.csv'), lines.slice(BASE + FRESH).join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('a model of implicit feedback stays one when it is learned, checked and trained again, with the defaults', async () => {
  const lines = uses()
  const files = ['--ratings', at('base.csv'), '--factors', '16']
  await ok('train', 'als', '--implicit', ...files)
  await using learning = weir(['learn', 'als', '--port', '0', '--json', '--data-dir', at('data')])
  const [, port = ''] = await learning.printed(/"started","port":(\d+)/)
  await learning.printed(/"event":"learning","version":1/)
  const ndcg = async (): Promise<number> => {
    const golden = ['--ratings', at('golden.csv'), '--seen', at('base.csv')]
    const out = await inProcess(['evaluate', ...golden, '--top', '10', '--json', '--port', port])
    return (JSON.parse(out.stdout) as { ranking: RankingSummary }).ranking.ndcg.mean
  }
  const trained = await ndcg()
  await produce('observations', lines.slice(BASE, BASE + FRESH))
  await until('the uses are learned', async () => {
    const error = ['query', 'LEARNING_ERROR', '1', '--values', '--port', port]
    return (await inProcess(error)).stdout.includes(`"ratings":${FRESH},`)
  })
  const learned = await ndcg()
  expect(learned).toBeGreaterThan(trained - INTERVAL)

  // The slowest answer of a machine that runs other tests, too, may be above the limit.
  const patient = ['--max-latency', '60000', '--port', port]
  const retrain = ['retrain', '--once', '--golden', at('golden.csv'), ...patient]
  // It reads what is learned: a part of all uses, which is not enough.
  const refused = await run(...retrain)
  expect(refused.stderr).toContain('retrain: reads the observations of topic observations')
  expect(refused.stdout).toMatch(/the quality check failed: certain fall of NDCG@10/)
  await ok('topic', 'create', 'uses', '--partitions', '2')
  await produce('uses', lines.slice(0, BASE + FRESH))
  const other = await run(...retrain, '--observations', 'uses')
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('--forget-learned') })
  const promoted = await ok(...retrain, '--observations', 'uses', '--forget-learned')
  expect(promoted).toContain('version 3 is live')
  await learning.printed(/"event":"learning","version":3/)
  const shown = JSON.parse(await ok('model', 'show', '3', '--json'))
  expect(shown.lineage.hyperparameters).toMatchObject({
    feedback: 'implicit',
    alpha: 1,
    factors: 16,
  })
  const retrained = await ndcg()
  console.info({ trained, learned, retrained })
  expect(retrained).toBeGreaterThan(trained - INTERVAL)
  // Whether the job was within the 5 s of the command is not asked.
  expect(await ok('model', 'rollback')).toContain('version 1 of als-model is live again (was 3); ')
  learning.signal('SIGINT')
  await learning.ended
  const gram = await run('learn', 'als', '--rule', 'gram', '--port', '0')
  expect(gram.code).not.toBe(0)
  expect(gram.stderr).toContain('was trained on implicit feedback')
})

it('the first version of a model is trained on implicit feedback by a retraining that says so', async () => {
  await ok('topic', 'create', 'clicks', '--partitions', '2')
  await produce('clicks', uses().slice(0, BASE))
  const retrain = ['retrain', '--model', 'clicked', '--observations', 'clicks', '--once']
  const offline = [...retrain, '--no-serving', '--factors', '8', '--iterations', '3']
  await ok(...offline, '--implicit', '--alpha', '10')
  const shown = async (version: string) =>
    JSON.parse(await ok('model', 'show', version, '--model', 'clicked', '--json'))
  const parameters = { feedback: 'implicit', alpha: 10, factors: 8, biases: false }
  expect(await shown('1')).toMatchObject({
    state: 'candidate',
    lineage: { hyperparameters: parameters },
  })
  // No version is live: the candidate says the feedback.
  await ok(...offline, '--seed', '2')
  expect(await shown('2')).toMatchObject({ lineage: { hyperparameters: { feedback: 'implicit' } } })
  const rated = offline.with(offline.indexOf('--model') + 1, 'rated')
  const explicit = await run(...rated, '--alpha', '10')
  expect(explicit).toMatchObject({ code: 2, stderr: expect.stringContaining('--alpha needs') })
  await ok(...rated)
  const changed = await run(...rated, '--implicit')
  expect(changed).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('version 1 of rated was trained on explicit feedback'),
  })
})
