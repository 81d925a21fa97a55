import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { recordedIo } from '../recorded-io.ts'

let folder: string
let ratings: string

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine(argv, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const als = (...argv: string[]): ReturnType<typeof run> =>
  run(
    ...['train', 'als', '--no-publish', '--threads', '0', '--factors', '4', '--iterations', '3'],
    ...[...argv, ...(argv.includes('--ratings') ? [] : ['--ratings', ratings])],
  )

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-train-'))
  ratings = join(folder, 'u.data')
  const generated = [...generateRatings({ users: 60, items: 30, ratings: 1200 })]
  writeFileSync(ratings, generated.map((rating) => formatRating(rating, 'tab')).join('\n'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('weir train als', () => {
  it('cross-validates, validates and draws the learning curve', async () => {
    const curve = join(folder, 'als.svg')
    const { code, out } = await als(
      ...['--validation', '0.2', '--patience', '2', '--folds', '3', '--curve', curve, '--json'],
    )
    expect(code).toBe(0)
    const result = JSON.parse(out) as Record<string, unknown>
    expect(result['ratings']).toBeLessThan(1100)
    expect(result['validationRmse']).toBeGreaterThan(result['trainRmse'] as number)
    expect(result['foldRmse']).toHaveLength(3)
    expect(readFileSync(curve, 'utf8')).toMatch(/^<svg .*[\s\S]*validation/)
  })

  it('ranks on implicit feedback, the values of a pair in one sum', async () => {
    const { code, out } = await als('--implicit', '--alpha', '2', '--test', ratings)
    expect(code).toBe(0)
    expect(out).toMatch(/60 users x 30 items, 531 ratings in .* s, test NDCG@10 0\.\d+, precision/)
  })

  it('reads a folder of part files, packed or with headers, and writes both matrices', async () => {
    const [parts, one, two] = ['parts', 'one', 'two'].map((name) => join(folder, `${name}/`))
    mkdirSync(parts!)
    const lines = readFileSync(ratings, 'utf8').split('\n')
    writeFileSync(join(parts!, 'part-00000.gz'), gzipSync(lines.slice(0, 500).join('\n')))
    const rest = lines.slice(500).map((line) => line.split('\t'))
    const csv = rest.map(([user, item, rating, time]) => `"${item}",${time},${rating},${user}`)
    writeFileSync(join(parts!, 'part-00001'), ['item,time,rating,user', ...csv].join('\n'))
    writeFileSync(join(parts!, '_SUCCESS'), 'no ratings')
    expect((await als('--text-rows', one!)).code).toBe(0)
    const { code, out } = await als('--ratings', parts!, '--text-rows', two!)
    expect(code).toBe(0)
    expect(out).toContain('60 users x 30 items, 1200 ratings')
    for (const [name, count] of [
      ['users.txt', 60],
      ['items.txt', 30],
    ] as const) {
      const rows = readFileSync(join(two!, name), 'utf8')
      expect(rows.trim().split('\n')).toHaveLength(count)
      expect(rows).toBe(readFileSync(join(one!, name), 'utf8'))
    }
  })

  it('reads the file of --test by its own header, whatever the order of the columns of --ratings', async () => {
    const lines = readFileSync(ratings, 'utf8').split('\n')
    const rows = lines.map((line) => line.split('\t') as [string, string, string, string])
    const forward = rows.map(([user, item, rating]) => `${user},${item},${rating}`)
    const turned = rows.map(([user, item, rating]) => `${rating},${item},${user}`)
    const file = (name: string, header: string, body: readonly string[]): string => {
      writeFileSync(join(folder, name), [header, ...body].join('\n'))
      return join(folder, name)
    }
    const train = file('train.csv', 'user_id,item_id,rating', forward.slice(0, 1000))
    const asTrain = file('test.csv', 'user_id,item_id,rating', forward.slice(1000))
    const other = file('other.csv', 'rating,item_id,user_id', turned.slice(1000))
    const rmseOf = async (test: string): Promise<number> => {
      const { code, out } = await als('--ratings', train, '--test', test, '--json')
      expect(code).toBe(0)
      return (JSON.parse(out) as { rmse: number }).rmse
    }
    const expected = await rmseOf(asTrain)
    expect(expected).toBeGreaterThan(0.1)
    expect(expected).toBeLessThan(2)
    expect(await rmseOf(other)).toBe(expected)
  })

  it('with --memory trains and publishes the same rows from files, and leaves none', async () => {
    const [one, two, data] = ['one.txt', 'two.txt', 'data'].map((name) => join(folder, name))
    const publishing = ['--ratings', ratings, '--data-dir', data!, '--threads', '0', '--json']
    const settings = [...publishing, '--factors', '4', '--iterations', '3', '--test', ratings]
    const plain = await run('train', 'als', ...settings, '--text-rows', one!)
    const files = await run('train', 'als', ...settings, '--text-rows', two!, '--memory', '1mb')
    // What is shown on the way depends on the time that it takes, and pairs in files are not compared.
    const said = (err: string): readonly string[] =>
      err.split('\n').filter((line) => !/^\w+ +\d+ %|^warning: 1200 of the 1200/.test(line))
    expect(plain.err).toContain('warning: 1200 of the 1200 held-out ratings (100.0 %) are of pairs')
    expect(said(files.err)).toEqual(said(plain.err))
    const { seconds: _, version, ...result } = JSON.parse(files.out) as Record<string, unknown>
    expect(version).toBe(2)
    expect(JSON.parse(plain.out)).toMatchObject(result)
    expect(readFileSync(two!, 'utf8')).toBe(readFileSync(one!, 'utf8'))
    expect(readdirSync(join(data!, 'training'))).toEqual([])
  })

  it('says how many held-out ratings are of pairs that the training has, too', async () => {
    const lines = readFileSync(ratings, 'utf8').split('\n')
    const file = (name: string, part: readonly string[]): string => {
      writeFileSync(join(folder, name), part.join('\n'))
      return join(folder, name)
    }
    const held = new Set(lines.slice(1000).map((line) => line.split('\t', 2).join()))
    const train = lines.slice(0, 1000).filter((line) => !held.has(line.split('\t', 2).join()))
    const apart = [file('apart.train', train), file('apart.test', lines.slice(1000))] as const
    const trained = (test: string) => als('--ratings', apart[0], '--test', test, '--json')
    const clean = await trained(apart[1])
    expect(clean.err).not.toContain('warning')
    expect(JSON.parse(clean.out)).toMatchObject({ sharedPairs: 0 })
    const leaked = await trained(file('leaked', [...lines.slice(1000), train[0]!, train[7]!]))
    expect(JSON.parse(leaked.out)).toMatchObject({ sharedPairs: 2 })
    expect(leaked.err).toContain('warning: 2 of the 202 held-out ratings (1.0 %) are of pairs')
  })

  it('sums events by pair, in files as in memory', async () => {
    const events = join(folder, 'events.csv')
    const kinds = ['view', 'cart', 'buy', 'look']
    const rows = Array.from({ length: 800 }, (_, i) => `u${i % 40},i${i % 20},${kinds[i % 4]}`)
    writeFileSync(events, ['user,item,event', ...rows].join('\n'))
    const weight = ['--weight', 'event=view:1,cart:3,buy:10,look:0']
    const { code, out, err } = await als('--implicit', '--ratings', events, ...weight)
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringContaining('event = column 3 (event)'),
    })
    // A fourth of the 40 users looks alone; the other pairs come 20 times each.
    expect(out).toMatch(/^30 users x 15 items, 30 ratings in /)
    const files = await als('--implicit', '--ratings', events, ...weight, '--memory', '1mb')
    expect(files).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^30 users x 15 items, 30 ratings in /),
    })
  })

  it('with --folds cross-validates implicit feedback by user: every user is ranked for once', async () => {
    const uses = join(folder, 'uses.csv')
    const ofUser = (user: number) =>
      Array.from({ length: 10 }, (_, n) => `u${user},i${(user + 5 * n) % 24},1`)
    writeFileSync(
      uses,
      Array.from({ length: 30 }, (_, user) => ofUser(user))
        .flat()
        .join('\n'),
    )
    const folds = ['--implicit', '--ratings', uses, '--folds', '3']
    const { code, out, err } = await als(...folds, '--json')
    expect(code, err).toBe(0)
    const { strong } = JSON.parse(out)
    expect(strong).toMatchObject({ users: 30, foldedIn: 8 })
    // 16 items are left of the 24 for each user, so a list of 20 has all.
    expect([strong.recall20.mean, strong.recall50.mean]).toEqual([1, 1])
    const { low, mean, high } = strong.ndcg100
    expect(0 < low && low < mean && mean < high).toBe(true)
    const text = await als(...folds)
    expect(text.out).toContain(
      `for 30 users left out: recall@20 ${strong.recall20.mean.toFixed(4)} +- `,
    )
  })

  it('with --leave-out-users trains without a share of the users, and says how many', async () => {
    const { code, out, err } = await als('--leave-out-users', '0.25', '--json')
    expect(code, err).toBe(0)
    const count = Number(/left out (\d+) of 60 users, with their ratings/.exec(err)?.[1])
    expect(JSON.parse(out).users).toBe(60 - count)
    expect(count).toBeGreaterThan(0)
  })

  it('leaves out bad lines, says so, and writes them to a file', async () => {
    const [bad, kept] = [join(folder, 'some-bad'), join(folder, 'left-out.tsv')]
    writeFileSync(bad, `${readFileSync(ratings, 'utf8')}\n1\t2\n1\t2\tx\n`)
    const counted = await als('--ratings', bad, '--bad-lines', 'count')
    expect(counted.err).toContain(
      `left out 2 bad lines of the 1202 of ${bad}; line 1201 "1\t2": expected user, item and rating`,
    )
    expect(counted.out).toContain('1200 ratings')
    expect((await als('--ratings', bad, '--bad-lines', kept)).err).toContain(
      `(they are in ${kept})`,
    )
    expect(readFileSync(kept, 'utf8')).toBe(
      `${bad}:1201\tuser, item and rating\t1\t2\n${bad}:1202\ta number as rating\t1\t2\tx\n`,
    )
    const parts = join(folder, 'bad-parts')
    mkdirSync(parts)
    for (const part of ['a', 'b']) writeFileSync(join(parts, part), `7\t8\t3\n${part}\t2\n`)
    await als('--ratings', parts, '--test', bad, '--bad-lines', kept)
    const places = readFileSync(kept, 'utf8').match(/^[^\t]+/gm)
    expect(places).toEqual([
      `${join(parts, 'a')}:2`,
      `${join(parts, 'b')}:2`,
      `${bad}:1201`,
      `${bad}:1202`,
    ])
    const failed = await als('--ratings', bad)
    expect(failed.code).toBe(1)
    expect(failed.err).toContain('leave bad lines out with --bad-lines count')
  })

  it('names the part file that it cannot read', async () => {
    const parts = join(folder, 'bad')
    mkdirSync(parts)
    writeFileSync(join(parts, 'part-00000'), '1\t2\t3\n')
    writeFileSync(join(parts, 'part-00001'), '1\t2\t3\n1\t2\n')
    const { code, err } = await als('--ratings', parts)
    expect(code).toBe(1)
    expect(err).toContain(`${join(parts, 'part-00001')}: line 2 of the ratings`)
    const none = join(folder, 'none')
    expect((await als('--ratings', none)).err).toContain(
      `--ratings names ${none}, and there is no such file`,
    )
  })

  it.each([
    [['--patience', '2'], '--patience needs --validation'],
    [['--validation', '1'], '--validation must be a share'],
    [['--memory', '1mb', '--folds', '2'], '--folds needs the ratings in memory'],
    [['--memory', '1mb', '--validation', '0.1'], '--validation needs the ratings in memory'],
    [['--memory', '1mb', '--leave-out-users', '0.1'], '--leave-out-users needs the ratings in'],
    [
      ['--memory', '1mb', '--implicit', '--test', import.meta.filename],
      '--test with --implicit needs',
    ],
    [['--memory', '1mb', '--device', 'gpu'], 'ratings in files train on the CPU only'],
    [
      ['--memory', 'much'],
      '--memory must be a size such as 512mb or 2GiB, at least 1mb, not "much"',
    ],
    [['--test', 'x'], '--test names x, and there is no such file'],
  ])('refuses %o', async (flags, message) => {
    const { code, err } = await als(...flags)
    expect(code).toBe(2)
    expect(err).toContain(message)
  })
})

