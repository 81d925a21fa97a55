import { describe, expect, it } from 'vitest'
import {
  executionResultJson,
  jobConfigJson,
  jobDetailJson,
  jobOverviewJson,
} from '../../../../src/cluster/rest/json/job.ts'
import { JOB_ID, SOURCE_ID, snapshot } from '../snapshot.ts'

describe('the JSON of a job', () => {
  it('has the fields of Flink’s overview', () => {
    expect(jobOverviewJson(snapshot())).toEqual({
      jid: JOB_ID,
      waiting: [],
      name: 'count words',
      'start-time': 1000,
      'end-time': -1,
      duration: 4000,
      state: 'RUNNING',
      restarts: 0,
      lastFailure: null,
      'last-modification': 1500,
      tasks: {
        total: 4,
        created: 0,
        scheduled: 0,
        deploying: 0,
        running: 4,
        finished: 0,
        canceling: 0,
        canceled: 0,
        failed: 0,
        reconciling: 0,
        initializing: 0,
      },
    })
  })

  it('has the newest failure and the restarts in the overview', () => {
    const failure = (attempt: number) => {
      const message = `the failure ${attempt}`
      return { attempt, atMs: 100 * attempt, code: 'X', message, stack: message, task: undefined }
    }
    const failed = snapshot({ attempt: 3, failures: [failure(1), failure(2)] })
    expect(jobOverviewJson(failed)).toMatchObject({
      restarts: 2,
      lastFailure: { timestamp: 200, code: 'X', message: 'the failure 2' },
    })
  })

  it('says whether the state of the job reuses objects', () => {
    const reuse = (configuration: Record<string, string>): unknown =>
      (jobConfigJson(snapshot({ configuration })) as Record<string, Record<string, unknown>>)[
        'execution-config'
      ]!['object-reuse-mode']
    expect(reuse({ 'pipeline.object-reuse': 'true' })).toBe(true)
    expect(reuse({})).toBe(false)
  })

  it('has an end once the job has ended', () => {
    const ended = snapshot({
      status: 'FINISHED',
      timestamps: { CREATED: 1000, RUNNING: 1500, FINISHED: 3000 },
    })
    expect(jobOverviewJson(ended)).toMatchObject({ 'end-time': 3000, duration: 2000 })
  })

  it('counts only records that leave a chain as written', () => {
    const { vertices } = jobDetailJson(snapshot()) as {
      readonly vertices: readonly { readonly metrics: Record<string, number> }[]
    }
    expect(vertices[0]!.metrics['write-records']).toBe(42)
    expect(vertices[1]!.metrics).toMatchObject({ 'read-records': 42, 'write-records': 0 })
  })

  it('names the edge and its partitioning in the plan', () => {
    const { plan } = jobDetailJson(snapshot()) as {
      readonly plan: { readonly nodes: readonly { readonly inputs?: readonly object[] }[] }
    }
    expect(plan.nodes[0]).not.toHaveProperty('inputs')
    expect(plan.nodes[1]!.inputs).toEqual([
      { num: 0, id: SOURCE_ID, ship_strategy: 'HASH', exchange: 'pipelined_bounded' },
    ])
  })

  it('escapes names of operators, which Flink’s dashboard shows as HTML', () => {
    const [source] = snapshot().vertices
    const hostile = { ...source!, operators: [{ ...source!.operators[0]!, name: '<script>' }] }
    expect(JSON.stringify(jobDetailJson(snapshot({ vertices: [hostile] })))).toContain(
      '&lt;script&gt;<br/>',
    )
  })

  it('has a result when the job has ended', () => {
    expect(executionResultJson(snapshot())).toEqual({ status: { id: 'IN_PROGRESS' } })
    expect(executionResultJson(snapshot({ status: 'CANCELED' }))).toMatchObject({
      status: { id: 'COMPLETED' },
      'job-execution-result': { 'application-status': 'CANCELED' },
    })
  })
})
