import { describe, expect, it } from 'vitest'
import { servedModelView } from '../../../../src/cluster/rest/job/served-models.ts'
import type { ModelVersionInfo } from '../../../../src/wire/inference/models.ts'

const SETTINGS = { rule: 'slack', sloMs: 50, maxBatchItems: 64, workers: 1, cacheBytes: 0 }
const ready = (version: number): ModelVersionInfo => ({ version, state: 'READY', reason: '' })
const broken = (version: number): ModelVersionInfo => ({
  version,
  state: 'UNAVAILABLE',
  reason: `version ${version} has no model file`,
})

function viewOf(versions: readonly ModelVersionInfo[], liveVersion: number) {
  const info = {
    name: 'digits',
    kind: 'onnx',
    liveVersion,
    versions,
    aliases: { stable: 1 },
    inputs: [{ name: 'x', datatype: 'FP32' as const, shape: [-1, 64] }],
    outputs: [],
    revision: 2,
    maxBatchItems: 0,
    batching: '',
    sloMs: 50,
    problems: ['deployment.yaml:1: slo is unknown; did you mean slo-ms?'],
    isExpected: true,
    statistics: { answered: 7, p99Ms: 3.5 },
  }
  return servedModelView({ info, settings: liveVersion === 0 ? null : SETTINGS })
}

describe('a served model over REST', () => {
  it('has its figures and the settings of its live version', () => {
    expect(viewOf([ready(1)], 1)).toEqual({
      name: 'digits',
      kind: 'onnx',
      state: 'READY',
      reason: '',
      liveVersion: 1,
      versions: [ready(1)],
      aliases: { stable: 1 },
      revision: 2,
      problems: ['deployment.yaml:1: slo is unknown; did you mean slo-ms?'],
      settings: SETTINGS,
      statistics: { answered: 7, p99Ms: 3.5 },
    })
  })

  it('has the state of the live version while a newer one cannot be loaded', () => {
    expect(viewOf([ready(1), broken(2)], 1)).toMatchObject({ state: 'READY', reason: '' })
  })

  it('is loading while no version is live and one is on its way', () => {
    const loading: ModelVersionInfo = { version: 2, state: 'LOADING', reason: '' }
    expect(viewOf([broken(1), loading], 0)).toMatchObject({ state: 'LOADING', settings: null })
  })

  it('says with the reason of its newest version why none is live', () => {
    expect(viewOf([broken(1), broken(2)], 0)).toMatchObject({
      state: 'UNAVAILABLE',
      reason: 'version 2 has no model file',
    })
  })

  it('says that it has no version', () => {
    expect(viewOf([], 0)).toMatchObject({ state: 'UNAVAILABLE', reason: 'it has no version' })
  })
})
