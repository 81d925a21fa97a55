import { describe, expect, it } from 'vitest'
import { ruleOfKind } from '../../src/kinds/learner-rules.ts'
import { KINDS, kindNamed, kindOf, kindOfVersion } from '../../src/kinds/registered.ts'
import type { RegisteredVersion } from '../../src/models/registry/version.ts'

function version(users: number, hyperparameters = {}): RegisteredVersion {
  return {
    ...{ name: 'm', topic: 'm', number: 1, createdMs: 1, state: 'candidate', processingName: 'p' },
    ...{ id: 'id', checks: [], notes: [], dimension: 2, users, items: 3 },
    lineage: { ranges: [], files: [], code: 'c', hyperparameters, metrics: {}, newestEventMs: -1 },
  }
}

describe('the kinds of models', () => {
  it('are found by the field of their options', () => {
    expect(kindOf({ als: {}, rule: { rule: 'gram' } }).name).toBe('als')
    expect(kindOf({ linear: {} }).name).toBe('linear')
    expect(kindOf({ popularity: {} }).name).toBe('popularity')
    expect(() => kindOf({} as Parameters<typeof kindOf>[0])).toThrow(
      'the options name no kind of model: give one of popularity, linear, als',
    )
    expect(() => kindOf({ linear: {}, popularity: {} })).toThrow('name several kinds of models')
  })

  it('are found by a version', () => {
    expect(kindOfVersion(version(5)).name).toBe('als')
    expect(kindOfVersion(version(5, { trainer: 'bmf' })).name).toBe('als')
    expect(kindOfVersion(version(0, { loss: 'hinge' })).name).toBe('linear')
    expect(kindOfVersion(version(5, { trainer: 'popularity' })).name).toBe('popularity')
  })

  it('are found by their name', () => {
    for (const kind of KINDS) expect(kindNamed(kind.name)).toBe(kind)
    expect(kindNamed('other')).toBeUndefined()
  })

  it.each([
    [{ als: { factors: 8, threads: 2 }, rule: { rule: 'gram' } }, 'als/1', { factors: 8 }],
    [{ als: { trainer: 'bmf' }, rule: { rule: 'gram' } }, 'bmf/1', { trainer: 'bmf' }],
    [{ linear: { cost: 2, threads: 2 } }, 'linear/1', { cost: 2 }],
    [
      { popularity: { damping: 7 } },
      'popularity/1',
      { trainer: 'popularity', damping: 7, factors: 0, biases: true },
    ],
  ] as const)('name the trainer and what the rows depend on: %j', (model, code, parameters) => {
    const kind = kindOf(model)
    expect(kind.code(model)).toBe(code)
    expect(kind.parameters(model)).toEqual(parameters)
  })

  it('have a rule of their own where a version can be learned by no other', () => {
    expect(ruleOfKind({ trainer: 'popularity', damping: 7 })).toEqual({
      rule: 'popularity',
      damping: 7,
    })
    expect(ruleOfKind({ trainer: 'bmf' })).toBeUndefined()
  })
})
