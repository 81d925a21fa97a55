import { describe, expect, it } from 'vitest'
import type { JobSnapshot } from '../../../../src/cluster/rest/port/job-snapshot.ts'
import { clusterFamilies } from '../../../../src/cluster/rest/prometheus/cluster-families.ts'
import { prometheusText } from '../../../../src/core/prometheus/text-format.ts'
import { FakeJob, fakeApp, fakeCluster } from '../fake-cluster.ts'
import { JOB_ID, PROCESS, snapshot } from '../snapshot.ts'

const OF_JOB = `job_id="${JOB_ID}",job_name="count words"`

function linesOf(...jobs: JobSnapshot[]): string[] {
  return prometheusText(
    clusterFamilies({ version: '1.2.3', process: PROCESS, jobs, refused: { UNAUTHENTICATED: 2 } }),
  ).split('\n')
}

describe('metrics of jobs for Prometheus', () => {
  it('name task, subtask and operator, and have the name of Flink as a label', () => {
    expect(linesOf(snapshot())).toEqual(
      expect.arrayContaining([
        `weir_operator_records_out_total{${OF_JOB},task="words",subtask="0",operator="words",metric="numRecordsOut"} 999`,
        `weir_operator_records_out_total{${OF_JOB},task="words",subtask="1",operator="split",metric="numRecordsOut"} 12`,
        `weir_task_sent_bytes_total{${OF_JOB},task="words",subtask="0",metric="numBytesOut"} 100`,
        `weir_job_restarts_total{${OF_JOB},metric="numRestarts"} 0`,
      ]),
    )
  })

  it('are in seconds and shares, without values that do not exist yet', () => {
    const lines = linesOf(snapshot())
    expect(lines).toContain(
      `weir_task_busy_ratio{${OF_JOB},task="words",subtask="0",metric="busyTimeMsPerSecond"} 0.3`,
    )
    const watermarks = lines.filter((line) => line.startsWith('weir_operator_input_watermark'))
    expect(watermarks).toEqual([
      `weir_operator_input_watermark_timestamp_seconds{${OF_JOB},task="count",subtask="1",operator="count",metric="currentInputWatermark"} 1.234`,
    ])
  })

  it('give a histogram as a summary, and kinds and codes of queries as labels', () => {
    const metrics = {
      'query.0.latencyMs_count': 4,
      'query.0.latencyMs_sum': 10,
      'query.0.latencyMs_p50': 2,
      'query.0.latencyMs_p99': 3,
      'query.0.latencyMs_max': 5,
      'query.0.numRequests.predict': 7,
      'query.0.numErrors.UNKNOWN_STATE': 1,
    }
    const query = linesOf(snapshot({ metrics })).filter((line) => line.startsWith('weir_query'))
    const latency = `${OF_JOB},thread="0",metric="latencyMs"`
    expect(query).toEqual([
      `weir_query_latency_seconds{${latency},quantile="1"} 0.005`,
      `weir_query_latency_seconds{${latency},quantile="0.5"} 0.002`,
      `weir_query_latency_seconds{${latency},quantile="0.99"} 0.003`,
      `weir_query_latency_seconds_sum{${latency}} 0.01`,
      `weir_query_latency_seconds_count{${latency}} 4`,
      `weir_query_requests_total{${OF_JOB},thread="0",kind="predict",metric="numRequests.KIND"} 7`,
      `weir_query_errors_total{${OF_JOB},thread="0",code="UNKNOWN_STATE",metric="numErrors.CODE"} 1`,
    ])
  })

  it('keep metrics that functions of the user report', () => {
    const metrics = { 'count.1.my.words_p99': 3 }
    expect(linesOf(snapshot({ metrics }))).toContain(
      `weir_operator_user_metric{${OF_JOB},task="count",subtask="1",operator="count",metric="my.words_p99"} 3`,
    )
  })

  it('tell jobs of one name apart, and report the status of a job that has ended', () => {
    const ended = snapshot({ id: 'e'.repeat(32), status: 'FAILED', metrics: {} })
    const lines = linesOf(snapshot(), ended)
    const failed = lines.filter((line) => line.includes('status="FAILED"'))
    expect(failed).toEqual([
      `weir_job_status{${OF_JOB},status="FAILED"} 0`,
      `weir_job_status{job_id="${ended.id}",job_name="count words",status="FAILED"} 1`,
    ])
    expect(lines.filter((line) => line.startsWith('weir_job_process_resident'))).toHaveLength(1)
  })

  it('report when the last checkpoint was completed', () => {
    expect(linesOf(snapshot())).toContain(
      `weir_job_last_completed_checkpoint_timestamp_seconds{${OF_JOB}} 2.03`,
    )
  })
})

describe('GET /metrics of the REST port', () => {
  it('answers in the text format 0.0.4', async () => {
    await using app = await fakeApp(fakeCluster([new FakeJob()]))
    const answer = await app.inject({ url: '/metrics' })
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(answer.body).toContain('weir_build_info{version="1.2.3"} 1\n')
  })
})
