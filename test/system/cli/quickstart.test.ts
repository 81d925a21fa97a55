import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatRating, RATINGS_CSV_HEADER } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { needs } from '../../run/needs.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import {
  CommandProcess,
  jsonLines,
  npmStart,
  PATIENT,
  REPOSITORY,
  weir,
} from './command-process.ts'
import { checkLoop, LOOP_SIZE, writeLoopRatings } from './quickstart-loop-fixture.ts'

/** Beside the repository, where it was put by hand: its licence forbids to pass it on. */
const MOVIELENS = resolve(REPOSITORY, '../shared/data/ml-100k')

/** Of tests that are alike, the short part has one, by the seed. */
const isChosen = (n: number): boolean => campaignSize(commitSeed() % 2 === n, true)

/** Little training, for tests that look at something else. */
const QUICK = ['--factors', '8', '--sweeps', '6', '--threads', '0']

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-quickstart-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** What `npm start` runs, without npm, and from joined modules: it starts with a third of the processor time. */
const quickstart = (args: readonly string[]): CommandProcess => weir(['quickstart', ...args])

/** Runs what `npm start` runs, as a script, and returns the object in its last line. */
async function once(args: readonly string[]): Promise<Record<string, unknown>> {
  const data = ['--data-dir', join(folder, 'data')]
  const { code, stdout, stderr } = await quickstart(['--once', '--json', ...data, ...args]).ended
  expect(code, stderr).toBe(0)
  return jsonLines(stdout).at(-1)!
}

function writeRatings(name: 'u.data' | 'ratings.dat' | 'ratings.csv'): string {
  const formats = { 'u.data': 'tab', 'ratings.dat': 'double-colon', 'ratings.csv': 'csv' } as const
  const lines = name === 'ratings.csv' ? [RATINGS_CSV_HEADER] : []
  for (const rating of generateRatings({ users: 150, items: 60, ratings: 6000, seed: 3 })) {
    lines.push(formatRating(rating, formats[name]))
  }
  const path = join(folder, name)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

/** Ratings in the forms of MovieLens that no other test reads. */
const FILES = ['ratings.dat', 'ratings.csv'] as const

function checkpointsIn(data: string): readonly string[] {
  const jobs = readdirSync(join(data, 'checkpoints'), { recursive: true, encoding: 'utf8' })
  return jobs.filter((name) => name.endsWith('_metadata'))
}

describe('npm start -- --once --json', () => {
  it('trains, serves and evaluates generated ratings, and reuses all of it at the next start', async () => {
    const first = await once(['--no-loop'])
    expect(first).toMatchObject({
      version: 1,
      trained: true,
      restoredCheckpoint: 0,
      users: 2000,
      items: 800,
    })
    expect(first['rmse']).toBeLessThan(0.75)
    expect(first['mse']).toBeCloseTo(Number(first['rmse']) ** 2, 6)
    const coverage = first['coverage'] as Record<string, number>
    expect(coverage['known']! + coverage['coldUser']! + coverage['coldItem']!).toBeGreaterThan(
      15_000,
    )
    expect(first['predictP50Ms']).toBeGreaterThan(0)
    const second = await once(['--no-loop'])
    expect(second).toMatchObject({ version: 1, trained: false, users: 2000, items: 800 })
    expect(second['restoredCheckpoint']).toBeGreaterThan(0)
    expect(second['rmse']).toBe(first['rmse'])
  })

  it.each(FILES.filter((_, n) => isChosen(n)))('reads a %s', async (name) => {
    const result = await once(['--ratings', writeRatings(name), ...QUICK])
    expect(result).not.toHaveProperty('loop')
    expect(result['users']).toBeGreaterThan(140)
    expect(result['items']).toBeGreaterThan(55)
    const { known, coldUser, coldItem, coldBoth } = result['coverage'] as Record<string, number>
    expect(known! + coldUser! + coldItem! + coldBoth!).toBeGreaterThan(400)
    expect(result['rmse']).toBeLessThan(1.2)
  })

  it('serves the version of new ratings, not the restored one', async () => {
    const ratings = writeRatings('u.data')
    await once(['--ratings', ratings, ...QUICK])
    const second = await once(['--ratings', ratings, ...QUICK, '--seed', '2'])
    expect(second).toMatchObject({ version: 2, trained: true })
  })

  it(
    'reaches an RMSE of 0.94 on MovieLens 100K',
    needs(existsSync(join(MOVIELENS, 'u1.base')), 'MovieLens 100K is not beside the repository'),
    async () => {
      const [base, test] = [join(MOVIELENS, 'u1.base'), join(MOVIELENS, 'u1.test')]
      const result = await once(['--ratings', base, '--test', test])
      expect(result['rmse']).toBeLessThanOrEqual(0.94)
      const { known, coldUser, coldItem, coldBoth } = result['coverage'] as Record<string, number>
      expect(known! + coldUser! + coldItem! + coldBoth!).toBe(20_000)
    },
  )

  it('explains a file without ratings and a missing file', async () => {
    const bad = join(folder, 'bad.txt')
    writeFileSync(bad, 'hello there\n')
    await using wrong = quickstart(['--once', '--ratings', bad, '--data-dir', join(folder, 'data')])
    const unparsable = await wrong.ended
    expect(unparsable.code).toBe(1)
    expect(unparsable.stderr).toContain(`UNPARSABLE_RECORD: ${bad}: line 1`)
    expect(unparsable.stderr).toContain('no column is surely the user')
    await using missing = quickstart(['--once', '--ratings', join(folder, 'none')])
    const absent = await missing.ended
    expect(absent.code).toBe(2)
    expect(absent.stderr).toMatch(/--ratings names .*none, and there is no such file/)
  })

  it('refuses --loop beside --no-loop', async () => {
    await using process = quickstart(['--once', '--loop', '--no-loop'])
    const { code, stderr } = await process.ended
    expect(code).toBe(2)
    expect(stderr).toContain('--loop and --no-loop exclude each other')
  })

  it('refuses another number of factors than that of the topic, before it trains', async () => {
    const args = ['--ratings', writeRatings('u.data'), ...QUICK]
    await once(args)
    const others = args.with(args.indexOf('--factors') + 1, '9')
    await using other = quickstart(['--once', '--data-dir', join(folder, 'data'), ...others])
    const { code, stderr } = await other.ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/DIMENSION_MISMATCH: .*train with --factors 8, or use another/)
  })
})

