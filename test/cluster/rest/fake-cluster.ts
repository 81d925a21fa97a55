import { JobHistories } from '../../../src/cluster/rest/live/job-histories.ts'
import type { Cluster, JobSubmission } from '../../../src/cluster/rest/port/cluster.ts'
import type { JobControl, StopRequest } from '../../../src/cluster/rest/port/job-control.ts'
import type { JobData } from '../../../src/cluster/rest/port/job-data.ts'
import type { JobSnapshot } from '../../../src/cluster/rest/port/job-snapshot.ts'
import { AsyncOperations } from '../../../src/cluster/rest/routes/async-operations.ts'
import { createRestApp } from '../../../src/cluster/rest/server/app.ts'
import type { Clock } from '../../../src/core/clock.ts'
import { WeirError } from '../../../src/core/errors.ts'
import { AccessControl, OPEN_ACCESS } from '../../../src/http/access/control.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { SHARED_COMPILERS } from '../../http/shared-compilers.ts'
import { PROCESS, snapshot } from './snapshot.ts'

/** A job that only records what is asked of it. */
export class FakeJob implements JobControl {
  readonly calls: string[] = []
  savepointResult: () => Promise<string> = async () => 'file:///data/savepoints/one'
  readonly data: JobData
  private readonly shown: JobSnapshot

  constructor(shown: JobSnapshot = snapshot()) {
    this.shown = shown
    this.data = fakeData(this.calls)
  }

  get id(): string {
    return this.shown.id
  }

  async snapshot(): Promise<JobSnapshot> {
    return this.shown
  }

  async cancel(): Promise<void> {
    this.calls.push('cancel')
  }

  async checkpoint(): Promise<number> {
    this.calls.push('checkpoint')
    return 8
  }

  async savepoint(folder: string | undefined): Promise<string> {
    this.calls.push(`savepoint ${folder}`)
    return await this.savepointResult()
  }

  async stop({ folder, drain }: StopRequest): Promise<string> {
    this.calls.push(`stop ${folder} ${drain}`)
    return await this.savepointResult()
  }

  async keyGroupRecords(uid: string) {
    return uid === 'count' ? { 0: 30, 100: 10 } : {}
  }

  async profile(): Promise<never> {
    throw new WeirError('UNSUPPORTED', 'no thread')
  }
}

const ENVELOPE = {
  modelVersion: 2,
  partition: 0,
  offset: 5,
  checkpointId: 7,
  ageMs: 1.5,
  servedBy: 'local/0',
}

/** Answers of the routes about state and models. */
function fakeData(calls: string[]): JobData {
  const record = (method: keyof JobData, answer: object) => async (request: object) => {
    calls.push(`${method} ${JSON.stringify(request)}`)
    return answer as never
  }
  const version = { number: 2, id: 'a1b2c3d4', state: 'live', isLoaded: true, isServing: true }
  return {
    states: record('states', {
      states: [{ name: 'ALS_MODEL', kind: 'vector', dimension: 2, versions: [2], liveVersion: 2 }],
    }),
    entry: record('entry', { key: '1-U', value: [0.5, 1], envelope: ENVELOPE, slot: 0 }),
    rows: record('rows', { rows: [], next: null }),
    models: record('models', {
      model: 'als-model',
      state: 'ALS_MODEL',
      live: 2,
      serving: 2,
      rollback: 1,
      revision: 3,
      versions: [version],
    }),
    difference: record('difference', {
      a: 1,
      b: 2,
      differences: [{ field: 'rank', left: '8', right: '16' }],
      lists: {
        users: 30,
        overlap: 0.5,
        rise: 0.2,
        risenItem: '7',
        fall: 0.1,
        fallenItem: '9',
        k: 4,
      },
    }),
    promote: async (request) => {
      calls.push(`promote ${JSON.stringify(request)}`)
      if (request.version === '3') throw new WeirError('PROMOTION_REFUSED', 'a check failed')
      return { model: 'als-model', live: 2, before: 1, how: 'promoted' }
    },
    rollBack: record('rollBack', { model: 'als-model', live: 1, before: 2, how: 'rolled back' }),
    recommendations: record('recommendations', {
      user: '1',
      isUserKnown: true,
      modelVersion: 2,
      items: [{ item: '7', score: 4.5, title: 'A film' }],
      envelope: ENVELOPE,
    }),
    servedModels: record('servedModels', {
      models: [
        {
          name: 'digits',
          kind: 'onnx',
          state: 'READY',
          reason: '',
          liveVersion: 2,
          versions: [
            { version: 1, state: 'UNAVAILABLE', reason: 'neither live nor the target of an alias' },
            { version: 2, state: 'READY', reason: '' },
          ],
          aliases: { stable: 2 },
          revision: 3,
          problems: [],
          settings: { rule: 'slack', sloMs: 50, maxBatchItems: 64, workers: 1, cacheBytes: 0 },
          statistics: { answered: 10, waiting: 1, p99Ms: 4.5 },
        },
      ],
    }),
    topics: record('topics', { sources: [] }),
  }
}

/** A cluster of fake jobs. */
export function fakeCluster(
  jobs: readonly FakeJob[],
): Cluster & { readonly submitted: JobSubmission[]; readonly clients: unknown[] } {
  const submitted: JobSubmission[] = []
  const clients: unknown[] = []
  return {
    version: '1.2.3',
    isJobManager: true,
    configuration: { 'rest.port': '8081' },
    process: () => PROCESS,
    jobs: () => Promise.all(jobs.map((job) => job.snapshot())),
    job: (id) => jobs.find((job) => job.id === id),
    submit: async (submission, client) => {
      submitted.push(submission)
      clients.push(client)
      return 'd'.repeat(32)
    },
    rescale: async (id, parallelism) => {
      if (parallelism > 128) throw new WeirError('INVALID_ARGUMENT', 'above the max parallelism')
      jobs.find((job) => job.id === id)!.calls.push(`rescale ${parallelism}`)
    },
    shutDown: async () => {},
    logs: undefined,
    logsOf: () => undefined,
    submitted,
    clients,
  }
}

/** The REST application over a fake cluster. */
export async function fakeApp(
  cluster: Cluster,
  {
    access = OPEN_ACCESS,
    clock = new ManualClock(),
    hasTls = false,
    histories = new JobHistories(cluster, clock),
  }: {
    readonly access?: AccessControl | ConstructorParameters<typeof AccessControl>[0]
    readonly clock?: Clock
    readonly hasTls?: boolean
    readonly histories?: JobHistories
  } = {},
) {
  return await createRestApp({
    cluster,
    operations: new AsyncOperations(clock),
    histories,
    access: access instanceof AccessControl ? access : new AccessControl(access, clock),
    clock,
    isLoopback: true,
    hasTls,
    compilers: SHARED_COMPILERS,
  })
}
