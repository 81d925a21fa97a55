import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../src/cli/run-command-line.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { dataDirectory } from '../../../src/jobs/serve/data-directory.ts'
import { formatRating } from '../../../src/models/ratings/format.ts'
import { generateRatings } from '../../../src/models/ratings/generator.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { recordedIo } from '../recorded-io.ts'

let folder: string
/** Data folder with versions 1 and 2; each test gets a copy. */
let published: string
let data: string
let tests = 0

async function runIn(dataDir: string, argv: readonly string[]) {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine([...argv, '--data-dir', dataDir], io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

function run(...argv: string[]) {
  return runIn(data, argv)
}

/** Makes version 2 live, where 1 is. */
function promoteSecond() {
  return run('model', 'promote', '2', '--force', 'a test', '--expect-live', '1')
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-model-'))
  published = join(folder, 'published')
  const ratings = join(folder, 'u.data')
  const generated = [...generateRatings({ users: 40, items: 20, ratings: 600 })]
  writeFileSync(ratings, generated.map((rating) => formatRating(rating, 'tab')).join('\n'))
  for (const version of ['1', '2']) {
    const { code } = await runIn(published, [
      ...['train', 'als', '--ratings', ratings, '--threads', '0', '--factors', '4'],
      ...['--iterations', version, '--version', version],
    ])
    expect(code).toBe(0)
  }
})

beforeEach(() => {
  data = join(folder, `data-${tests++}`)
  cpSync(published, data, { recursive: true })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the model commands', () => {
  it('list the first version as live, and the next one as a candidate', async () => {
    const { out } = await run('model', 'list')
    expect(out).toMatch(/^ +1 {2}live .*\n +2 {2}candidate /)
    const { out: json } = await run('model', 'list', '--json')
    expect(json.split('\n').map((line) => JSON.parse(line).number)).toEqual([1, 2])
  })

  it('refuse a version that was never checked', async () => {
    const refused = await run('model', 'promote', '2')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('PROMOTION_REFUSED')
    expect(refused.err).toContain('the data check has not been run')
  })

  it('promote an unchecked version by force and store the reason', async () => {
    const forced = await promoteSecond()
    expect(forced.out).toBe('version 2 of als-model is live (was 1, forced); no job serves it yet')
    const { out } = await run('model', 'show')
    expect(out).toContain('version          2 of als-model (live)')
    expect(out).toMatch(/history .* forced: a test/)
  })

  it('promote the live version again without a word of force, and change nothing', async () => {
    const again = await run('model', 'promote', '1')
    expect(again).toMatchObject({ code: 0, out: 'version 1 of als-model is live already' })
    expect((await run('model', 'show', '1')).out).not.toContain('forced')
  })

  it('change nothing where they only read', async () => {
    const log = join(data, 'registry')
    const before = readdirSync(log, { recursive: true }).toSorted()
    for (const words of [['list'], ['show', '2'], ['diff', '1', '2']]) await run('model', ...words)
    expect(readdirSync(log, { recursive: true }).toSorted()).toEqual(before)
  })

  it('make no version live by themselves when the registry is gone', async () => {
    rmSync(join(data, 'registry'), { recursive: true })
    expect((await run('model', 'list')).out).toMatch(/^ +1 {2}candidate .*\n +2 {2}candidate /)
    const forced = await run('model', 'promote', '1', '--force', 'the registry was lost')
    expect(forced.out).toBe(
      'version 1 of als-model is live (no version was live, forced); no job serves it yet',
    )
  })

  it('fail with a conflict when another version is live than expected', async () => {
    await promoteSecond()
    const { code, err } = await run('model', 'promote', '1', '--force', 'x', '--expect-live', '1')
    expect(code).toBe(1)
    expect(err).toContain('REGISTRY_CONFLICT')
    expect(err).toContain('version 2 of als-model is live now')
  })

  it('roll back and show the differences of two versions', async () => {
    await promoteSecond()
    const { out } = await run('model', 'rollback', '--json')
    expect(JSON.parse(out)).toEqual({ model: 'als-model', live: 1, before: 2, served: false })
    const diff = await run('model', 'diff', '1', '2')
    expect(diff.out).toContain('version 1 -> version 2')
    expect(diff.out).toMatch(/state +live -> replaced/)
  })

  it('retire all but the newest versions after a promotion, and keep the rollback target', async () => {
    const { out, err } = await run('model', 'promote', '2', '--force', 'a test', '--retain', '1')
    expect(out).toContain('version 2 of als-model is live')
    expect(err).not.toContain('retired')
    await run('model', 'list')
    expect((await run('model', 'rollback')).out).toBe(
      'version 1 of als-model is live again (was 2); no job serves it yet',
    )
  })

  it('export a version and recognise it on import', async () => {
    const file = join(folder, 'v.weirmodel')
    const exported = await run('model', 'export', '1', file)
    expect(exported.out).toMatch(/^exported \d+ rows of version 1 of als-model/)
    expect((await run('model', 'import', file)).out).toContain('nothing to do')
  })

  it('take a word of digits only as a number, and a start of an id from 6 characters on', async () => {
    const { out } = await run('model', 'show', '1', '--json')
    const { id } = JSON.parse(out) as { id: string }
    // A word of digits only would be a number.
    const start = id.slice(0, Math.max(6, id.search(/[a-f]/) + 1))
    expect((await run('model', 'show', start, '--json')).out).toBe(out)
    for (const word of ['7', '0', id.slice(0, 5)]) {
      const { code, err } = await run('model', 'promote', word, '--force', 'a test')
      // An id may begin with digits alone, which are a number then.
      const isNumber = /^[1-9][0-9]*$/.test(word)
      expect({ word, code }).toEqual({ word, code: isNumber ? 1 : 2 })
      expect(err).toContain(isNumber ? 'UNKNOWN_VERSION' : 'VERSION must be a number from 1')
    }
  })

  it('name the existing versions when an unknown one is requested, and the nearest word', async () => {
    const misspelt = await run('model', 'show', 'lastest')
    expect(misspelt.err).toContain('no version "lastest" of als-model; did you mean "latest"? its')
    const { code, err } = await run('model', 'show', '9')
    expect(code).toBe(1)
    expect(err).toContain('there is no version "9" of als-model; its versions are 1, 2')
  })

  it('print their usage when arguments are missing', async () => {
    const { code, err } = await run('model', 'export', '1')
    expect(code).toBe(2)
    expect(err).toBe('weir: missing arguments. Usage: weir model export VERSION FILE')
  })
})

describe('weir train als', () => {
  const train = (...words: string[]) =>
    run(
      ...['train', 'als', '--threads', '0', ...small, ...words],
      ...(words.includes('--ratings') ? [] : ['--ratings', join(folder, 'u.data')]),
    )
  const small = ['--factors', '4', '--iterations', '1']

  it('publishes the next version as a candidate, which goes live only by a promotion', async () => {
    const { code, out } = await train()
    expect(code).toBe(0)
    expect(out).toContain('published as version 3 to topic als-model')
    expect(out).toContain(
      'version 1 stays live until "weir model promote 3 --model als-model --golden FILE"',
    )
    expect((await run('model', 'list')).out).toMatch(/ 1 {2}live .*\n.*\n +3 {2}candidate /)
  })

  it('refuses a version that exists, before any work, unless it may overwrite it', async () => {
    const unread = import.meta.filename
    const { code, err } = await train('--version', '2', '--ratings', unread)
    expect(code).toBe(1)
    expect(err).toContain('VERSION_EXISTS')
    expect(err).toContain('publish as 3')
    expect((await train('--version', '2', '--overwrite')).out).toContain('published as version 2')
  })

  it('never overwrites the live version of a registry', async () => {
    const { code, err } = await train('--version', '1', '--overwrite')
    expect(code).toBe(1)
    expect(err).toContain('version 1 of als-model is live, and only a promotion changes')
  })

  it('takes UUIDs as ids, and longer ids only with a longer key, naming the id', async () => {
    const uuid = '01890a5d-ac96-774b-bcce-b302099a8057'
    const url = `https://example.org/${'x'.repeat(180)}`
    const file = join(folder, 'long.data')
    writeFileSync(file, `${uuid}\t1\t3\n${uuid}\t2\t4\n`)
    const long = ['--topic', 'long', '--ratings', file]
    expect((await train(...long)).code).toBe(0)
    writeFileSync(file, `${uuid}\t${url}\t3\n${uuid}\t2\t4\n`)
    const { code, err } = await train(...long)
    expect(code).toBe(1)
    expect(err).toContain(`the item id "${url}" makes a row key of 202 bytes`)
    expect(err).toContain('--max-key-bytes) 208')
    expect((await train(...long, '--max-key-bytes', '208')).code).toBe(0)
  })

  it('refuses what it cannot publish or write before it reads the ratings', async () => {
    const wrong = [
      ['--version', '0'],
      ['--version', '5000000000'],
      ['--topic', 'a b'],
      ['--curve', join(folder, 'missing', 'curve.svg')],
      ['--text-rows', join(folder, 'missing', 'rows.txt')],
      ['--folds', '1'],
    ]
    for (const words of wrong) {
      const { code, err } = await train('--ratings', '/missing', ...words)
      expect({ words, code }).toEqual({ words, code: 2 })
      expect(err).not.toContain('no such file; give')
    }
  })
})

describe('weir retrain', () => {
  it('requires a trigger unless it trains once', async () => {
    const { code, err } = await run('retrain', '--no-serving')
    expect(code).toBe(2)
    expect(err).toContain('no trigger: use --once, or one of')
  })

  it('measures a test set for the level of the error alone', async () => {
    const wrong = [
      ['--evaluate', 'held-out'],
      ['--evaluate', 'held-out', '--error-level', '1', '--error-rise', '0.1'],
      ['--evaluate', 'held-out', '--error-level', '1', '--on-drift', 'adwin'],
      ['--evaluate', 'held-out', '--error-level', '1', '--once'],
    ]
    for (const words of wrong) {
      const { code, err } = await run('retrain', ...words)
      expect({ words, code }).toEqual({ words, code: 2 })
      expect(err).toContain('--evaluate')
    }
  })
})

it('"learn resume" lets a job learn again on the live version, if its learning is stopped', async () => {
  expect((await run('learn', 'resume')).out).toBe(
    'learning on version 1 of als-model is not stopped',
  )
  const { registry: logDirectory } = dataDirectory(data)
  const registry = new ModelRegistry({ place: { logDirectory }, clock: systemClock })
  await registry.require({
    ...{ kind: 'record-phase', name: 'als-model', number: 1 },
    learning: { phase: 1, atMs: 1, text: 'the predictions are worse' },
  })
  expect((await run('model', 'list')).out).toMatch(/^ +1 {2}live .* {2}learning is stopped\n/)
  expect((await run('model', 'show')).out).toContain(
    'learning         stopped 1970-01-01T00:00:00.001Z: the predictions are worse',
  )
  expect((await run('learn', 'resume', '--reason', 'a test')).out).toBe(
    'learning on version 1 of als-model goes on, from the published rows',
  )
  expect((await run('model', 'list')).out).not.toContain('learning is stopped')
  expect((await run('model', 'show')).out).toMatch(/learning {9}resumed .*: a test/)
  const again = await run('learn', 'resume', '--json')
  expect(JSON.parse(again.out)).toEqual({ model: 'als-model', version: 1, resumed: false })
})

it('"learn resume" of a model without a live version says so', async () => {
  const refused = await run('learn', 'resume', '--model', 'other')
  expect(refused).toMatchObject({ code: 1, out: '' })
  expect(refused.err).toContain('no version of other is live')
})
