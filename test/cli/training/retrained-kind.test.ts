import { describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { observationsOf, retrainedKindOf } from '../../../src/cli/training/retrained-kind.ts'
import type {
  Hyperparameters,
  RegisteredVersion,
  RegistryState,
} from '../../../src/models/registry/version.ts'

const NONE: RegistryState = { models: new Map(), versions: new Map() }

/** A registry with one version of the model `m`. */
function registry(users: number, hyperparameters: Hyperparameters): RegistryState {
  const version: RegisteredVersion = {
    ...{ name: 'm', topic: 'm', number: 1, createdMs: 1, state: 'live', processingName: 'p' },
    ...{ id: 'id', checks: [], notes: [], dimension: 2, users, items: 3 },
    lineage: { ranges: [], files: [], code: 'c', hyperparameters, metrics: {}, newestEventMs: -1 },
  }
  return { models: new Map(), versions: new Map([['m', new Map([[1, version]])]]) }
}

const flags = (given: Readonly<Record<string, string | boolean | readonly string[]>> = {}): Flags =>
  new Flags({ model: 'm', ...given })

describe('the kind of a model that is retrained', () => {
  it('is that of its versions, else that of --kind, else als', () => {
    expect(retrainedKindOf(flags(), registry(0, {})).name).toBe('linear')
    expect(retrainedKindOf(flags(), registry(5, { trainer: 'popularity' })).name).toBe('popularity')
    expect(retrainedKindOf(flags({ kind: 'popularity' }), NONE).name).toBe('popularity')
    expect(retrainedKindOf(flags(), NONE).name).toBe('als')
  })

  it('is that of the live version, whatever the newest one is', () => {
    const [live, newest] = [registry(5, {}), registry(5, { trainer: 'popularity' })].map(
      ({ versions }) => versions.get('m')!.get(1)!,
    )
    const of = new Map([
      [1, live!],
      [2, { ...newest!, number: 2 }],
    ])
    const model = { name: 'm', live: 1, rollback: 0, revision: 1 }
    const state: RegistryState = {
      models: new Map([['m', model]]),
      versions: new Map([['m', of]]),
    }
    expect(retrainedKindOf(flags(), state).name).toBe('als')
    const unset = { ...state, models: new Map([['m', { ...model, live: 0 }]]) }
    expect(retrainedKindOf(flags(), unset).name).toBe('popularity')
  })

  it('is refused where the versions are of another one', () => {
    expect(() => retrainedKindOf(flags({ kind: 'popularity' }), registry(5, {}))).toThrow(
      'm has versions of kind als, not popularity',
    )
  })

  it.each([
    [{ kind: 'popularity', factors: '8' }, '--factors is no option of kind popularity'],
    [{ kind: 'popularity', cost: '8' }, '--cost is no option of kind popularity'],
    [{ kind: 'linear', damping: '8' }, '--damping is no option of kind linear'],
    [{ damping: '8' }, '--damping is no option of kind als'],
    [{ kind: 'als', cost: '8' }, '--cost is no option of kind als'],
    [{ kind: 'linear', device: 'gpu' }, '--device is no option of kind linear'],
    [{ kind: 'linear', ratings: ['old.csv'] }, '--ratings is no option of kind linear'],
    [{ kind: 'als', examples: ['old.svm'] }, '--examples is no option of kind als'],
  ])('has no flags of another one: %j', (given, message) => {
    expect(() => retrainedKindOf(flags(given), NONE)).toThrow(message)
  })

  it('says the topic of observations where no job learns and no flag names one', () => {
    const topicOf = (kind: string): string => {
      const given = flags({ kind })
      return observationsOf(given, retrainedKindOf(given, NONE), NONE)
    }
    expect(['als', 'linear', 'popularity'].map(topicOf)).toEqual(['ratings', 'examples', 'ratings'])
  })
})
