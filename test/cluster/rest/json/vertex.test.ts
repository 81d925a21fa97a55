import { describe, expect, it } from 'vitest'
import { accumulatorsSnapshot } from '../../../../src/cluster/rest/job/accumulators-snapshot.ts'
import { backPressureJson } from '../../../../src/cluster/rest/json/back-pressure.ts'
import { exceptionsJson } from '../../../../src/cluster/rest/json/exceptions.ts'
import { flameGraphOf } from '../../../../src/cluster/rest/json/flame-graph.ts'
import { accumulatorsJson } from '../../../../src/cluster/rest/json/job.ts'
import {
  subtaskAccumulatorsJson,
  subtaskTimesJson,
  vertexAccumulatorsJson,
  watermarksJson,
} from '../../../../src/cluster/rest/json/vertex.ts'
import { COUNT, SOURCE, snapshot } from '../snapshot.ts'

describe('the JSON of a vertex', () => {
  it('gives Java’s least number for a missing watermark', () => {
    expect(watermarksJson(snapshot(), COUNT)).toEqual([
      { id: '0.currentInputWatermark', value: '-9223372036854775808' },
      { id: '1.currentInputWatermark', value: '1234' },
    ])
  })

  it('has the accumulators of the vertex and of each subtask, which the job has merged', () => {
    const part = { uid: 'count', name: 'lines', type: 'IntCounter' }
    const accumulators = accumulatorsSnapshot([
      { ...part, subtask: 0, state: 2 },
      { ...part, subtask: 1, state: 3 },
      { ...part, uid: 'words', subtask: 0, state: 10 },
    ])
    const job = snapshot({ accumulators })
    const lines = (value: string) => [{ name: 'lines', type: 'IntCounter', value }]
    expect(accumulatorsJson(job)).toEqual({
      'job-accumulators': [],
      'user-task-accumulators': lines('15'),
      'serialized-user-task-accumulators': {},
    })
    expect(vertexAccumulatorsJson(job, COUNT)).toEqual({
      id: COUNT.id,
      'user-accumulators': lines('5'),
    })
    expect(subtaskAccumulatorsJson(job, SOURCE)).toMatchObject({
      parallelism: 2,
      subtasks: [
        { subtask: 0, attempt: 0, 'user-accumulators': lines('10') },
        { subtask: 1, 'user-accumulators': [] },
      ],
    })
  })

  it('has no accumulators of a job that an older version stored', () => {
    expect(accumulatorsJson(snapshot())).toMatchObject({ 'user-task-accumulators': [] })
    expect(vertexAccumulatorsJson(snapshot(), COUNT)).toMatchObject({ 'user-accumulators': [] })
  })

  it('takes the level of back-pressure from the worst subtask', () => {
    expect(backPressureJson(snapshot(), SOURCE)).toMatchObject({
      'backpressure-level': 'high',
      subtasks: [
        { 'backpressure-level': 'high', ratio: 0.6, busyRatio: 0.3 },
        { 'backpressure-level': 'ok', ratio: 0.05 },
      ],
    })
  })

  it('has no back-pressure while the job does not run', () => {
    expect(backPressureJson(snapshot({ status: 'RESTARTING' }), SOURCE)).toMatchObject({
      status: 'deprecated',
      subtasks: null,
    })
  })

  it('starts the tasks of a restarted job at the restart', () => {
    const job = snapshot({
      timestamps: { CREATED: 1, INITIALIZING: 2, RESTARTING: 100, RUNNING: 300 },
      nowMs: 500,
    })
    expect(subtaskTimesJson(job, COUNT)).toMatchObject({
      subtasks: [{ duration: 400, timestamps: { CREATED: 100, RUNNING: 300 } }, {}],
    })
  })

  it('gives failures newest first and says when it leaves some out', () => {
    const failure = (attempt: number) => ({
      attempt,
      atMs: attempt * 1000,
      code: 'OPERATOR_FAILED',
      message: 'no',
      stack: `stack ${attempt}`,
      task: 'count#1',
    })
    expect(exceptionsJson(snapshot({ failures: [failure(1), failure(2)] }), 1)).toMatchObject({
      'root-exception': 'stack 2',
      exceptionHistory: {
        entries: [{ taskName: 'Count (2/2) - execution #1', timestamp: 2000 }],
        truncated: true,
      },
    })
  })

  it('adds up the samples of equal stacks of several profiles', () => {
    const frame = (functionName: string) => ({ functionName, url: '', lineNumber: -1 })
    const profile = {
      nodes: [
        { id: 1, callFrame: frame('(root)'), children: [2, 4] },
        { id: 2, callFrame: frame('work'), children: [3] },
        { id: 3, callFrame: frame('hash') },
        { id: 4, callFrame: frame('(idle)') },
      ],
      samples: [3, 3, 2, 4],
    }
    expect(flameGraphOf([profile, profile], 'on_cpu')).toEqual({
      name: 'root',
      value: 6,
      children: [{ name: 'work', value: 6, children: [{ name: 'hash', value: 4, children: [] }] }],
    })
    expect(flameGraphOf([profile], 'off_cpu')).toMatchObject({ value: 1 })
    expect(flameGraphOf([profile], 'full')).toMatchObject({ value: 4 })
  })
})
