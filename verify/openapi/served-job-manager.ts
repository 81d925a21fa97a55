import { setTimeout } from 'node:timers/promises'
import { configurationOf, type ServedPort, type ServedProcesses } from './served-processes.ts'

/** Longest time until the jobs run, on a busy machine. */
const MOST_MS = 120_000

/**
 * Starts a JobManager that needs tokens with two jobs: one that stays, whose pages are compared, and one that
 * is stopped and cancelled.
 */
export async function serveJobManager(processes: ServedProcesses): Promise<ServedPort> {
  await processes.done('generate', 'als-model', '--users', '60', '--items', '40')
  const { file, token } = await processes.tokens()
  const manager = processes.open([
    ...['jobmanager', '--tokens', file, '--json'],
    ...['-D', 'rest.port=0', '-D', 'execution.checkpointing.interval=500ms'],
  ])
  const [, url] = await manager.printed(/"url":"([^"]+)"/)
  const ask = async <T>(path: string, body?: object): Promise<T> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const request = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    return (await (await fetch(`${url}${path}`, { headers, ...request })).json()) as T
  }
  const submit = async (job: string): Promise<string> =>
    (await ask<{ jobid: string }>('/jobs', { job, options: { port: '0', slots: '1' } })).jobid
  const [job, victim] = await Promise.all([submit('als-serving'), submit('histories')])
  const endMs = performance.now() + MOST_MS
  const isReady = async (): Promise<boolean> => {
    const { counts } = await ask<{ counts?: { completed: number } }>(`/jobs/${job}/checkpoints`)
    const { live } = await ask<{ live?: number }>(`/weir/jobs/${job}/models`)
    const { status } = await ask<{ status?: string }>(`/jobs/${victim}/status`)
    return (counts?.completed ?? 0) > 0 && live !== undefined && status === 'RUNNING'
  }
  while (!(await isReady())) {
    if (performance.now() > endMs) throw new Error('the jobs do not run')
    await setTimeout(200)
  }
  const { vertices } = await ask<{ vertices: { id: string }[] }>(`/jobs/${job}`)
  const ids = vertices.map(({ id }) => JSON.stringify(id)).join(', ')
  const values = { JOB: JSON.stringify(job), VICTIM: JSON.stringify(victim), VERTICES: ids }
  const slot = JSON.stringify(`${job}-slot-0`)
  const configuration = configurationOf('job-manager.toml', { ...values, SLOT: slot })
  return { url: url!, token, configuration }
}
