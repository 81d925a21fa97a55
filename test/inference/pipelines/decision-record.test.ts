import { expect, it } from 'vitest'
import { decisionText } from '../../../src/inference/pipelines/decision-record.ts'

it('a decision in a topic has the form of version 1, byte for byte', () => {
  const choice = {
    step: 'answer',
    arms: ['stable', 'fresh'],
    selection: {
      run: [1],
      mirrors: [],
      probabilities: Float32Array.of(0.2, 0.8),
      explored: false,
    },
  }
  const record = {
    id: '019ad7b2c1f04be1c62c0b7a43d1f00e',
    timeMs: 1_764_536_400_000,
    pipeline: 'recommend',
    version: 3,
    context: 'u17',
    versions: { 'ranker@1': 1, 'ranker@2': 2 },
    choices: [choice],
    arm: 'fresh',
    confidence: 0.625,
    isDefault: undefined,
    ms: 1.25,
  }
  expect(decisionText(record)).toBe(
    '{"v":1,"id":"019ad7b2c1f04be1c62c0b7a43d1f00e","time":1764536400000,"pipeline":"recommend","version":3,"context":"u17","versions":{"ranker@1":1,"ranker@2":2},"choices":[{"step":"answer","arms":["stable","fresh"],"probabilities":[0.2,0.8],"run":[1],"mirrors":[],"explored":false}],"arm":"fresh","confidence":0.625,"ms":1.25}',
  )
  const plain = { ...record, choices: [], arm: undefined, confidence: undefined }
  expect(decisionText({ ...plain, isDefault: 'unsure' })).toBe(
    '{"v":1,"id":"019ad7b2c1f04be1c62c0b7a43d1f00e","time":1764536400000,"pipeline":"recommend","version":3,"context":"u17","versions":{"ranker@1":1,"ranker@2":2},"choices":[],"default":"unsure","ms":1.25}',
  )
})
