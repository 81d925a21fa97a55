import { describe, expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { inheritedFactorsOptions } from '../../../src/cli/training/inherited.ts'
import { alsOptionsIn, bmfOptionsIn } from '../../../src/kinds/als/options.ts'
import type { Hyperparameters, RegisteredVersion } from '../../../src/models/registry/version.ts'

const live = (hyperparameters: Hyperparameters): RegisteredVersion =>
  ({ dimension: 18, lineage: { hyperparameters } }) as unknown as RegisteredVersion

const optionsOf = (
  flags: Readonly<Record<string, string | boolean>>,
  version?: RegisteredVersion,
): ReturnType<typeof inheritedFactorsOptions> =>
  inheritedFactorsOptions(new Flags({ threads: '2', ...flags }), version)

describe('the options of a retraining of a factor model', () => {
  it('are those of the chain that trained the live version', () => {
    const version = live({ trainer: 'bmf', factors: 16, sweeps: 40, burnIn: 9, seed: 5 })
    expect(optionsOf({}, version)).toEqual({
      trainer: 'bmf',
      factors: 16,
      sweeps: 40,
      burnIn: 9,
      biases: true,
      seed: 5,
      threads: 2,
    })
    expect(optionsOf({ sweeps: '50', seed: '6' }, version)).toMatchObject({ sweeps: 50, seed: 6 })
  })

  it('measure variances and know who rated what where the live version did', () => {
    const version = live({ trainer: 'bmf', factors: 16, intervals: true, whoRated: true })
    const options = optionsOf({}, version)
    expect(options).toMatchObject({ intervals: true, whoRated: true })
    expect(bmfOptionsIn(options)).toMatchObject({ variance: true, whoRated: true })
    expect(alsOptionsIn(options)).not.toHaveProperty('intervals')
  })

  it('have the files of features of the flags, else of the live version', () => {
    const said = { userFeatures: 3, userFeaturesFile: '/u.csv', userFeaturesSha256: 'a' }
    const version = live({ trainer: 'bmf', factors: 16, ...said })
    expect(optionsOf({}, version)).toMatchObject({ userFeaturesFile: '/u.csv' })
    expect(optionsOf({}, version)).not.toHaveProperty('itemFeaturesFile')
    const given = { 'user-features': '/other.csv', 'item-features': '/i.csv' }
    expect(optionsOf(given, version)).toMatchObject({
      userFeaturesFile: '/other.csv',
      itemFeaturesFile: '/i.csv',
    })
    expect(optionsOf({ 'no-features': true }, version)).not.toHaveProperty('userFeaturesFile')
    const options = alsOptionsIn({ ...optionsOf({}, version), userFeaturesSha256: 'b' })
    expect(Object.keys(options).join()).not.toContain('eatures')
    expect(() => optionsOf({ 'item-features': 'i.csv' }, live({ factors: 16 }))).toThrow(
      '--item-features needs --trainer bmf',
    )
  })

  it('are none where the version was trained with features and names no file', () => {
    const version = live({ trainer: 'bmf', factors: 16, itemFeatures: 20 })
    expect(() => optionsOf({}, version)).toThrow(
      'was trained with features of items and does not say of which file; give --item-features FILE',
    )
    expect(optionsOf({ 'item-features': '/i.csv' }, version)).toMatchObject({
      itemFeaturesFile: '/i.csv',
    })
    expect(optionsOf({ 'no-features': true }, version)).not.toHaveProperty('itemFeaturesFile')
  })

  it('change the trainer by flag, with rows of the same length', () => {
    const byAls = live({ factors: 16, iterations: 10, biases: true })
    expect(optionsOf({}, byAls)).toMatchObject({ factors: 16, iterations: 10 })
    expect(optionsOf({ trainer: 'bmf' }, byAls)).toMatchObject({ trainer: 'bmf', factors: 16 })
    const byBmf = live({ trainer: 'bmf', factors: 16, biases: true })
    const { trainer, factors } = optionsOf({ trainer: 'als' }, byBmf)
    expect([trainer, factors]).toEqual([undefined, 16])
  })

  it('have a device, which no version says; a GPU has its own solver', () => {
    const byAls = live({ factors: 16, iterations: 10, biases: true, solver: 'cholesky' })
    expect(optionsOf({}, byAls).device).toBeUndefined()
    const onGpu = optionsOf({ device: 'gpu' }, byAls)
    expect([onGpu.device, onGpu.solver]).toEqual(['gpu', undefined])
    expect(optionsOf({ device: 'cpu' }, byAls)).toMatchObject({ device: 'cpu', solver: 'cholesky' })
    const byBmf = live({ trainer: 'bmf', factors: 16, biases: true })
    expect(optionsOf({ device: 'gpu' }, byBmf)).toMatchObject({ trainer: 'bmf', device: 'gpu' })
    expect(() => optionsOf({ device: 'auto' }, byBmf)).toThrow('--device auto is of --trainer als')
  })

  it('have the half-life of the flag, else of the live version, and then the exact solver of ALS', () => {
    const byAls = live({ factors: 16, biases: true, solver: 'cg', halfLifeMs: 'auto' })
    expect(optionsOf({}, byAls)).toMatchObject({ halfLifeMs: 'auto' })
    expect(optionsOf({}, byAls).solver).toBeUndefined()
    expect(optionsOf({ 'half-life': '2.5' }, byAls).halfLifeMs).toBe(2500)
    const none = optionsOf({ 'half-life': 'none' }, byAls)
    expect([none.halfLifeMs, none.solver]).toEqual([undefined, 'cg'])
    const byBmf = live({ trainer: 'bmf', factors: 16, halfLifeMs: 6000, chosenHalfLifeMs: 1 })
    expect(optionsOf({}, byBmf).halfLifeMs).toBe(6000)
  })

  it('are those of a chain for a first version, or of ALS with a flag that only ALS has', () => {
    expect(optionsOf({})).toMatchObject({ trainer: 'bmf', factors: 16, sweeps: 30 })
    expect(optionsOf({ sweeps: '5', factors: '8' })).toMatchObject({ sweeps: 5, factors: 8 })
    for (const flags of [{ iterations: '3' }, { 'no-biases': true }, { trainer: 'als' }]) {
      const { trainer, factors } = optionsOf(flags)
      expect([trainer, factors]).toEqual([undefined, 50])
    }
  })

  it('keep ALS for a live version of an unknown trainer, whose rows are the start', () => {
    expect(optionsOf({}, live({})).trainer).toBeUndefined()
  })

  it('are those of implicit feedback for a first version that is to have it', () => {
    const { feedback, trainer, alpha, biases } = optionsOf({ implicit: true, alpha: '10' })
    expect({ feedback, trainer, alpha, biases }).toEqual({
      ...{ feedback: 'implicit', trainer: undefined, alpha: 10, biases: false },
    })
    expect(optionsOf({}).feedback).not.toBe('implicit')
  })

  it('have the feedback of the newest version where none is live', () => {
    const flags = new Flags({ threads: '2' })
    const candidate = live({ feedback: 'implicit', factors: 8 })
    expect(inheritedFactorsOptions(flags, undefined, candidate).feedback).toBe('implicit')
    const rows = live({})
    expect(inheritedFactorsOptions(flags, undefined, rows).feedback).not.toBe('implicit')
    expect(optionsOf({ implicit: true }, rows).feedback).toBe('implicit')
  })

  it.each([
    [
      { implicit: true },
      { feedback: 'explicit' },
      /version 3 of m was trained on explicit feedback/,
    ],
    [{ implicit: true }, { trainer: 'bmf' }, /version 3 of m was trained on explicit feedback/],
    [{ alpha: '2' }, { feedback: 'explicit' }, /--alpha needs --implicit/],
    [{ alpha: '2' }, {}, /--alpha needs --implicit/],
    [{ trainer: 'bmf' }, { feedback: 'implicit' }, /bmf cannot learn implicit feedback/],
  ])('refuse %o after a version of %o', (flags, hyperparameters, message) => {
    const version = { ...live(hyperparameters as Hyperparameters), name: 'm', number: 3 }
    const given = flags as Readonly<Record<string, string | boolean>>
    expect(() => optionsOf(given, version)).toThrow(message)
  })

  it.each([
    [{ sweeps: '5', iterations: '3' }, '--sweeps needs --trainer bmf'],
    [{ trainer: 'bmf', implicit: true }, 'bmf cannot learn implicit feedback'],
    [{ trainer: 'bmf', lambda: '1' }, '--lambda is no option of --trainer bmf'],
    [{ trainer: 'bmf', 'no-biases': true }, '--no-biases is no option of --trainer bmf'],
  ])('refuse %o', (flags, message) => {
    expect(() => optionsOf(flags as Record<string, string | boolean>)).toThrow(message)
  })
})