describe('weir train bmf', () => {
  const bmf = (...argv: string[]): ReturnType<typeof run> =>
    run(
      ...['train', 'bmf', '--ratings', ratings, '--no-publish', '--threads', '0'],
      ...['--factors', '3', ...argv, ...(argv.includes('--sweeps') ? [] : ['--sweeps', '6'])],
    )

  it('cross-validates, validates, tests, and writes the learning curve and the rows', async () => {
    const [curve, rows] = [join(folder, 'bmf.svg'), join(folder, 'bmf.txt')]
    const { code, out, err } = await bmf(
      ...['--validation', '0.2', '--folds', '2', '--curve', curve, '--text-rows', rows],
      ...['--test', ratings, '--json'],
    )
    expect(code).toBe(0)
    const result = JSON.parse(out) as Record<string, unknown>
    expect(result).toMatchObject({ dimension: 5, sweep: 6 })
    expect(result['validationRmse']).toBeGreaterThan(result['trainRmse'] as number)
    expect(result['foldRmse']).toHaveLength(2)
    expect(err).toMatch(/sweep 1 \(burn-in\): validation RMSE \d/)
    expect(readFileSync(curve, 'utf8')).toMatch(/^<svg .*[\s\S]*sweep/)
    expect(readFileSync(rows, 'utf8').trim().split('\n')).toHaveLength(
      Number(result['users']) + Number(result['items']),
    )
  })

  it('makes a finished chain longer, with the rows of one run', async () => {
    const [chain, rows] = [join(folder, 'chain'), join(folder, 'rows.txt')]
    const settings = ['--burn-in', '2', '--text-rows', rows]
    await bmf(...settings)
    const whole = readFileSync(rows, 'utf8')
    await bmf('--sweeps', '3', ...settings, '--chain', chain)
    expect(readFileSync(rows, 'utf8')).not.toBe(whole)
    const { out } = await bmf(...settings, '--chain', chain)
    expect(out).toMatch(/60 users x 30 items, 1200 ratings in /)
    expect(readFileSync(rows, 'utf8')).toBe(whole)
    const { code, err } = await bmf('--seed', '2', ...settings, '--chain', chain)
    expect(code).not.toBe(0)
    expect(err).toContain(`${chain} holds the chain of other ratings, factors, burn-in or seed`)
  })

  it('gives items without ratings a row from their features, and says which line is none', async () => {
    const [features, rows] = [join(folder, 'features.csv.gz'), join(folder, 'featured.txt')]
    const lines = Array.from({ length: 40 }, (_, item) => `${item},kind ${item % 3},${item}`)
    writeFileSync(features, gzipSync(['item,kind,year', ...lines].join('\n')))
    const { code, err } = await bmf('--item-features', features, '--who-rated', '--text-rows', rows)
    expect([code, err.includes('Error')]).toEqual([0, false])
    expect(readFileSync(rows, 'utf8')).toMatch(/^39,I,/m)
    const wrong = join(folder, 'wrong.csv')
    writeFileSync(wrong, 'item,kind\n1,a\n1,b\n')
    const refused = await bmf('--user-features', wrong)
    expect(refused.code).toBe(1)
    expect(refused.err).toContain(`${wrong}: line 3 of the features: the id "1" was there before`)
    const missing = await bmf('--user-features', join(folder, 'nowhere.csv'))
    expect(missing.err).toContain('there is no such file')
    const device = await bmf('--who-rated', '--device', 'gpu')
    expect(device.code).not.toBe(0)
    expect(device.err).toContain('features on the CPU only')
  })

  it('chooses by time whether who rated what is a feature, and says so', async () => {
    const { code, out, err } = await bmf('--validation', 'time', '--json')
    expect(code, err).toBe(0)
    const result = JSON.parse(out) as { whoRated: boolean; rmseWith: number; rmseWithout: number }
    expect(err).toMatch(
      /who rated what is (a|no) feature: RMSE \d\.\d{4} with it and \d\.\d{4} without it on the newest tenth/,
    )
    expect(result.whoRated).toBe(result.rmseWith < result.rmseWithout * 0.998)
    const both = await bmf('--validation', 'time', '--who-rated')
    expect(both).toMatchObject({ code: 2, err: expect.stringContaining('give one of them') })
    const device = await bmf('--validation', 'time', '--device', 'gpu')
    expect(device.err).toContain('features on the CPU only')
  })

  it('refuses a burn-in that leaves no sweep', async () => {
    const { code, err } = await bmf('--burn-in', '6')
    expect(code).not.toBe(0)
    expect(err).toContain('burnIn (6) must be below the number of sweeps (6)')
  })
})

describe('weir train popularity', () => {
  it('cross-validates, tests, and writes the rows, of which those of users are all the same', async () => {
    const rows = join(folder, 'popularity.txt')
    const { code, out } = await run(
      ...['train', 'popularity', '--ratings', ratings, '--no-publish', '--folds', '2'],
      ...['--text-rows', rows, '--test', ratings, '--json'],
    )
    expect(code).toBe(0)
    const result = JSON.parse(out) as Record<string, unknown>
    expect(result).toMatchObject({ users: 60, items: 30, ratings: 1200, dimension: 2 })
    expect(result['foldRmse']).toHaveLength(2)
    expect(result['rmse']).toBeLessThan(result['crossValidatedRmse'] as number)
    const lines = readFileSync(rows, 'utf8').trim().split('\n')
    const ofUsers = lines.filter((line) => line.includes(',U,'))
    expect(ofUsers).toHaveLength(60)
    expect(new Set(ofUsers.map((line) => line.split(',')[2])).size).toBe(1)
  })
})