describe('npm start with the loop', () => {
  if (isChosen(0)) {
    it('learns, detects a drift, retrains, promotes and rolls back, once', async () => {
      const args = ['--ratings', writeLoopRatings(folder), ...LOOP_SIZE]
      checkLoop(await once(args))
      const second = await once(args)
      expect(second).toMatchObject({ version: 1, trained: false })
      expect(second['loop']).toEqual({ ran: false, liveVersion: 2 })
    })
  }

  if (isChosen(1)) {
    it('stops cleanly at Ctrl-C while it learns, and continues there at the next start', async () => {
      const args = ['--ratings', writeLoopRatings(folder), ...LOOP_SIZE, '--port', '0']
      await using first = quickstart(['--data-dir', join(folder, 'data'), ...args])
      await first.printed(/ratings: RMSE/)
      first.signal('SIGINT')
      const { code, stdout } = await first.ended
      expect(code).toBe(0)
      expect(stdout).toContain('the next start continues the loop')
      const { loop } = (await once(args)) as { loop: Record<string, unknown> }
      expect(loop).toMatchObject({ ran: true, rolledBackTo: 1, liveVersion: 2, failedRequests: 0 })
    })
  }
})

describe('npm start', () => {
  const serving = (start: typeof quickstart): CommandProcess =>
    start([
      ...['--ratings', writeRatings('u.data'), '--port', '0'],
      ...['--data-dir', join(folder, 'data'), ...QUICK],
    ])

  it('stops cleanly at Ctrl-C, leaves a checkpoint, and continues from it', async () => {
    await using first = serving(npmStart)
    await first.printed(/until Ctrl-C/)
    first.signal('SIGINT')
    const { code, stdout } = await first.ended
    expect(code).toBe(0)
    const [, last] = /checkpoint (\d+) taken/.exec(stdout)!
    // On a slow machine some of every ten seconds are before it.
    const manifest = expect.stringMatching(`chk-${last}/_metadata$`)
    expect(checkpointsIn(join(folder, 'data'))).toContainEqual(manifest)
    await using second = serving(quickstart)
    await second.printed(/version 1 was live .* restored from checkpoint \d/)
  })

  it('prints commands that work as they are printed', async () => {
    await using job = serving(npmStart)
    await job.printed(/until Ctrl-C/)
    const verbs = ['predict', 'recommend', 'query', 'evaluate']
    for (const verb of verbs.filter((_, n) => isChosen(n % 2))) {
      const [line] = await job.printed(new RegExp(`npm run (?:-s )?weir -- ${verb} .*`))
      const { code, stderr } = await new CommandProcess('sh', ['-c', line], { env: PATIENT }).ended
      expect({ line, code }, stderr).toEqual({ line, code: 0 })
    }
  })

  it('restores its state after SIGKILL', async () => {
    await using first = serving(quickstart)
    await first.printed(/until Ctrl-C/)
    first.signal('SIGKILL')
    await first.ended
    await using second = serving(quickstart)
    await second.printed(/not needed: version 1 in the topic/)
    await second.printed(/version 1 was live/)
    await second.printed(/RMSE/)
  })
})
