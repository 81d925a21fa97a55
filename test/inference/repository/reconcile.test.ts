import { describe, expect, it } from 'vitest'
import { WeirError } from '../../../src/core/errors.ts'
import {
  type ReadableModel,
  reconcile,
  type ServedFacts,
} from '../../../src/inference/repository/reconcile.ts'
import { DEFAULT_SETTINGS } from '../../../src/inference/repository/settings.ts'

const facts: ServedFacts = {
  loaded: new Set(),
  loading: new Set(),
  failed: new Map(),
  before: new Map([
    [1, 'a'],
    [2, 'b'],
    [3, 'c'],
  ]),
  live: 0,
  isUnloaded: false,
}

function model(options: Partial<ReadableModel> = {}, ...versions: number[]): ReadableModel {
  return {
    settings: DEFAULT_SETTINGS,
    aliases: {},
    versions: versions.map((version) => ({
      version,
      folder: `m/${version}`,
      source: { kind: 'onnx', file: `m/${version}/model.onnx` },
      fingerprint: facts.before.get(version) ?? '',
    })),
    ...options,
  }
}

describe('reconciling a model with its folder', () => {
  it('loads the newest version, and makes it live once it is loaded', () => {
    expect(reconcile(model({}, 1, 2), facts)).toEqual({ load: [2], unload: [], live: 0 })
    const loaded = { ...facts, loaded: new Set([2]) }
    expect(reconcile(model({}, 1, 2), loaded)).toEqual({ load: [], unload: [], live: 2 })
  })

  it('keeps the live version until the next one is loaded, then unloads it', () => {
    const serving = { ...facts, loaded: new Set([1]), live: 1 }
    expect(reconcile(model({}, 1, 2), serving)).toEqual({ load: [2], unload: [], live: 1 })
    const both = { ...serving, loaded: new Set([1, 2]) }
    expect(reconcile(model({}, 1, 2), both)).toEqual({ load: [], unload: [1], live: 2 })
  })

  it('leaves a folder alone whose files still change', () => {
    const changing = { ...facts, before: new Map([[1, 'half']]) }
    expect(reconcile(model({}, 1), changing).load).toEqual([])
  })

  it('stays with the live version when the next one fails, until its files change', () => {
    const failed = { ...facts, loaded: new Set([1]), live: 1, failed: new Map([[2, 'b']]) }
    expect(reconcile(model({}, 1, 2), failed)).toEqual({ load: [], unload: [], live: 1 })
    const changed = { ...failed, failed: new Map([[2, 'older']]) }
    expect(reconcile(model({}, 1, 2), changed).load).toEqual([2])
  })

  it('falls back to an older version when the newest fails at the first start', () => {
    const failed = { ...facts, failed: new Map([[2, 'b']]) }
    expect(reconcile(model({}, 1, 2), failed).load).toEqual([1])
  })

  it('keeps the targets of aliases loaded, and follows a pinned version', () => {
    const aliased = model({ aliases: { stable: 1 } }, 1, 2)
    expect(reconcile(aliased, facts).load).toEqual([1, 2])
    const serving = { ...facts, loaded: new Set([1, 2]), live: 2 }
    expect(reconcile(aliased, serving)).toEqual({ load: [], unload: [], live: 2 })
    const pinned = model({ settings: { ...DEFAULT_SETTINGS, version: 1 } }, 1, 2)
    expect(reconcile(pinned, serving)).toEqual({ load: [], unload: [2], live: 1 })
    const byAlias = model(
      { settings: { ...DEFAULT_SETTINGS, version: { alias: 'stable' } }, aliases: { stable: 1 } },
      1,
      2,
    )
    expect(reconcile(byAlias, serving)).toEqual({ load: [], unload: [2], live: 1 })
  })

  it('unloads what was deleted or unloaded, and keeps what runs under broken settings', () => {
    const serving = { ...facts, loaded: new Set([1]), live: 1 }
    expect(reconcile(undefined, serving)).toEqual({ load: [], unload: [1], live: 0 })
    expect(reconcile(model({}, 1), { ...serving, isUnloaded: true })).toEqual({
      load: [],
      unload: [1],
      live: 0,
    })
    const broken = model({ settings: new WeirError('INVALID_ARGUMENT', 'no') }, 1, 2)
    expect(reconcile(broken, serving)).toEqual({ load: [], unload: [], live: 1 })
  })
})
