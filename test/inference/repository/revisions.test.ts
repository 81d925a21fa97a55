import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { withSettings } from '../../../src/cli/inference/model-configure.ts'
import { nodeFileSystem as files } from '../../../src/files/node-file-system.ts'
import {
  changeSettings,
  presentRevision,
  type SettingsChange,
  type SettingsHistory,
} from '../../../src/inference/repository/revisions.ts'

let root: string
let file: string
let nowMs = 0
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'weir-revisions-'))
  file = join(root, 'net', 'deployment.yaml')
  await mkdir(join(root, 'net'))
})
afterEach(() => rm(root, { recursive: true }))

const change = (one: SettingsChange): SettingsHistory =>
  changeSettings(files, { root, name: 'net' }, { change: one, nowMs: ++nowMs })
const store = (text: string, reason = 'test'): SettingsHistory =>
  change({ kind: 'store', text, reason })
const present = (): Promise<string> => readFile(file, 'utf8')

describe('revisions of the settings of a model', () => {
  it('are numbered, and rolled back and forward again', async () => {
    expect(store('slo-ms: 10\n')).toMatchObject({ live: 2, before: 1 })
    expect(store('slo-ms: 20\n')).toMatchObject({ live: 3, before: 2 })
    expect(change({ kind: 'rollback' })).toMatchObject({ live: 2, before: 3 })
    expect(await present()).toBe('slo-ms: 10\n')
    expect(change({ kind: 'rollback' })).toMatchObject({ live: 3, before: 2 })
    expect(store('slo-ms: 30\n')).toMatchObject({ live: 4, before: 3 })
    const { revisions } = change({ kind: 'return', revision: 2 })
    expect(await present()).toBe('slo-ms: 10\n')
    expect(revisions.map(({ revision, text }) => [revision, text])).toEqual([
      [1, ''],
      [2, 'slo-ms: 10\n'],
      [3, 'slo-ms: 20\n'],
      [4, 'slo-ms: 30\n'],
    ])
  })

  it('take what was edited by hand as a revision, so that a rollback finds it', async () => {
    await writeFile(file, 'slo-ms: 5 # mine\n')
    expect(store('slo-ms: 10\n')).toMatchObject({
      live: 2,
      before: 1,
      revisions: [{ reason: 'edited by hand', text: 'slo-ms: 5 # mine\n' }, { reason: 'test' }],
    })
    change({ kind: 'rollback' })
    expect(await present()).toBe('slo-ms: 5 # mine\n')
  })

  it('have the number under which a change stores them, also when they were edited by hand', async () => {
    const place = { root, name: 'net' }
    expect(presentRevision(files, place)).toBe(1)
    store('slo-ms: 10\n')
    store('slo-ms: 20\n')
    change({ kind: 'rollback' })
    expect(presentRevision(files, place)).toBe(2)
    await writeFile(file, 'slo-ms: 7\n')
    expect(presentRevision(files, place)).toBe(4)
    store('slo-ms: 30\n')
    expect(presentRevision(files, place)).toBe(5)
  })

  it('go back to no settings at all', async () => {
    store('slo-ms: 10\n')
    change({ kind: 'rollback' })
    expect(existsSync(file)).toBe(false)
    // Also when the file was removed by hand.
    store('slo-ms: 20\n')
    await rm(file)
    expect(store('slo-ms: 30\n').revisions.at(-2)).toMatchObject({
      text: '',
      reason: 'no settings',
    })
  })

  it('do not grow with equal settings, and keep the last hundred', () => {
    store('slo-ms: 1\n')
    expect(store('slo-ms: 1\n').revisions).toHaveLength(2)
    for (let ms = 2; ms <= 120; ms++) store(`slo-ms: ${ms}\n`)
    const { revisions, live } = store('slo-ms: 500\n')
    expect([revisions[0]!.revision, live, revisions.length]).toEqual([23, 122, 100])
  })

  it('leave everything as it is when the settings are wrong or the revision is unknown', async () => {
    store('slo-ms: 10\n')
    expect(() => store('slo-ms: never\n')).toThrow('slo-ms takes a number')
    expect(() => store('sloms: 1\n')).toThrow('did you mean slo-ms?')
    expect(() => change({ kind: 'return', revision: 9 })).toThrow('the revisions are 1, 2')
    expect(await present()).toBe('slo-ms: 10\n')
    expect(store('slo-ms: 10\n').revisions).toHaveLength(2)
    const missing = { root, name: 'nte' }
    expect(() => changeSettings(files, missing, { change: { kind: 'rollback' }, nowMs })).toThrow(
      'has no model "nte"',
    )
  })

  it('have no revision before the first', () => {
    expect(() => change({ kind: 'rollback' })).toThrow(
      'no revision of the settings was live before',
    )
  })
})

describe('single settings', () => {
  it('change in their place; comments stay, and short forms become maps', () => {
    const text = '# mine\nslo-ms: 5 # goal\nbatching: slack\n'
    expect(withSettings(text, ['slo-ms=20', 'batching.rule=aimd', 'checks.max-p99-ms=40'])).toBe(
      '# mine\nslo-ms: 20 # goal\nbatching:\n  rule: aimd\nchecks:\n  max-p99-ms: 40\n',
    )
    expect(withSettings('', ['cache=64 MiB'])).toBe('cache: 64 MiB\n')
  })
})
