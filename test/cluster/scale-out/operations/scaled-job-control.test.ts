import { describe, expect, it } from 'vitest'
import { runCommandLine } from '../../../../src/cli/run-command-line.ts'
import type { AssignmentView } from '../../../../src/cluster/rest/port/scaled-job.ts'
import { recordedIo } from '../../../cli/recorded-io.ts'
import { until } from '../../../run/until.ts'
import { PARTITIONS, Processes, type Started, TOKEN } from './processes.ts'

/** The JSON of a process's answer. */
async function ask<T>({ url }: Started, path: string): Promise<T> {
  const answer = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` } })
  return (await answer.json()) as T
}

async function weir({ url, tokenFile }: Started, ...words: readonly string[]) {
  const { io, out, err } = recordedIo()
  const code = await runCommandLine([...words, '-m', url.slice(7), '--token-file', tokenFile], io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

function owned(...started: readonly Started[]): number[][] {
  return started.map(({ process }) => [...process.owned])
}

/** Resolves when each of these processes runs as many partitions. */
async function untilShared(...started: readonly Started[]): Promise<void> {
  await until(
    () => `an even share, now ${JSON.stringify(owned(...started))}`,
    async () => {
      const views = await Promise.all(started.map(({ control }) => control.assignment()))
      const isEven = owned(...started).every(({ length }) => length === PARTITIONS / started.length)
      return isEven && views.every(({ assignment }) => assignment.every(isRunning))
    },
    PATIENT,
  )
}

const isRunning = ({ state }: { readonly state: string }): boolean => state === 'running'

/** Times for a machine that is busy with other tests. */
const PATIENT = { timeoutMs: 120_000 }
const LONG = { timeout: 180_000 }

describe('the REST interface of any process of a job', LONG, () => {
  it('shows all processes, what each owns, and one job that adds up', async () => {
    const processes = new Processes()
    const first = await processes.start()
    const second = await processes.start()
    await untilShared(first, second)
    const { jobId } = processes
    for (const asked of [first, second]) {
      const view = await ask<AssignmentView>(asked, `/weir/jobs/${jobId}/assignment`)
      expect(view.processes.map(({ status }) => status)).toEqual(['answers', 'answers'])
      const owners = view.processes.flatMap(({ owned: all, member }) =>
        all.map((partition) => [partition, member]),
      )
      expect(owners.toSorted()).toEqual(view.assignment.map((row) => [row.partition, row.owner]))
      expect(view.processes.filter(({ isLeader }) => isLeader)).toHaveLength(1)
      const { taskmanagers } = await ask<{ taskmanagers: { slotsNumber: number }[] }>(
        asked,
        '/taskmanagers',
      )
      expect(taskmanagers.map(({ slotsNumber }) => slotsNumber)).toEqual([2, 2])
      const job = await ask<{ state: string; vertices: { parallelism: number }[] }>(
        asked,
        `/jobs/${jobId}`,
      )
      expect(job.state).toBe('RUNNING')
      expect(job.vertices.map(({ parallelism }) => parallelism)).toEqual([PARTITIONS])
      const overview = await ask<object>(asked, '/overview')
      expect(overview).toMatchObject({ taskmanagers: 2, 'slots-total': 4, 'jobs-running': 1 })
    }
  })

  it('lists a process that does not answer with the reason, and what it owns by the last assignment', async () => {
    const processes = new Processes()
    const first = await processes.start()
    const second = await processes.start()
    await untilShared(first, second)
    const lost = second.process.owned
    await second.closeRest()
    const path = `/weir/jobs/${processes.jobId}/assignment`
    const view = await until(
      'the second is silent',
      async () => {
        const shown = await ask<AssignmentView>(first, path)
        return shown.processes.some(({ status }) => status === 'silent') && shown
      },
      PATIENT,
    )
    const [answers, silent] = view.processes
    expect(answers!.owned).toEqual(first.process.owned)
    expect(silent).toMatchObject({ status: 'silent', rest: second.url, owned: lost })
    expect(silent!.reason).toContain('no answer')
    expect(view.assignment.filter(({ state }) => state === 'unknown')).toHaveLength(lost.length)
    const { out } = await weir(first, 'members', 'counts')
    expect(out).toContain(`${second.url}: does not answer`)
    expect(out).toContain('partition')
  })

  it('asks for the token of all processes', async () => {
    const processes = new Processes()
    const { url } = await processes.start()
    const answer = await fetch(`${url}/weir/jobs/${processes.jobId}/process`)
    expect(answer.status).toBe(401)
  })
})

describe('weir rebalance', LONG, () => {
  it('drains a process until it is asked to take its share again', async () => {
    const processes = new Processes()
    const first = await processes.start()
    const second = await processes.start()
    await untilShared(first, second)
    const { code, out } = await weir(first, 'rebalance', 'counts', '--drain', second.url.slice(7))
    expect([code, out]).toEqual([0, expect.stringContaining('it owns no job partition')])
    await until('the first has all', () => first.process.owned.length === PARTITIONS, PATIENT)
    expect(second.process.owned).toEqual([])
    expect((await weir(second, 'members', 'counts')).out).toContain('draining')
    const last = await weir(first, 'rebalance', 'counts', '--drain', first.url)
    expect([last.code, last.err]).toEqual([1, expect.stringContaining('the only process')])
    expect((await weir(second, 'rebalance', 'counts')).out).toContain('Asked 2 processes')
    await untilShared(first, second)
  })

  it('names the processes where there is none of that name', async () => {
    const processes = new Processes()
    const first = await processes.start()
    await untilShared(first)
    const { code, err } = await weir(first, 'rebalance', 'counts', '--drain', 'x9')
    expect(code).not.toBe(0)
    expect(err).toContain(first.process.membership.memberId)
  })
})

describe('weir stop and weir cancel', LONG, () => {
  it.each([
    ['stop', 'stopped'],
    ['cancel', 'cancelled'],
  ] as const)('%s ends all processes from any of them', async (verb, how) => {
    const processes = new Processes()
    const first = await processes.start()
    const second = await processes.start()
    await untilShared(first, second)
    expect(await weir(second, verb, 'counts')).toMatchObject({ code: 0 })
    await Promise.all([first.process.ended, second.process.ended])
    expect(owned(first, second)).toEqual([[], []])
    expect(await processes.records.newest()).toMatchObject({ how })
  })

  it('ends a process that has not heard of it when it is to take a partition over', async () => {
    const processes = new Processes()
    const first = await processes.start()
    const deaf = await processes.start({ hears: false })
    await until(
      'both have half',
      () => owned(first, deaf).every(({ length }) => length === 3),
      PATIENT,
    )
    await weir(first, 'stop', 'counts')
    await Promise.all([first.process.ended, deaf.process.ended])
    expect(owned(first, deaf)).toEqual([[], []])
  })

  it('prints the place that starts the job again, once', async () => {
    const processes = new Processes()
    const first = await processes.start()
    await untilShared(first)
    const { out } = await weir(first, 'stop', 'counts', '--json')
    const { location } = JSON.parse(out) as { location: string }
    await first.process.ended
    const { records } = processes
    expect(await records.newest()).toMatchObject({ how: 'stopped', place: location })
    expect(await records.release(location)).toBeUndefined()
    expect(await records.newest()).toBeUndefined()
    // Another process of the same start.
    expect(await records.release(location)).toBeUndefined()
  })
})
