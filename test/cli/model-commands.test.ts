import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommandLine } from '../../src/cli/run-command-line.ts'
import { formatRating } from '../../src/models/ratings-format.ts'
import { generateRatings } from '../../src/models/ratings-generator.ts'
import { recordedIo } from './recorded-io.ts'

let folder: string

async function run(...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine([...argv, '--data-dir', join(folder, 'data')], io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'weir-model-'))
  const ratings = join(folder, 'u.data')
  const generated = [...generateRatings({ users: 40, items: 20, ratings: 600 })]
  writeFileSync(ratings, generated.map((rating) => formatRating(rating, 'tab')).join('\n'))
  for (const version of ['1', '2']) {
    const { code } = await run(
      ...['train', 'als', '--ratings', ratings, '--threads', '0', '--factors', '4'],
      ...['--iterations', version, '--version', version],
    )
    expect(code).toBe(0)
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the model commands', () => {
  it('list what was published without the registry, the highest of it live', async () => {
    const { out } = await run('model', 'list')
    expect(out).toMatch(/^ +1 {2}candidate .*\n +2 {2}live /)
    const { out: json } = await run('model', 'list', '--json')
    expect(json.split('\n').map((line) => JSON.parse(line).number)).toEqual([1, 2])
  })

  it('refuse a version that was never checked, and take it by force with a reason', async () => {
    const refused = await run('model', 'promote', '1')
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toContain('PROMOTION_REFUSED')
    expect(refused.err).toContain('the data check was never run')
    const forced = await run('model', 'promote', '1', '--force', 'a test', '--expect-live', '2')
    expect(forced.out).toBe('version 1 of als-model is live (forced; it was version 2)')
    const { out } = await run('model', 'show')
    expect(out).toContain('version          1 of als-model (live)')
    expect(out).toMatch(/history .* forced: a test/)
  })

  it('fail with a conflict when another version is live than was said', async () => {
    const { code, err } = await run('model', 'promote', '2', '--force', 'x', '--expect-live', '2')
    expect(code).toBe(1)
    expect(err).toContain('REGISTRY_CONFLICT')
    expect(err).toContain('version 1 of als-model is live by now')
  })

  it('roll back and show in what two versions differ', async () => {
    const { out } = await run('model', 'rollback', '--json')
    expect(JSON.parse(out)).toEqual({ model: 'als-model', live: 2, before: 1 })
    const diff = await run('model', 'diff', '1', '2')
    expect(diff.out).toContain('version 1 -> version 2')
    expect(diff.out).toMatch(/state +replaced -> live/)
  })

  it('export a version and find it again when it is imported', async () => {
    const file = join(folder, 'v.weirmodel')
    const exported = await run('model', 'export', '1', file)
    expect(exported.out).toMatch(/^\d+ rows of version 1 of als-model/)
    expect((await run('model', 'import', file)).out).toContain('nothing to do')
  })

  it('name the versions there are when one is asked for that is not', async () => {
    const { code, err } = await run('model', 'show', '9')
    expect(code).toBe(1)
    expect(err).toContain('"9" names no version of als-model; known are 1, 2')
  })
})

describe('weir retrain', () => {
  it('asks when to train unless it is told to train once', async () => {
    const { code, err } = await run('retrain', '--no-serving')
    expect(code).toBe(2)
    expect(err).toContain('give --once, or say when to train')
  })
})
